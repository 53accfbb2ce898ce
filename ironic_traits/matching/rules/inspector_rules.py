"""Converts the introspection rules of ironic-inspector to inspection rules.

>>> convert([{'conditions': [{'op': 'ge', 'field': 'memory_mb', 'value': 65536}],
...           'actions': [{'action': 'add-trait', 'name': 'CUSTOM_BIG'}]}]).rules[0]['conditions']
[{'op': 'ge', 'args': {'values': ['{inventory[memory][physical_mb]}', 65536]}}]
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ironic_traits.matching.rules import inspection_rules, rule_warnings

#: {operator of inspector: (ours, whether ours is its negation)}.
_OPERATORS = {
    'eq': ('eq', False),
    'ne': ('eq', True),
    'lt': ('lt', False),
    'ge': ('ge', False),
    'gt': ('gt', False),
    'le': ('le', False),
    'in-net': ('in-net', False),
    'matches': ('matches', False),
    'contains': ('contains', False),
    'is-empty': ('is-empty', False),
}
#: Values that inspector computed, and where the ramdisk has them.
_COMPUTED = {
    'cpus': '[inventory][cpu][count]',
    'cpu_arch': '[inventory][cpu][architecture]',
    'memory_mb': '[inventory][memory][physical_mb]',
    'ipmi_address': '[inventory][bmc_address]',
    'ipmi_v6address': '[inventory][bmc_v6address]',
}
#: What ramdisks, Redfish and the inspection hooks fill.
_FILLED = {
    'inventory': (
        'interfaces', 'cpu', 'disks', 'memory', 'bmc_address', 'bmc_v6address', 'bmc_mac', 'system_vendor', 'boot',
        'hostname', 'pci_devices', 'storage_controllers',
    ),
    'plugin_data': (
        'root_disk', 'boot_interface', 'configuration', 'error', 'data', 'dmi', 'lldp_raw', 'numa_topology',
        'pci_devices', 'usb_devices', 'all_interfaces', 'valid_interfaces', 'macs', 'local_gb', 'parsed_lldp', 'extra',
    ),
}  # fmt: skip
#: {action of inspector: its arguments, {name: ours}}. Our actions have the same names.
_ACTIONS = {
    'fail': {'message': 'msg'},
    'set-attribute': {'path': 'path', 'value': 'value'},
    'extend-attribute': {'path': 'path', 'value': 'value', 'unique': 'unique'},
    'set-capability': {'name': 'name', 'value': 'value'},
    'add-trait': {'name': 'name'},
    'remove-trait': {'name': 'name'},
}
_STEP = re.compile(r"\.?([A-Za-z0-9_-]+)|\[(\*|-?[0-9]+)\]|\['([^'\]]+)'\]")
_REFERENCE = re.compile(r'\{(inventory|plugin_data)\[([^\[\]{}]+)\]')
_DATA = re.compile(r'\{data((?:\.[A-Za-z0-9_]+|\[[^\[\]{}]+\])+)\}')


class _Unsupported(ValueError):
    """A part of a rule that has no counterpart."""


@dataclasses.dataclass
class Conversion:
    """Converted rules.

    :ivar rules: [rule, …], as a rules file has them.
    :ivar problems: a sentence for each rule that is left out.
    :ivar notes: a sentence for each part of a rule that is left out, or that has no effect.
    """

    rules: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)


def convert(document: Any) -> Conversion:
    """Convert rules of ironic-inspector: a list, one rule, or an object with the key ``rules``, as its API answers."""
    items = document.get('rules', [document]) if isinstance(document, dict) else document
    result = Conversion()
    if not isinstance(items, list):
        result.problems.append('Rules are a list')
        return result
    for number, item in enumerate(items, 1):
        name = _name(item, number, {each['name'] for each in result.rules})
        try:
            rule = _rule(item, name)
            for sentence in rule_warnings.failing(inspection_rules.rule(rule)):
                raise _Unsupported(sentence)
            result.rules.append(rule)
            result.notes.extend(_notes(name, rule))
            if item.get('scope'):
                result.notes.append(f'{name}: the scope {item["scope"]!r} is left out: rules apply to all nodes')
        except (_Unsupported, inspection_rules.InvalidRules) as error:
            result.problems.append(f'{name} is left out: {error}')
    return result


def _notes(name: str, rule: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences about the data that a rule needs and that nothing fills by default."""
    for part, key in dict.fromkeys(_REFERENCE.findall(str(rule))):
        if key not in _FILLED[part]:
            yield f'{name}: neither ramdisks nor inspection hooks fill {part}[{key}], so what needs it has no effect'
        elif key == 'extra':
            yield f'{name}: {part}[extra] needs the hook extra-hardware in [inspection] hooks'


