"""The changes that inspection rules make to nodes, ports and plugin data, and where they may make them."""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Literal

Kind = Literal['node', 'plugin_data', 'port', 'capability']

#: The fields of a node that rules may change. Traits have actions of their own, and states belong to the service.
FIELDS = ('description', 'driver_info', 'extra', 'name', 'network_data', 'properties', 'resource_class')
MAX_KEYS = 10
_KEY = re.compile(r'[^\x00-\x1f\x7f{}]{1,255}')


class InvalidPath(ValueError):
    """A path that a rule may not change."""


@dataclasses.dataclass(frozen=True)
class RuleChange:
    """A change.

    :ivar op: set, extend or delete.
    :ivar path: the keys that lead to the value.
    :ivar is_unique: of extend: whether a value that is there is not added again.
    :ivar port_id: of a port: its uuid, or the value of the rule's template.
    """

    kind: Kind
    op: str
    path: tuple[str, ...]
    value: Any = None
    is_unique: bool = False
    port_id: str | None = None

    def __str__(self) -> str:
        what = (
            f'port {self.port_id} {".".join(self.path)}'
            if self.kind == 'port'
            else f'{self.kind} {".".join(self.path)}'
        )
        return f'{self.op} {what}' + ('' if self.op == 'delete' else f' = {self.value!r}'[:100])


def path_of(path: Any) -> tuple[str, ...]:
    """Return the keys of a path such as ``extra/rack`` or ``extra.rack``.

    :raises InvalidPath: it is not a path.
    """
    text = path if isinstance(path, str) else '.'.join(map(str, path)) if isinstance(path, list) else ''
    keys = tuple(text.strip('/').split('/') if '/' in text else text.split('.'))
    if len(keys) > MAX_KEYS or not all(_KEY.fullmatch(key) for key in keys) or '__' in text:
        raise InvalidPath(f'{path!r:.100} is not a path')
    return keys


def node_path(path: Any) -> tuple[str, ...]:
    """Return the keys of a path in a node.

    :raises InvalidPath: rules may not change it.
    """
    keys = path_of(path)
    if keys[0] not in FIELDS:
        raise InvalidPath(f'rules cannot change {keys[0]} of a node, only {", ".join(FIELDS)}')
    return keys


def applied(change: RuleChange, node: Mapping[str, Any], plugin_data: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return (node, plugin data) with a change. What is changed is copied, the rest is shared.

    :raises InvalidPath: the path leads through a value that is not an object, or extends one that is not a list.
    """
    if change.kind == 'capability':
        return _with_capability(change, node), plugin_data
    if change.kind == 'plugin_data':
        return node, _changed(plugin_data, change, change.path)
    return (_changed(node, change, change.path) if change.kind == 'node' else node), plugin_data


def cost(change: RuleChange, node: Mapping[str, Any], plugin_data: Mapping[str, Any]) -> int:
    """Return how many keys and items a change copies."""
    total, value = 0, plugin_data if change.kind == 'plugin_data' else node
    for key in change.path:
        total += len(value) if isinstance(value, Mapping | list) else 0
        value = value.get(key, {}) if isinstance(value, Mapping) else {}
    return total + (len(value) if isinstance(value, list) else 0)


def _changed(document: Any, change: RuleChange, path: tuple[str, ...]) -> dict[str, Any]:
    if document is not None and not isinstance(document, Mapping):
        raise InvalidPath(f'{".".join(change.path)} leads through a value that is no object')
    copy, key = dict(document or {}), path[0]
    if len(path) > 1:
        if change.op != 'delete' or key in copy:
            copy[key] = _changed(copy.get(key), change, path[1:])
    elif change.op == 'delete':
        copy.pop(key, None)
    elif change.op == 'set':
        copy[key] = change.value
    else:
        items = copy.get(key) or []
        if not isinstance(items, list):
            raise InvalidPath(f'{".".join(change.path)} is no list')
        copy[key] = items if change.is_unique and change.value in items else [*items, change.value]
    return copy


def _with_capability(change: RuleChange, node: Mapping[str, Any]) -> dict[str, Any]:
    properties = dict(node.get('properties') or {})
    pairs = (pair.partition(':') for pair in str(properties.get('capabilities') or '').split(',') if pair)
    capabilities = {name: value for name, _, value in pairs}
    capabilities.pop(change.path[0], None)
    if change.op == 'set':
        capabilities[change.path[0]] = change.value
    properties['capabilities'] = ','.join(f'{name}:{value}' for name, value in sorted(capabilities.items()))
    return {**node, 'properties': properties}
