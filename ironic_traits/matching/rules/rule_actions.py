"""The actions of inspection rules.

They change nothing: they return what the rule would do, as ``RuleEffects``.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ironic_traits.matching import fact_maps, facts, traits
from ironic_traits.matching.rules import rule_conditions, rule_values
from ironic_traits.matching.rules.rule_changes import InvalidPath, Kind, RuleChange, node_path, path_of
from ironic_traits.matching.rules.rule_conditions import Condition, Operator
from ironic_traits.matching.rules.rule_values import TemplateScope, Unknown, Unusable, shown
from ironic_traits.matching.trait_names import normalized

LEVELS = ('debug', 'info', 'warning', 'error', 'critical')


class ActionFailed(ValueError):
    """A rule that cannot be carried out on a node. Its text says why, with the value."""


@dataclasses.dataclass(frozen=True)
class Action:
    """An action that has been validated.

    :ivar loop: the items of its loop, or a template of them; None for no loop.
    :ivar conditions: those that an ``expect`` names.
    """

    op: str
    args: Mapping[str, Any]
    loop: Any = None
    conditions: tuple[Condition, ...] = ()


@dataclasses.dataclass
class RuleEffects:
    """What a rule does on a node.

    :ivar added: the traits that it holds.
    :ivar removed: the traits that it takes from other rules.
    :ivar changes: changes of the node, its ports and the plugin data, in order.
    :ivar messages: [(level, text), …] to log.
    :ivar mismatches: a sentence for each expectation that is not met.
    :ivar failure: the message with which the inspection fails; None if it does not.
    :ivar warnings: [sentence, …].
    """

    added: set[str] = dataclasses.field(default_factory=set)
    removed: set[str] = dataclasses.field(default_factory=set)
    changes: list[RuleChange] = dataclasses.field(default_factory=list)
    messages: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    mismatches: list[str] = dataclasses.field(default_factory=list)
    failure: str | None = None
    warnings: list[str] = dataclasses.field(default_factory=list)


def run(action: Action, scope: TemplateScope, effects: RuleEffects) -> None:
    """Add what an action does to the effects of its rule. Items of its loop that are not known are left out.

    :raises ActionFailed: it cannot be carried out.
    """
    try:
        if action.loop is None:
            _run_once(action, scope, effects)
        else:
            _run_loop(action, scope, effects)
    except (Unknown, Unusable, InvalidPath) as error:
        raise ActionFailed(f'{action.op}: {error}') from None


def _run_loop(action: Action, scope: TemplateScope, effects: RuleEffects) -> None:
    try:
        scopes = rule_conditions.item_scopes(action.loop, scope)
    except Unknown as unknown:
        reason = f'the loop of {action.op} has no items: {unknown}'
        # What is expected of each item is not true of none: all disks may have gone.
        (effects.mismatches if action.op == 'expect' else effects.warnings).append(reason)
        return
    reasons = []
    for each in scopes:
        try:
            _run_once(action, each, effects)
        except Unknown as unknown:
            if not unknown.is_of_item:
                raise
            reasons.append(str(unknown))
    if reasons:
        effects.warnings.append(f'{action.op} leaves out {len(reasons)} of {len(scopes)} items: {reasons[0]}')


def _run_once(action: Action, scope: TemplateScope, effects: RuleEffects) -> None:
    args = {name: _expand(action, name, value, scope) for name, value in action.args.items()}
    if action.op == 'expect':
        args['conditions'] = action.conditions
    scope.spend(rule_values.STEP)
    OPERATORS[action.op].function(effects, scope, **args)


def _expand(action: Action, name: str, value: Any, scope: TemplateScope) -> Any:
    if name == 'conditions' or (name in ('name', 'names') and action.op in TRAIT_ACTIONS and not is_formatted(action)):
        return value
    return rule_values.message(value, scope) if name == 'msg' else rule_values.expand(value, scope)


def is_formatted(action: Action) -> bool:
    """Whether the names of traits in an action are templates: by an option, or in a loop, as in the real service."""
    return bool(action.args.get('format') or action.args.get('normalize') or action.loop is not None)


def trait_name(value: Any, normalize: bool) -> str:
    """Return the name of a trait.

    :param normalize: whether to write it in capitals, with CUSTOM_ in front and _ for all other characters.
    :raises ActionFailed: it is not valid.
    """
    name = value
    if normalize and isinstance(value, str | int | float) and not isinstance(value, bool):
        name = normalized(rule_values.as_text(value))
    if not isinstance(name, str) or not traits.is_trait(name):
        became = f', which becomes {shown(name)},' if name != value else ''
        raise ActionFailed(
            f'{shown(value)}{became} is not a trait: it must be a name of os-traits, or CUSTOM_ followed by A-Z, 0-9 '
            'and _, at most 255 characters in all'
        )
    return name


def _fail(effects: RuleEffects, scope: TemplateScope, msg: str) -> None:
    effects.failure = effects.failure or msg


def _log(effects: RuleEffects, scope: TemplateScope, msg: str, level: str = 'info') -> None:
    effects.messages.append((level.lower(), msg))


def _add(effects: RuleEffects, scope: TemplateScope, name: Any, format: Any = False, normalize: bool = False) -> None:
    trait = trait_name(name, normalize)
    effects.added.add(trait)
    effects.removed.discard(trait)


def _remove(
    effects: RuleEffects, scope: TemplateScope, name: Any, format: Any = False, normalize: bool = False
) -> None:
    trait = trait_name(name, normalize)
    effects.added.discard(trait)
    effects.removed.add(trait)


def _add_all(effects: RuleEffects, scope: TemplateScope, **args: Any) -> None:
    if 'map' in args:
        # The tables of the package define what a map reads. They name no secrets.
        scope.spend(100 * rule_values.STEP)
        result = fact_maps.MAPS[args['map']](facts.NodeFacts(scope.inventory, scope.plugin_data))
        effects.warnings += result.warnings
        names, normalize = sorted(result.traits), False
    else:
        names, normalize = args['names'], args.get('normalize', False)
    if not isinstance(names, list):
        raise ActionFailed(f'add-traits: {shown(names)} is not a list of names')
    scope.spend(len(names) * 100)
    for name in names:
        _add(effects, scope, name, normalize=normalize)


def _expect(effects: RuleEffects, scope: TemplateScope, conditions: Any, msg: str | None = None) -> None:
    for condition in conditions:
        result = rule_conditions.check(condition, scope)
        effects.warnings += result.warnings
        if not result.is_met:
            effects.mismatches.append(f'{msg}: {result.reason}' if msg else result.reason)


def _change(kind: Kind, op: str) -> Operator:
    needs_value = op in ('set', 'extend')

    def function(effects: RuleEffects, scope: TemplateScope, **args: Any) -> None:
        path = node_path(args['path']) if kind == 'node' else path_of(args['path'])
        change = RuleChange(kind, op, path, args.get('value'), bool(args.get('unique')), args.get('port_id'))
        if rule_values.as_text(change.value).find('\0') >= 0 or '\\x00' in repr(change.value):
            raise ActionFailed(f'the value of {".".join(path)} has a NUL character')
        effects.changes.append(change)

    required = (*(('port_id',) if kind == 'port' else ()), 'path', *(('value',) if needs_value else ()))
    return Operator(function, required, ('unique',) if op == 'extend' else ())


def _set_capability(effects: RuleEffects, scope: TemplateScope, name: Any, value: Any) -> None:
    effects.changes.append(RuleChange('capability', 'set', (_capability(name),), _capability(value)))


def _unset_capability(effects: RuleEffects, scope: TemplateScope, name: Any) -> None:
    effects.changes.append(RuleChange('capability', 'delete', (_capability(name),)))


def _capability(value: Any) -> str:
    text = rule_values.as_text(value)
    if not text.isprintable() or ',' in text or ':' in text or not text:
        raise ActionFailed(f'{shown(value)} cannot be in a capability')
    return text


def _call(effects: RuleEffects, scope: TemplateScope, **args: Any) -> None:
    raise ActionFailed('api-call is not supported: rules do not send requests')


_NAME = ('format', 'normalize')
#: The operators of actions.
OPERATORS: Mapping[str, Operator] = {
    'fail': Operator(_fail, ('msg',)),
    'log': Operator(_log, ('msg',), ('level',)),
    'set-attribute': _change('node', 'set'),
    'extend-attribute': _change('node', 'extend'),
    'del-attribute': _change('node', 'delete'),
    'set-capability': Operator(_set_capability, ('name', 'value')),
    'unset-capability': Operator(_unset_capability, ('name',)),
    'add-trait': Operator(_add, ('name',), _NAME),
    'remove-trait': Operator(_remove, ('name',), _NAME),
    'set-plugin-data': _change('plugin_data', 'set'),
    'extend-plugin-data': _change('plugin_data', 'extend'),
    'unset-plugin-data': _change('plugin_data', 'delete'),
    'set-port-attribute': _change('port', 'set'),
    'extend-port-attribute': _change('port', 'extend'),
    'del-port-attribute': _change('port', 'delete'),
    'api-call': Operator(_call, ('url',), ('headers', 'proxies', 'timeout', 'retries', 'backoff_factor')),
    # These two are not in the real service.
    'add-traits': Operator(_add_all, (), ('map', 'names', *_NAME)),
    'expect': Operator(_expect, ('conditions',), ('msg',)),
}
TRAIT_ACTIONS = ('add-trait', 'remove-trait', 'add-traits')
