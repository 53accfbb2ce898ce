"""Documents: which things they have, and what is wrong with one."""

import collections
import dataclasses
import json
from typing import Any

import os_resource_classes

from ironic_traits.deploy import states
from ironic_traits.inventory.chassis import CHASSIS as _CHASSIS_KIND
from ironic_traits.inventory.nodes import SETTABLE, UNSET
from ironic_traits.inventory.portgroups import PORTGROUPS
from ironic_traits.inventory.ports import PORTS
from ironic_traits.inventory.volume import CONNECTORS, TARGETS
from ironic_traits.matching.traits import is_trait

#: In which states a node is, of which only the service itself says so.
STATES = ('provision_state', 'power_state')
#: Why a node is in maintenance, which is said with that.
REASON = 'maintenance_reason'
#: What a service shows in place of a secret.
MASK = '******'


class Invalid(ValueError):
    """A document is not what it must be; the text says where."""


@dataclasses.dataclass(frozen=True, eq=False)
class Noun:
    """What there are lists of in a document.

    :ivar key: of the list.
    :ivar path: where the service has them.
    :ivar defaults: {field: what it is when nothing is said of it}.
    :ivar known_by: the fields by which each is known: all of the first of these of which something is said.
    :ivar owns: the field by which others say that they belong to it.
    :ivar inside: the nouns that belong to it.
    """

    key: str
    path: str
    defaults: dict[str, Any]
    known_by: tuple[tuple[str, ...], ...]
    owns: str = ''
    inside: tuple['Noun', ...] = ()

    @property
    def fields(self):
        """All that a document may say of one of them, and not of what belongs to it."""
        return ('uuid', *self.defaults)

    @property
    def page_key(self):
        """The key of a page of them."""
        return self.path.rpartition('/')[2]


_PORTS = Noun('ports', '/v1/ports', PORTS.settable, (('uuid',), ('address',)))
_PORTGROUPS = Noun(
    *('portgroups', '/v1/portgroups', PORTGROUPS.settable, (('uuid',), ('name',), ('address',))),
    'portgroup_uuid',
    (_PORTS,),
)
_CONNECTORS = Noun(
    'volume_connectors', '/v1/volume/connectors', CONNECTORS.settable, (('uuid',), ('type', 'connector_id'))
)
_TARGETS = Noun('volume_targets', '/v1/volume/targets', TARGETS.settable, (('uuid',), ('boot_index',)))
# Portgroups first: ports name them.
NODES = Noun(
    *('nodes', '/v1/nodes', dict.fromkeys(SETTABLE) | UNSET, (('uuid',), ('name',)), 'node_uuid'),
    (_PORTGROUPS, _PORTS, _CONNECTORS, _TARGETS),
)
CHASSIS = Noun('chassis', '/v1/chassis', _CHASSIS_KIND.settable, (('uuid',),), 'chassis_uuid', (NODES,))


def masked(document) -> list[str]:
    """Name the nodes of an exported document with secrets that whoever exported it may not see."""
    return [node.get('name') or node['uuid'] for node in document.get('nodes', []) if MASK in _values(node)]


def traits(found) -> set[str]:
    """Give the traits of all units that can be traits."""
    return {trait for _, item in found for trait in item.get('traits', []) if is_trait(trait)}


def resource_classes(found) -> set[str]:
    """Give the resource classes of all units, as Placement has them."""
    said = (item.get('resource_class') for _, item in found)
    return {os_resource_classes.normalize_name(name) for name in said if isinstance(name, str) and 0 < len(name) <= 80}


def units(document) -> list[tuple[Noun, dict[str, Any]]]:
    """Give what a document has, each with all that belongs to it: chassis first, then nodes.

    :raises Invalid: the document is not what it must be.
    """
    document = _plain(document)
    if not isinstance(document, dict) or not {'nodes', 'chassis'}.issuperset(document):
        raise Invalid("A document is an object with the lists 'nodes' and 'chassis', and nothing else.")
    found = []
    nodes = list(_items(document, NODES, ''))
    for at, item in _items(document, CHASSIS, ''):
        _check_chassis(at, item)
        inside = _items(item, NODES, f'{at}.')
        nodes += [(below, node | {'chassis_uuid': item['uuid']}) for below, node in inside]
        found.append((CHASSIS, {name: value for name, value in item.items() if name != 'nodes'}))
    for at, node in nodes:
        _check_node(at, node)
        found.append((NODES, node))
    for name, number in collections.Counter(ident(item) for _, item in found).items():
        if number > 1:
            raise Invalid(f'{name} is there twice.')
    return found


def ident(item):
    """Give the uuid or the name that a node or a chassis is known by."""
    return item.get('uuid') or item.get('name')


def _plain(document):
    """Give a document as JSON has it: YAML knows more."""
    try:
        return json.loads(json.dumps(document, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f'It has something that JSON does not have: {error}') from error


def _items(document, noun, prefix):
    """Give (where it stands, item) for each in a list of a document."""
    items = document.get(noun.key, [])
    if not isinstance(items, list):
        raise Invalid(f'{prefix}{noun.key}: must be a list.')
    for number, item in enumerate(items):
        at = f'{prefix}{noun.key}[{number}]'
        if not isinstance(item, dict):
            raise Invalid(f'{at}: must be an object.')
        yield at, item


def _check(noun, at, item):
    """Do nothing when there may be such things in a document; the service itself looks at the values."""
    inside = [each.key for each in noun.inside]
    unknown = sorted(set(item).difference(noun.fields, inside, ('traits', REASON, *STATES) if noun is NODES else ()))
    if unknown:
        raise Invalid(f'{at}: no {unknown[0]} is known there.')
    for name in ('uuid', 'name'):
        if not isinstance(item.get(name), str | None):
            raise Invalid(f'{at}.{name}: must be a text.')
    for each in noun.inside:
        for below, belonging in _items(item, each, f'{at}.'):
            _check(each, below, belonging)


def _check_chassis(at, item):
    # Its nodes are looked at by themselves.
    _check(CHASSIS, at, {name: value for name, value in item.items() if name != 'nodes'})
    if not item.get('uuid'):
        raise Invalid(f'{at}: a chassis needs a uuid, to be known by when it is imported again.')


def _check_node(at, node):
    _check(NODES, at, node)
    if not ident(node):
        raise Invalid(f'{at}: a node needs a uuid or a name, to be known by when it is imported again.')
    traits = node.get('traits', [])
    if not isinstance(traits, list) or not all(isinstance(trait, str) for trait in traits):
        raise Invalid(f'{at}.traits: must be a list of names.')
    state = node.get('provision_state', states.ENROLL)
    if state not in [each for each in states.TRANSITIONS if each not in states.WORKING | states.WAITING]:
        raise Invalid(f'{at}.provision_state: {state!r} is not where a node can come from; it must be at rest.')
    if node.get('power_state') not in (None, states.POWER_ON, states.POWER_OFF, states.POWER_ERROR):
        raise Invalid(f"{at}.power_state: must be 'power on', 'power off' or 'error', not {node['power_state']!r}.")
    if MASK in _values(node):
        raise Invalid(f'{at}: has {MASK} in place of a secret. Fill it in, or export as somebody who may see it.')


def _values(document):
    """Give all values in a JSON document."""
    if isinstance(document, dict | list):
        for each in document.values() if isinstance(document, dict) else document:
            yield from _values(each)
    else:
        yield document