def _name(item: Any, number: int, others: set[str]) -> str:
    text = item.get('description') if isinstance(item, dict) else None
    name = re.sub('[^a-z0-9]+', '-', str(text or '').lower())[:40].strip('-') or f'rule-{number}'
    return name if name not in others else f'{name}-{number}'


def _rule(item: Any, name: str) -> dict[str, Any]:
    if not isinstance(item, dict) or not all(isinstance(item.get(key, []), list) for key in ('conditions', 'actions')):
        raise _Unsupported('it is not an object with lists of conditions and actions')
    rule: dict[str, Any] = {'name': name}
    if item.get('description'):
        rule['description'] = str(item['description'])[:255]
    if item.get('conditions'):
        rule['conditions'] = [_condition(condition) for condition in item['conditions']]
    rule['actions'] = [_action(action) for action in item.get('actions', [])]
    return rule


def _condition(condition: Any) -> dict[str, Any]:
    """Return our condition for one of inspector. A missing field meets neither a condition nor its negation in both."""
    if not isinstance(condition, dict) or condition.get('op') not in _OPERATORS:
        raise _Unsupported(f'the condition {condition!r:.200} has no counterpart')
    op, is_negated = _OPERATORS[condition['op']]
    is_negated = is_negated != bool(condition.get('invert'))
    multiple = condition.get('multiple', 'any')
    loop, reference = _references(str(condition.get('field')), multiple)
    result: dict[str, Any] = {'op': '!' * is_negated + op, 'args': _args(op, reference, condition.get('value'))}
    return result | ({'loop': loop, 'multiple': multiple} if loop else {})


def _args(op: str, reference: str, value: Any) -> dict[str, Any]:
    if op == 'is-empty':
        return {'value': reference}
    if op == 'in-net':
        return {'address': reference, 'subnet': value}
    return {'value': reference, 'regex': value} if op in ('matches', 'contains') else {'values': [reference, value]}


def _references(field: str, multiple: str) -> tuple[str | None, str]:
    """Return (loop or None, reference) of a JSON path such as ``data://inventory.disks[*].size``."""
    scheme, _, path = field.rpartition('://')
    keys, position = [], 0
    path = path.removeprefix('$')
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None or '..' in path or scheme not in ('', 'data', 'node'):
            raise _Unsupported(f'the field {field!r:.200} is no plain path')
        keys.append(next(each for each in step.groups() if each is not None))
        position = step.end()
    if multiple == 'first':
        # Here, "first" stops at the first item that meets the condition. There, it is the first item.
        keys = ['0' if key == '*' else key for key in keys]
    if keys.count('*') > 1 or keys[:1] in ([], ['*']):
        raise _Unsupported(f'the field {field!r:.200} has no counterpart')
    if '*' not in keys:
        return None, _reference(scheme, keys)
    star = keys.index('*')
    return _reference(scheme, keys[:star]), f'{{item{"".join(f"[{key}]" for key in keys[star + 1 :])}}}'


def _reference(scheme: str, keys: list[str]) -> str:
    if scheme == 'node':
        return f'{{node.{keys[0]}{"".join(f"[{key}]" for key in keys[1:])}}}'
    if keys[0] == 'all_interfaces' and keys[2:3] == ['lldp_processed']:
        keys = ['parsed_lldp', keys[1], *keys[3:]]
    elif keys[0] == 'interfaces':
        keys = ['valid_interfaces', *keys[1:]]
    path = _COMPUTED.get(keys[0]) if len(keys) == 1 else None
    path = path or ''.join(f'[{key}]' for key in keys)
    return f'{{{path[1:].replace("]", "", 1)}}}' if path.startswith('[inventory][') else f'{{plugin_data{path}}}'


def _action(action: Any) -> dict[str, Any]:
    names = _ACTIONS.get(str(action.get('action'))) if isinstance(action, dict) else None
    if names is None or (unknown := action.keys() - names.keys() - {'action'}):
        what = f'{", ".join(sorted(unknown))} of ' if names is not None else ''
        raise _Unsupported(f'{what}the action {action!r:.200} has no counterpart')
    args = {names[key]: _text(value) for key, value in action.items() if key != 'action'}
    if action['action'] in ('add-trait', 'remove-trait') and '{' in str(args.get('name')):
        args['format'] = True
    return {'op': action['action'], 'args': args}


def _text(value: Any) -> Any:
    """Return a value with our references instead of ``{data[…]}``."""
    return _DATA.sub(_of_data, value) if isinstance(value, str) else value


def _of_data(match: re.Match[str]) -> str:
    return _reference('data', re.findall(r'[^.\[\]]+', match[1]))
