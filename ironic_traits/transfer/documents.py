"""Documents: which things they have, and what is wrong with one."""

import collections
import dataclasses
import difflib
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


@dataclasses.dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a document.

    :ivar where: the keys and positions that lead to it from the top, a tuple.
    :ivar sentence: what is wrong.
    :ivar name: of the node or the chassis that it is in; None for none.
    """

    where: tuple[str | int, ...]
    sentence: str
    name: str | None = None

    def __str__(self):
        at = ''.join(f'[{step}]' if isinstance(step, int) else f'.{step}' for step in self.where).removeprefix('.')
        return ': '.join(filter(None, (at + (f' ({self.name})' if self.name else ''), self.sentence)))


class Invalid(ValueError):
    """A document is not what it must be.

    :ivar problems: all that is wrong with it, [Problem, …].
    """

    def __init__(self, problems):
        super().__init__('\n'.join(map(str, problems)))
        self.problems = problems


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
    def what(self):
        """What people call one of them."""
        return (self.key if self.key == 'chassis' else self.key[:-1]).replace('_', ' ')

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


def summary(document) -> str:
    """Return how much is in an exported document, as '3 nodes, 2 ports'."""
    counts = collections.Counter({key: len(document.get(key, ())) for key in ('nodes', 'chassis')})
    for node in document.get('nodes', ()):
        counts.update({noun.key: len(node.get(noun.key, ())) for noun in NODES.inside})
    shown = (key if number != 1 or key == 'chassis' else key[:-1] for key, number in counts.items())
    return (
        ', '.join(
            f'{number} {key.replace("_", " ")}' for key, number in zip(shown, counts.values(), strict=True) if number
        )
        or 'nothing'
    )


def traits(found) -> set[str]:
    """Give the traits of all units that can be traits."""
    return {trait for _, item in found for trait in item.get('traits', []) if is_trait(trait)}


def resource_classes(found) -> set[str]:
    """Give the resource classes of all units, as Placement has them."""
    said = (item.get('resource_class') for _, item in found)
    return {os_resource_classes.normalize_name(name) for name in said if isinstance(name, str) and 0 < len(name) <= 80}


def units(document) -> list[tuple[Noun, dict[str, Any]]]:
    """Return what a document has, each with all that belongs to it: chassis first, then nodes.

    :raises Invalid: the document is not what it must be; all that is wrong with it is named.
    """
    return _Reader().read(_plain(document))


def ident(item):
    """Give the uuid or the name that a node or a chassis is known by."""
    return item.get('uuid') or item.get('name')


def _plain(document):
    """Return a document as JSON has it: YAML has more."""
    try:
        return json.loads(json.dumps(document, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid([Problem((), f'It has something that JSON does not have: {error}')]) from error


class _Reader:
    """Reads one document, and collects what is wrong with it."""

    def __init__(self):
        self._problems: list[Problem] = []

    def read(self, document):
        if not isinstance(document, dict):
            raise Invalid([Problem((), "A document is an object with the lists 'nodes' and 'chassis'.")])
        self._check_keys((), None, document, ('nodes', 'chassis'), 'a document')
        found, nodes = [], list(self._items(document, NODES, ()))
        for where, item in self._items(document, CHASSIS, ()):
            self._check_chassis(where, item)
            inside = self._items(item, NODES, where)
            nodes += [(below, node | {'chassis_uuid': item.get('uuid')}) for below, node in inside]
            found.append((where, CHASSIS, {name: value for name, value in item.items() if name != 'nodes'}))
        for where, node in nodes:
            self._check_node(where, node)
            found.append((where, NODES, node))
        self._check_names(found)
        if self._problems:
            raise Invalid(self._problems)
        return [(noun, item) for _, noun, item in found]

    def _say(self, where, item, sentence):
        name = ident(item) if item else None
        self._problems.append(Problem(where, sentence, name if isinstance(name, str) else None))

    def _items(self, document, noun, where, top=None):
        """Generate (where it stands, item) for each item of a list in a document."""
        items = document.get(noun.key, [])
        if not isinstance(items, list):
            self._say((*where, noun.key), top, 'must be a list.')
            return
        for number, item in enumerate(items):
            if isinstance(item, dict):
                yield (*where, noun.key, number), item
            else:
                self._say((*where, noun.key, number), top, 'must be an object.')

    def _check_keys(self, where, top, item, names, what):
        for key in sorted(set(item).difference(names)):
            close = difflib.get_close_matches(key, names, n=1)
            hint = f" Did you mean '{close[0]}'?" if close else f' There are: {", ".join(sorted(names))}.'
            self._say((*where, key), top, f"'{key}' is not a field of {what}.{hint}")

    def _check(self, noun, where, top, item):
        """Check the keys of an item, and of what belongs to it; the service itself checks the values.

        :param top: the node or the chassis that it is in, or is.
        """
        more = ('traits', REASON, *STATES) if noun is NODES else ()
        names = (*noun.fields, *(each.key for each in noun.inside), *more)
        self._check_keys(where, top, item, names, f'a {noun.what}')
        for name in ('uuid', 'name'):
            if not isinstance(item.get(name), str | None):
                self._say((*where, name), top, 'must be a text.')
        # The nodes in a chassis are units of their own.
        for each in noun.inside if noun is not CHASSIS else ():
            for below, belonging in self._items(item, each, where, top):
                self._check(each, below, top, belonging)

    def _check_chassis(self, where, item):
        self._check(CHASSIS, where, item, item)
        if not item.get('uuid'):
            self._say(where, item, 'a chassis needs a uuid, to be known by when it is imported again.')

    def _check_node(self, where, node):
        self._check(NODES, where, node, node)
        if not ident(node):
            self._say(where, node, 'a node needs a uuid or a name, to be known by when it is imported again.')
        traits = node.get('traits', [])
        if not isinstance(traits, list) or not all(isinstance(trait, str) for trait in traits):
            self._say((*where, 'traits'), node, 'must be a list of names.')
        state = node.get('provision_state', states.ENROLL)
        if state not in [each for each in states.TRANSITIONS if each not in states.WORKING | states.WAITING]:
            sentence = f'{state!r} is not where a node can come from; it must be at rest.'
            self._say((*where, 'provision_state'), node, sentence)
        power = node.get('power_state')
        if power not in (None, states.POWER_ON, states.POWER_OFF, states.POWER_ERROR):
            sentence = f"must be 'power on', 'power off' or 'error', not {power!r}."
            self._say((*where, 'power_state'), node, sentence)
        if MASK in _values(node):
            sentence = f'has {MASK} in place of a secret. Fill it in, or export as somebody who may see it.'
            self._say(where, node, sentence)

    def _check_names(self, found):
        """Say which nodes or chassis are there twice, by a uuid or a name."""
        seen = set()
        for where, _, item in found:
            for name in {
                str(item[key]).lower().replace('-', '') if key == 'uuid' else item[key]: key
                for key in ('uuid', 'name')
                if isinstance(item.get(key), str)
            }:
                if name in seen:
                    self._say(where, item, 'is there twice.')
                seen.add(name)


def _values(document):
    """Give all values in a JSON document."""
    if isinstance(document, dict | list):
        for each in document.values() if isinstance(document, dict) else document:
            yield from _values(each)
    else:
        yield document
