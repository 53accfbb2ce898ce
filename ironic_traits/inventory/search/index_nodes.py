"""The nodes that a caller may see, as sets of bits of the index: what matches a request, what is free, and why not.

A snapshot of the database does not stop the clock. Therefore the filters that depend on it (``reserved``, ``held``
and ``eligible``) are answered from the index; the database evaluates the others, in the same snapshot.
"""

import dataclasses
import functools
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import os_resource_classes

from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.inventory.core import node_filters, node_selection
from ironic_traits.inventory.core.node_selection import Selection
from ironic_traits.inventory.search import node_sets, what_if
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.inventory.search.node_index import View
from ironic_traits.inventory.search.what_if import TraitChange, WhatIf
from ironic_traits.matching.requests import Request
from ironic_traits.matching.topology import TRAIT_PREFIX
from ironic_traits.matching.traits import Filter

#: Reasons of ``node_sets`` that mean that a node has a holder.
_HOLDERS = ('instance', 'reserved', 'allocated')
#: {filter that depends on the clock: the reasons of which one applies to a node; for "eligible", none}.
_OF_THE_CLOCK = {'reserved': ('reserved',), 'held': _HOLDERS, 'eligible': node_sets.REASONS}
#: Filters that the database does not evaluate. The first one is not a condition on nodes.
_NOT_OF_ROWS = ('include_children', *_OF_THE_CLOCK)
#: Why a node without a holder is not free. The first reason that applies counts. "cloud": the node is mirrored, and
#: cannot be held in its cloud now.
REASONS = (*(reason for reason in node_sets.REASONS if reason not in _HOLDERS), 'cloud')


@dataclasses.dataclass(frozen=True)
class Figures:
    """Numbers of nodes. Each matching node is free, or held, or not available for one reason.

    :ivar unavailable: {one of REASONS: number of nodes}, without zeros.
    """

    matching: int
    free: int
    held: int
    unavailable: dict[str, int]

    def minus(self, other: 'Figures') -> 'Figures':
        """Return the differences from other figures."""
        unavailable = Counter(self.unavailable)
        unavailable.subtract(other.unavailable)
        return Figures(
            self.matching - other.matching,
            self.free - other.free,
            self.held - other.held,
            {reason: number for reason, number in unavailable.items() if number},
        )


class ValueGroup(NamedTuple):
    """Nodes with the same value, now and after the what-if, as sets of bits."""

    value: str | None
    now: int
    then: int


