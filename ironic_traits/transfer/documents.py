"""The format of documents, and their validation."""

import collections
import dataclasses
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import os_resource_classes

from ironic_traits import spelling
from ironic_traits.deploy import states
from ironic_traits.masks import MASK
from ironic_traits.matching.sources import OPERATOR, is_reserved
from ironic_traits.matching.traits import is_trait
from ironic_traits.resources import CHASSIS, NODES
from ironic_traits.resources.fields import Resource
from ironic_traits.transfer import catalogue, sources
from ironic_traits.uuids import canonical

#: States of a node, which no request of the API sets directly.
STATES = ('provision_state', 'power_state')
#: The traits of a node, and the sources that hold them.
TRAITS = ('traits', 'trait_sources')
#: Why a node is in maintenance. The API sets it together with ``maintenance``.
REASON = 'maintenance_reason'


#: A node, a chassis, a port, … in a document, or a document of the API.
Item = dict[str, Any]
#: A location in a document: the keys and indexes that lead to it from the root.
Where = tuple[str | int, ...]


@dataclasses.dataclass(frozen=True)
class Problem:
    """One problem of a document.

    :ivar where: its location.
    :ivar sentence: what is wrong.
    :ivar name: name or uuid of the node or chassis that has it; None for other problems.
    """

    where: Where
    sentence: str
    name: str | None = None

    def __str__(self) -> str:
        place = ''.join(f'[{step}]' if isinstance(step, int) else f'.{step}' for step in self.where).removeprefix('.')
        return ': '.join(filter(None, (place + (f' ({self.name})' if self.name else ''), self.sentence)))


class Invalid(ValueError):
    """A document is invalid.

    :ivar problems: all its problems.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__('\n'.join(map(str, problems)))
        self.problems = problems


#: An item, and its resource.
Unit = tuple[Resource, Item]


def fields(noun: Resource) -> tuple[str, ...]:
    """Return the fields of an item in a document, without lists of children."""
    return ('uuid', *noun.settable)


def masked(document: Mapping[str, Any]) -> list[str]:
    """Return the names or uuids of the nodes whose secrets are masked, for lack of permission at the export."""
    return [node.get('name') or node['uuid'] for node in document.get('nodes', []) if MASK in _values(node)]


def summary(document: Mapping[str, Any]) -> str:
    """Return the numbers of items in an exported document, as '3 nodes, 2 ports'."""
    counts = collections.Counter({key: len(document.get(key, ())) for key in ('nodes', 'chassis', 'traits')})
    for node in document.get('nodes', ()):
        counts.update({noun.name: len(node.get(noun.name, ())) for noun in NODES.children})
    names = (key if number != 1 or key == 'chassis' else key[:-1] for key, number in counts.items())
    return (
        ', '.join(
            f'{number} {name.replace("_", " ")}' for name, number in zip(names, counts.values(), strict=True) if number
        )
        or 'nothing'
    )


def traits(document_units: Iterable[Unit]) -> set[str]:
    """Return the traits in ``units``, without names that are no valid traits."""
    return {trait for _, item in document_units for trait in item.get('traits', []) if is_trait(trait)}


def sources_of(document_units: Iterable[Unit]) -> set[str]:
    """Return the sources that an import of ``units`` writes as, unless it has a source of its own."""
    stated = {name for _, item in document_units for name in item.get('trait_sources', {})}
    return {OPERATOR, *(name for name in stated if not is_reserved(name))}


def resource_classes(document_units: Iterable[Unit]) -> set[str]:
    """Return the resource classes in ``units``, in Placement's spelling."""
    names = (item.get('resource_class') for _, item in document_units)
    return {os_resource_classes.normalize_name(name) for name in names if isinstance(name, str) and 0 < len(name) <= 80}


def units(document: Any) -> list[Unit]:
    """Return the traits of a document, then its chassis, then its nodes, each with its children.

    :returns: [(noun, item), …].
    :raises Invalid: the document is invalid; the exception has all its problems.
    """
    return _Reader().read(_plain(document))


def ident(item: Mapping[str, Any]) -> Any:
    """Return the uuid or else the name of a node or a chassis."""
    return item.get('uuid') or item.get('name')


