"""Why there are no allocation candidates, or only few: which part of a query rejects how many providers.

The parts of the query are clauses: each required or forbidden trait, each aggregate, …. What a provider fails is a mask
of clauses, as for nodes (``matching.explanations``). Nodes are read from the index of nodes, so a query about nodes
takes milliseconds, however many there are. Providers that clients have created are few, and read from the database, in
the same snapshot.

That needs candidates of one provider each. Otherwise, if several groups or providers of a tree make a candidate, the
figures are about trees. They come from searches without single clauses.
"""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import os_resource_classes
import sqlalchemy as sa

from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.annotations import Condition
from ironic_traits.inventory import node_index
from ironic_traits.inventory.capacity import Figures, Nodes
from ironic_traits.inventory.node_index import View
from ironic_traits.matching import bitsets
from ironic_traits.matching.explanations import MAX_LISTED, Explanation
from ironic_traits.placement import capacity
from ironic_traits.placement import traits as provider_traits
from ironic_traits.placement.allocation_candidates import Search
from ironic_traits.placement.candidate_requests import Group, Request
from ironic_traits.placement.resource_providers import in_tree, is_in

#: Most searches without several clauses.
_MAX_PAIRS = 50


class Clause(NamedTuple):
    """A part of a request.

    :ivar name: as in the query string.
    :ivar without: the request without it; None if a request needs it.
    :ivar of: function of a _Providers that returns the set of those that fulfil it.
    """

    name: str
    without: Callable[[Request], Request] | None
    of: Callable[['_Providers'], int]


class Result(NamedTuple):
    """An explanation.

    :ivar units: what is counted: 'providers' or 'trees'.
    :ivar considered: providers with an inventory of a requested resource class; trees with room for the resources.
    :ivar matched: how many of them have a candidate.
    :ivar clauses: [{'clause', 'rejected', 'rejected_only'}, …].
    :ivar relaxations: [{'drop': [clause, …], 'matched': how many have a candidate then}, …], the fewest clauses first.
    :ivar nodes: Figures of the considered nodes; None for trees.
    """

    units: str
    considered: int
    matched: int
    clauses: list[dict[str, Any]]
    relaxations: list[dict[str, Any]]
    nodes: Figures | None


def explain(context: Context, grant: Grant, request: Request) -> Result:
    """Explain the candidates of a request.

    :param request: its limit does not count.
    :raises failures.ResourceClassNotFound: a resource class does not exist.
    :raises failures.TraitNotFound: traits do not exist.
    """
    request = dataclasses.replace(request, limit=None)
    with context.node_index.now(context) as view:
        search = Search(view.connection, context.conf.placement, request)
        if not _is_of_one_provider(search):
            return _of_trees(search)
        return _of_providers(_Providers(context, grant, view, search))


def clauses(request: Request) -> Iterator[Clause]:
    """Yield the clauses of a request."""
    for number, group in enumerate(request.groups):
        yield from _of_group(number, group)
    if request.root_required:
        required, forbidden = request.root_required
        for place, one_of in enumerate(required):
            rest = [*required[:place], *required[place + 1 :]]
            yield Clause(f'root_required:{_names(one_of)}', _root((rest, forbidden)), _has_one(one_of))
        for name in sorted(forbidden):
            yield Clause(f'root_required:!{name}', _root((required, forbidden - {name})), _has_none({name}))
    if request.isolate:
        yield Clause('group_policy:isolate', lambda request: dataclasses.replace(request, isolate=False), _all)
    for place, suffixes in enumerate(request.subtrees):
        # A group without resources must be in a subtree.
        if all(group.resources for group in request.groups):
            yield Clause(f'same_subtree:{",".join(sorted(suffixes))}', _subtree(place), _all)