class Nodes:
    """The nodes that a caller may see, at one moment, or as a what-if changes them.

    :param context: context of the request; None for all nodes. Without a context, there can be no selections.
    :param view: the nodes at one moment.
    :param excluded: condition on nodes that a node can be held in its cloud; None if that does not matter.
    :param without: set of the nodes that the what-if removes.
    :param traits: {trait: set of the nodes that have it after the what-if}, of the traits that differ from the view.
    """

    def __init__(
        self,
        context: Context | None,
        grant: Grant,
        view: View,
        excluded: Condition | None = None,
        without: int = 0,
        traits: Mapping[str, int] | None = None,
    ) -> None:
        self._context, self._grant, self._excluded = context, grant, excluded
        self.view = view
        self._traits = traits or {}
        #: As in ``Result``.
        self.vetoed: list[dict[str, int]] = []
        project = node_filters.visible_project(context, grant) if context else None
        every = view.get(node_sets.ALL)
        if project is not None:
            every &= view.get('owner', project) | view.get('lessee', project)
        #: Set of all of these nodes.
        self.all = every & ~without
        self._parts = self._partition()
        self._selected: dict[str, int] = {}
        self._classes: dict[str, int] = {}
        for name in view.values('resource_class'):
            normalized = os_resource_classes.normalize_name(name)
            self._classes[normalized] = self._classes.get(normalized, 0) | view.get('resource_class', name)

    def supposed(self, what_if: WhatIf) -> 'Nodes':
        """Return the nodes as the what-if changes them."""
        without = self._selection(Selection({}, Filter(), what_if.without)) if what_if.without else 0
        traits: dict[str, int] = {}
        vetoed = [self._changed(change, traits, without) for change in what_if.changes]
        then = Nodes(self._context, self._grant, self.view, self._excluded, without, traits)
        then.vetoed = vetoed
        return then

    def _changed(self, change: TraitChange, traits: dict[str, int], without: int) -> dict[str, int]:
        """Make a change in ``traits``. Return {trait: number of nodes on which it is vetoed}.

        :param traits: as the parameter of the class.
        :raises failures.Failure: as ``count``.
        """
        assert self._context
        what_if.check_names(self.view.connection, change.remove)
        nodes, gaining = self._selection(change.selection) & ~without, 0
        for name in change.remove:
            traits[name] = traits.get(name, self.trait(name)) & ~nodes
        for name in change.add:
            before = traits.get(name, self.trait(name))
            gaining |= nodes & ~before
            traits[name] = before | nodes
        names = {*self.view.values('trait'), *traits}
        present = (traits[name] if name in traits else self.view.get('trait', name) for name in names)
        what_if.check_limit(self._context, self.view, present, gaining)
        return what_if.vetoed(self.view, change.add, nodes)

    @property
    def free(self) -> int:
        """Set of the free nodes."""
        return self._parts['free']

    @property
    def held(self) -> int:
        """Set of the nodes that an instance, a reservation or a consumer holds."""
        return self._parts['held']

    def trait(self, name: str) -> int:
        """Return the set of the nodes with a trait; it may include nodes that the caller may not see."""
        return self._traits.get(name, self.view.get('trait', name) if name not in self._traits else 0)

    @property
    def traits(self) -> list[str]:
        """The traits that at least one of the nodes has, sorted."""
        names = sorted({*self.view.values('trait'), *self._traits})
        return [name for name in names if self.trait(name) & self.all]

    def matching(self, node_request: NodeRequest) -> int:
        """Return the set of the nodes that match a request, whether or not they are free."""
        request = node_request.request
        nodes = self.considered(node_request.filters)
        if request.resource_class:
            nodes &= self.of_class(request)
        return self.with_traits(nodes, request.filter)

    def clauses(self, node_request: NodeRequest) -> Iterator[tuple[str, int]]:
        """Yield the clauses of a request, as an explanation names them, with the set of the nodes that fulfil each."""
        request = node_request.request
        if request.resource_class:
            yield f'resource_class:{request.resource_class}', self.of_class(request)
        yield from self.clauses_of_traits(request)
        if node_request.filters:
            yield 'filters', self.considered(node_request.filters)

    def clauses_of_traits(self, request: Request) -> Iterator[tuple[str, int]]:
        """Yield the clauses about traits, as ``clauses`` does."""
        for term in request.filter.terms():
            yield term.name, term.of_sets(self.trait, self.all)

    def of_class(self, request: Request) -> int:
        """Return the set of the nodes with the resource class of a request. The request must have one."""
        return self._classes.get(request.resource_class or '', 0)

    def figures(self, nodes: int) -> Figures:
        """Return the figures of a set of nodes."""
        numbers = {part: (nodes & members).bit_count() for part, members in self._parts.items()}
        unavailable = {reason: numbers[reason] for reason in REASONS if numbers[reason]}
        return Figures(nodes.bit_count(), numbers['free'], numbers['held'], unavailable)

    def groups(self, by: str, then: 'Nodes | None') -> Iterator[ValueGroup]:
        """Yield the groups of nodes with the same value, and the group of the nodes without a value."""
        others, others_then = self.all, then.all if then else 0
        if by.startswith(TRAIT_PREFIX):
            prefix = by.removeprefix(TRAIT_PREFIX)
            names = sorted({*self.traits, *(then.traits if then else ())})
            groups = [
                ValueGroup(name, self.trait(name) & self.all, then.trait(name) & then.all if then else 0)
                for name in names
                if name.startswith(prefix)
            ]
        else:
            found = ((value, self.view.get(by, value)) for value in self.view.values(by))
            groups = [ValueGroup(value, nodes & self.all, nodes & others_then) for value, nodes in found]
        for group in groups:
            others, others_then = others & ~group.now, others_then & ~group.then
        for group in (ValueGroup(None, others, others_then), *groups):
            if group.now or group.then:
                yield group

    def considered(self, filters: Mapping[str, Any]) -> int:
        """Return the set of the nodes that pass filters, without children unless a filter asks for them."""
        nodes = self.all
        if node_filters.hides_children(filters):
            nodes &= ~self.view.get(node_sets.CHILDREN)
        nodes &= self._at_the_moment(filters)
        rest = {}
        for name, value in filters.items():
            if name in node_sets.COLUMNS and name not in node_filters.CONDITIONS:
                nodes &= self.view.get(name, value)
            elif name not in _NOT_OF_ROWS:
                rest[name] = value
        if not rest:
            return nodes
        key = repr(sorted(rest.items()))
        if key not in self._selected:
            self._selected[key] = self.view.select(node_filters.conditions(rest).values())
        return nodes & self._selected[key]

    def _at_the_moment(self, filters: Mapping[str, object]) -> int:
        """Return the set of the nodes that pass the filters that depend on the clock."""
        nodes = self.all
        for name in _OF_THE_CLOCK.keys() & filters.keys():
            members = self._unavailable(_OF_THE_CLOCK[name])
            nodes &= members if filters[name] is not (name == 'eligible') else ~members
        return nodes

    def _unavailable(self, reasons: Iterable[str]) -> int:
        """Return the set of the nodes to which one of some reasons applies."""
        return functools.reduce(operator.or_, map(self.view.unavailable, reasons))

    def _selection(self, selection: Selection) -> int:
        if selection.idents is None:
            return self.with_traits(self.considered(selection.filters), selection.traits)
        assert self._context
        rows = node_selection.select(self._context, self.view.connection, self._grant, selection)
        return self.view.of_ids(row.id for row in rows)

    def with_traits(self, nodes: int, wanted: Filter) -> int:
        """Return the subset of nodes that pass a filter on traits."""
        for term in wanted.terms():
            nodes = term.of_sets(self.trait, nodes)
        return nodes

    def _partition(self) -> dict[str, int]:
        """Return {'free', 'held' or one of REASONS: set of nodes}. Each node is in one of the sets."""
        parts = {'held': self.all & self._unavailable(_HOLDERS)}
        rest = self.all & ~parts['held']
        for reason in REASONS:
            parts[reason] = rest & (self._held_elsewhere() if reason == 'cloud' else self.view.unavailable(reason))
            rest &= ~parts[reason]
        return parts | {'free': rest}

    def _held_elsewhere(self) -> int:
        """Return the set of the mirrored nodes that cannot be held in their cloud."""
        if self._excluded is None:
            return 0
        return self.view.select([tables.nodes.c.origin.is_not(None), ~self._excluded])