def _plain(document: Any) -> Any:
    """Return a document with JSON's types only; YAML has more."""
    try:
        return json.loads(json.dumps(document, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid([Problem((), f'It has a value that JSON cannot represent: {error}')]) from error


class _Reader:
    """A reader of one document, which collects its problems."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def read(self, document: Any) -> list[Unit]:
        if not isinstance(document, dict):
            raise Invalid([Problem((), "A document is an object with the lists 'nodes', 'chassis' and 'traits'.")])
        self._check_keys((), None, document, ('nodes', 'chassis', 'traits'), 'a document')
        traits_of_catalogue = list(self._items(document, catalogue.TRAITS, ()))
        for where, item in traits_of_catalogue:
            self._check_trait(where, item)
        entries, nodes = [], list(self._items(document, NODES, ()))
        for where, item in self._items(document, CHASSIS, ()):
            self._check_chassis(where, item)
            children = self._items(item, NODES, where)
            nodes += [(below, node | {'chassis_uuid': item.get('uuid')}) for below, node in children]
            entries.append((where, CHASSIS, {name: value for name, value in item.items() if name != 'nodes'}))
        for where, node in nodes:
            self._check_node(where, node)
            entries.append((where, NODES, node))
        self._check_names(entries)
        if self._problems:
            raise Invalid(self._problems)
        chassis = [(noun, item) for _, noun, item in entries if noun is CHASSIS]
        return (
            [(catalogue.TRAITS, item) for _, item in traits_of_catalogue]
            + chassis
            + [(NODES, node) for node in _parents_first([item for _, noun, item in entries if noun is NODES])]
        )

    def _add_problem(self, where: Where, item: Item | None, sentence: str) -> None:
        name = ident(item) if item else None
        self._problems.append(Problem(where, sentence, name if isinstance(name, str) else None))

    def _items(
        self, document: Item, noun: Resource, where: Where, top: Item | None = None
    ) -> Iterator[tuple[Where, Item]]:
        """Generate (location, item) for each item of a list in a document."""
        items = document.get(noun.name, [])
        if not isinstance(items, list):
            self._add_problem((*where, noun.name), top, 'must be a list.')
            return
        for number, item in enumerate(items):
            if isinstance(item, dict):
                yield (*where, noun.name, number), item
            else:
                self._add_problem((*where, noun.name, number), top, 'must be an object.')

    def _check_keys(self, where: Where, top: Item | None, item: Item, names: Collection[str], item_type: str) -> None:
        for key in sorted(set(item).difference(names)):
            hint = spelling.hint(key, names) or f' Its fields are: {", ".join(sorted(names))}.'
            self._add_problem((*where, key), top, f"'{key}' is not a field of {item_type}.{hint}")

    def _check(self, noun: Resource, where: Where, top: Item, item: Item) -> None:
        """Check the keys of an item, and of its children; the service checks the values.

        :param top: the node or chassis that the item is, or is in.
        """
        more = (*TRAITS, REASON, *STATES) if noun is NODES else ()
        names = (*fields(noun), *(each.name for each in noun.children), *more)
        self._check_keys(where, top, item, names, f'a {noun.singular}')
        for name in ('uuid', 'name'):
            if not isinstance(item.get(name), str | None):
                self._add_problem((*where, name), top, 'must be a string.')
        # The nodes in a chassis are units of their own.
        for each in noun.children if noun is not CHASSIS else ():
            for below, child in self._items(item, each, where, top):
                self._check(each, below, top, child)

    def _check_trait(self, where: Where, item: Item) -> None:
        self._check_keys(where, item, item, ('name', *catalogue.NOTES), 'a trait')
        if sentence := catalogue.problem(item):
            self._add_problem(where, item, sentence)

    def _check_chassis(self, where: Where, item: Item) -> None:
        self._check(CHASSIS, where, item, item)
        if not item.get('uuid'):
            self._add_problem(where, item, 'a chassis needs a uuid, by which another import finds it.')

    def _check_node(self, where: Where, node: Item) -> None:
        self._check(NODES, where, node, node)
        if not ident(node):
            self._add_problem(where, node, 'a node needs a uuid or a name, by which another import finds it.')
        traits = node.get('traits', [])
        if not isinstance(traits, list) or not all(isinstance(trait, str) for trait in traits):
            self._add_problem((*where, 'traits'), node, 'must be a list of names.')
        for sentence in sources.problems(node):
            self._add_problem((*where, 'trait_sources'), node, sentence)
        state = node.get('provision_state', states.ENROLL)
        if state not in [
            each for each in states.TRANSITIONS if each not in states.WORKING | states.WAITING | states.HELD
        ]:
            sentence = f'{state!r} is not a state that a node can be imported in; it must be a stable state.'
            self._add_problem((*where, 'provision_state'), node, sentence)
        power = node.get('power_state')
        if power not in (None, states.POWER_ON, states.POWER_OFF, states.POWER_ERROR):
            sentence = f"must be 'power on', 'power off' or 'error', not {power!r}."
            self._add_problem((*where, 'power_state'), node, sentence)
        if MASK in _values(node):
            sentence = f'has {MASK} instead of a secret. Fill it in, or export as a user who can see secrets.'
            self._add_problem(where, node, sentence)

    def _check_names(self, entries: Iterable[tuple[Where, Resource, Item]]) -> None:
        """Add a problem for each node or chassis whose uuid or name occurs earlier in the document."""
        seen: set[Any] = set()
        for where, _, item in entries:
            for name in {
                str(item[key]).lower().replace('-', '') if key == 'uuid' else item[key]: key
                for key in ('uuid', 'name')
                if isinstance(item.get(key), str)
            }:
                if name in seen:
                    self._add_problem(where, item, 'is in the document twice.')
                seen.add(name)


def _parents_first(nodes: Iterable[Item]) -> list[Item]:
    """Return nodes in their order, but each after its parent, if that is one of them."""
    by_ident = {canonical(node[name]): node for node in nodes for name in ('uuid', 'name') if node.get(name)}
    ordered: dict[int, Any] = {}
    for node in nodes:
        lineage: dict[int, Any] = {}
        each: Item | None = node
        while each and id(each) not in ordered and id(each) not in lineage:
            lineage[id(each)] = each
            parent = each.get('parent_node')
            each = by_ident.get(canonical(parent)) if isinstance(parent, str) else None
        ordered |= reversed(lineage.items())
    return list(ordered.values())


def _values(document: Any) -> Iterator[Any]:
    """Generate all values in a JSON document that are neither objects nor lists."""
    if isinstance(document, dict | list):
        for each in document.values() if isinstance(document, dict) else document:
            yield from _values(each)
    else:
        yield document