def _of_group(number: int, group: Group) -> Iterator[Clause]:
    def without(**changes: Any) -> Callable[[Request], Request]:
        def change(request: Request) -> Request:
            groups = list(request.groups)
            present = groups[number]
            groups[number] = dataclasses.replace(
                present, **{name: _less(getattr(present, name), value) for name, value in changes.items()}
            )
            return dataclasses.replace(request, groups=groups)

        return change

    suffix = group.suffix
    for name, amount in sorted(group.resources.items()):
        yield Clause(f'resources{suffix}:{name}:{amount}', None, _has_room(name, amount))
    for one_of in group.required:
        yield Clause(f'required{suffix}:{_names(one_of)}', without(required=one_of), _has_one(one_of))
    for name in sorted(group.forbidden):
        yield Clause(f'required{suffix}:!{name}', without(forbidden=name), _has_none({name}))
    for aggregates in group.member_of:
        yield Clause(f'member_of{suffix}:{_names(aggregates)}', without(member_of=aggregates), _is_member(aggregates))
    for uuid in sorted(group.not_member_of):
        yield Clause(f'member_of{suffix}:!{uuid}', without(not_member_of=uuid), _is_no_member({uuid}))
    if group.in_tree:
        yield Clause(f'in_tree{suffix}:{group.in_tree}', without(in_tree=None), _in_tree(group.in_tree))


def _less(present: Any, gone: Any) -> Any:
    """Return the requirements of a group without one of them."""
    if gone is None:
        return None
    if isinstance(present, AbstractSet):
        return present - {gone}
    return [each for each in present if each != gone]


def _root(left: tuple[Sequence[AbstractSet[str]], AbstractSet[str]]) -> Callable[[Request], Request]:
    gone = left

    def change(request: Request) -> Request:
        required, forbidden = request.root_required or ([], frozenset())
        kept = ([each for each in required if each in gone[0]], forbidden & gone[1])
        return dataclasses.replace(request, root_required=kept if any(kept) else None)

    return change


def _subtree(place: int) -> Callable[[Request], Request]:
    def change(request: Request) -> Request:
        subtrees = [*request.subtrees[:place], *request.subtrees[place + 1 :]]
        return dataclasses.replace(request, subtrees=subtrees)

    return change


def _names(names: Collection[str]) -> str:
    return next(iter(names)) if len(names) == 1 else f'in:{",".join(sorted(names))}'


# What providers fulfil: functions of _Providers.


def _all(providers: '_Providers') -> int:
    return providers.considered


def _has_room(name: str, amount: int) -> Callable[['_Providers'], int]:
    return lambda providers: providers.with_room(name, amount)


def _has_one(names: AbstractSet[str]) -> Callable[['_Providers'], int]:
    return lambda providers: providers.with_one_of(names)


def _has_none(names: AbstractSet[str]) -> Callable[['_Providers'], int]:
    return lambda providers: providers.considered & ~providers.with_one_of(names)


def _is_member(aggregates: AbstractSet[str]) -> Callable[['_Providers'], int]:
    return lambda providers: providers.members(aggregates)


def _is_no_member(aggregates: AbstractSet[str]) -> Callable[['_Providers'], int]:
    return lambda providers: providers.considered & ~providers.members(aggregates)


def _in_tree(uuid: str) -> Callable[['_Providers'], int]:
    return lambda providers: providers.in_tree(uuid)


def _is_of_one_provider(search: Search) -> bool:
    """Whether each candidate is one provider, and has no other in its tree that could change that."""
    if search.is_plain:
        return True
    if len(search.request.groups) > 1 or len(search.amounts) > 1 or search.sharing:
        return False
    of_class = tables.inventories.c.resource_class_id.in_(search.class_ids.values())
    return not search.connection.scalar(sa.select(sa.exists().where(of_class)))


class _Providers:
    """The providers with an inventory of a requested class, as sets of bits: the nodes first, then those of clients."""

    def __init__(self, context: Context, grant: Grant, view: View, search: Search) -> None:
        self.search, self.view = search, view
        self.nodes = Nodes(context, grant, view)
        ids = list(search.class_ids.values())
        stored = sa.select(tables.inventories.c.resource_provider_id).where(
            tables.inventories.c.resource_class_id.in_(ids)
        )
        self._is_considered = tables.resource_providers.c.id.in_(stored)
        rows = view.connection.scalars(sa.select(tables.resource_providers.c.id).where(self._is_considered))
        self._places = {provider_id: view.size + place for place, provider_id in enumerate(rows)}
        self.size = view.size + len(self._places)
        self.of_nodes = 0
        for name in search.class_ids:
            self.of_nodes |= self._nodes_of(name)
        self.considered = self.of_nodes | bitsets.of(self._places.values(), self.size)

    def with_room(self, name: str, amount: int) -> int:
        """Return the set of the providers from which an amount of a resource class can be allocated."""
        room = capacity.of_clients({self.search.class_ids[name]: amount})
        nodes = 0
        if amount == 1:
            nodes = self._nodes_of(name) & ~self.view.get(node_index.CHILDREN)
            for reason in node_index.REASONS:
                nodes &= ~self.view.unavailable(reason)
        return nodes | self._bits(self.view.connection.execute(room).all())

    def with_one_of(self, names: Collection[str]) -> int:
        """Return the set of the providers that have one of these traits."""
        nodes = 0
        for name in names:
            nodes |= self.view.get('trait', name) | self.view.get('foreign', name)
        return self.of_nodes & nodes | self._select(*provider_traits.conditions(self.search.holders, [names]))

    def members(self, aggregates: Collection[str]) -> int:
        """Return the set of the providers that are in one of these aggregates."""
        nodes = 0
        for uuid in aggregates:
            nodes |= self.view.get('aggregate', uuid)
        return self.of_nodes & nodes | self._select(is_in(aggregates))

    def in_tree(self, uuid: str) -> int:
        """Return the set of the providers in a tree."""
        of_nodes = sa.select(tables.resource_providers.c.node_id).where(
            in_tree(uuid), tables.resource_providers.c.node_id.is_not(None)
        )
        nodes = self.view.of_ids(self.view.connection.scalars(of_nodes))
        return self.of_nodes & nodes | self._select(in_tree(uuid))

    def _nodes_of(self, name: str) -> int:
        nodes = 0
        for each in self.view.values('resource_class'):
            if os_resource_classes.normalize_name(each) == name:
                nodes |= self.view.get('resource_class', each)
        return nodes

    def _select(self, *conditions: Condition) -> int:
        """Return the set of the providers of clients that fulfil conditions."""
        if not self._places:
            return 0
        statement = sa.select(tables.resource_providers.c.id).where(self._is_considered, *conditions)
        return self._bits(self.view.connection.execute(statement).all())

    def _bits(self, rows: Sequence[sa.Row]) -> int:
        return bitsets.of((self._places[row.id] for row in rows if row.id in self._places), self.size)


def _of_providers(providers: _Providers) -> Result:
    """Explain a request whose candidates are one provider each."""
    every = list(clauses(providers.search.request))
    failing = bitsets.failing(providers.considered, [clause.of(providers) for clause in every], providers.size)
    explanation = Explanation([clause.name for clause in every], failing)
    fixed = sum(1 << bit for bit, clause in enumerate(every) if clause.without is None)
    # Of providers that fail what a request needs, no relaxation makes candidates.
    droppable = Explanation(explanation.clauses, Counter({m: n for m, n in failing.items() if not m & fixed}))
    return Result(
        'providers',
        explanation.considered,
        explanation.matched,
        explanation.rejected(),
        [{'drop': each['drop'], 'matched': each['nodes']} for each in droppable.relaxations()],
        providers.nodes.figures(providers.of_nodes),
    )


def _of_trees(search: Search) -> Result:
    """Explain a request whose candidates may be of several providers."""
    every = [clause for clause in clauses(search.request) if clause.without is not None]

    def count(dropped: Collection[Clause]) -> int:
        request = search.request
        for clause in dropped:
            if clause.without is not None:
                request = clause.without(request)
        relaxed = Search(search.connection, search.conf, request)
        candidates = relaxed.candidates()
        return len(
            {
                relaxed.providers[provider_id].root_provider_uuid
                for each in candidates
                for (provider_id, _), _ in each.amounts
            }
        )

    matched, considered = count(()), count(every)
    alone = {clause.name: count([clause]) for clause in every}
    rejected = {
        clause.name: considered - count([each for each in every if each is not clause]) if len(every) > 1 else None
        for clause in every
    }
    relaxations: list[dict[str, Any]] = []
    if not matched:
        relaxations = [{'drop': [name], 'matched': number} for name, number in alone.items() if number]
        if not relaxations:
            pairs = itertools.islice(itertools.combinations(every, 2), _MAX_PAIRS)
            for pair in pairs:
                if number := count(pair):
                    relaxations.append({'drop': [clause.name for clause in pair], 'matched': number})
    shown = [
        {
            'clause': clause.name,
            'rejected': considered - matched if rejected[clause.name] is None else rejected[clause.name],
            'rejected_only': alone[clause.name] - matched,
        }
        for clause in every
    ]
    return Result('trees', considered, matched, shown, relaxations[:MAX_LISTED], None)
