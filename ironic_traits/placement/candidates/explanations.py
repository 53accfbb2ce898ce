"""Why there are no allocation candidates, or only few: which part of a query rejects how many providers.

The parts of the query are clauses: each required or forbidden trait, each aggregate, …. What a provider fails is a mask
of clauses, as for nodes (``matching.explanations``). Nodes are read from the index of nodes, so a query about nodes
takes milliseconds, however many there are. The database counts the providers that clients have created, in the same
snapshot.

That needs candidates of one provider each. Otherwise, if several groups or providers of a tree make a candidate, the
figures are about trees. They come from the minimal sets of clauses that each tree fails (``tree_relaxations``). As long
as each tree is one provider, the database counts these, too.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import os_resource_classes
import sqlalchemy as sa

from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.statements import masks
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.inventory.search import node_sets
from ironic_traits.inventory.search.index_nodes import Figures, Nodes
from ironic_traits.inventory.search.node_index import View
from ironic_traits.matching import bitsets
from ironic_traits.matching.explanations import MAX_LISTED, Explanation, is_shown
from ironic_traits.placement import inventory_usage
from ironic_traits.placement.candidates import candidate_search, tree_relaxations
from ironic_traits.placement.candidates.candidate_requests import CandidateGroup, CandidateRequest
from ironic_traits.placement.candidates.candidate_search import Search
from ironic_traits.placement.candidates.failing_trees import Alternatives, Key
from ironic_traits.placement.candidates.plain_candidates import exclusive_conditions
from ironic_traits.placement.resource_providers import in_tree, is_in

_TOO_MANY = (
    'The groups of the query have more combinations of providers than [placement] max_candidate_combinations allows. '
    'The figures are of those that were tried.'
)


class Part(NamedTuple):
    """Some of the providers: a set of nodes, and the condition on the providers of clients."""

    nodes: int
    clients: Condition


class CandidateClause(NamedTuple):
    """A part of a request.

    :ivar name: as in the query string.
    :ivar key: what it is about, as ``tree_relaxations`` needs it; None if a request needs the clause.
    :ivar of: function of a _Providers that returns the Part that fulfils it.
    """

    name: str
    key: Key | None
    of: Callable[['_Providers'], Part]


class CandidateExplanation(NamedTuple):
    """An explanation.

    :ivar units: what is counted: 'providers' or 'trees'.
    :ivar considered: providers with an inventory of a requested resource class; trees with room for the resources.
    :ivar matched: how many of them have a candidate.
    :ivar clauses: [{'clause', 'rejected', 'rejected_only'}, …].
    :ivar relaxations: [{'drop': [clause, …], 'matched': how many have a candidate then}, …], the fewest clauses first.
    :ivar nodes: Figures of the considered nodes; None for trees.
    :ivar warnings: sentences: why the figures may be too low.
    """

    units: str
    considered: int
    matched: int
    clauses: list[dict[str, Any]]
    relaxations: list[dict[str, Any]]
    nodes: Figures | None
    warnings: list[str]


def explain(context: Context, grant: Grant, request: CandidateRequest) -> CandidateExplanation:
    """Explain the candidates of a request.

    :param request: its limit does not count.
    :raises failures.TraitNotFound: traits do not exist.
    """
    request = candidate_search.without_exclusive(context, dataclasses.replace(request, limit=None))
    with context.service.node_index.now(context) as view:
        search = Search(view.connection, context.conf.placement, request)
        if not _is_of_one_provider(search):
            return _of_trees(search)
        providers = _Providers(search, view)
        return _of_providers(providers, Nodes(context, grant, view).figures(providers.nodes))


def clauses(request: CandidateRequest) -> Iterator[CandidateClause]:
    """Yield the clauses of a request."""
    for number, group in enumerate(request.groups):
        yield from _of_group(number, group)
    if request.root_required:
        required, forbidden = request.root_required
        for one_of in required:
            yield CandidateClause(
                f'root_required:{_names(one_of)}', ('root_required', 0, frozenset(one_of)), _has_one(one_of)
            )
        for name in sorted(forbidden):
            yield CandidateClause(f'root_required:!{name}', ('root_forbidden', 0, name), _has_none({name}))
    for name in sorted(request.exclusive):
        yield CandidateClause(f'exclusive:{name}', ('exclusive', 0, name), _has_none_in_tree(name))
    if request.isolate:
        yield CandidateClause('group_policy:isolate', ('group_policy', 0, None), _all)
    for place, suffixes in enumerate(request.subtrees):
        # A group without resources must be in a subtree.
        if all(group.resources for group in request.groups):
            yield CandidateClause(f'same_subtree:{",".join(sorted(suffixes))}', ('same_subtree', place, None), _all)


def _of_group(number: int, group: CandidateGroup) -> Iterator[CandidateClause]:
    def clause(name: str, kind: str, value: Any, of: Callable[['_Providers'], Part]) -> CandidateClause:
        return CandidateClause(name, (kind, number, value), of)

    suffix = group.suffix
    for name, amount in sorted(group.resources.items()):
        yield CandidateClause(f'resources{suffix}:{name}:{amount}', None, _has_room(name, amount))
    for one_of in group.required:
        yield clause(f'required{suffix}:{_names(one_of)}', 'required', frozenset(one_of), _has_one(one_of))
    for name in sorted(group.forbidden):
        yield clause(f'required{suffix}:!{name}', 'forbidden', name, _has_none({name}))
    for aggregates in group.member_of:
        yield clause(
            f'member_of{suffix}:{_names(aggregates)}', 'member_of', frozenset(aggregates), _is_member(aggregates)
        )
    for uuid in sorted(group.not_member_of):
        yield clause(f'member_of{suffix}:!{uuid}', 'not_member_of', uuid, _is_no_member({uuid}))
    if group.in_tree:
        yield clause(f'in_tree{suffix}:{group.in_tree}', 'in_tree', group.in_tree, _in_tree(group.in_tree))


def _names(names: Collection[str]) -> str:
    return next(iter(names)) if len(names) == 1 else f'in:{",".join(sorted(names))}'


# What providers fulfil: functions of _Providers.


def _all(providers: '_Providers') -> Part:
    return Part(providers.nodes, sa.true())


def _has_room(name: str, amount: int) -> Callable[['_Providers'], Part]:
    return lambda providers: providers.with_room(name, amount)


def _has_one(names: AbstractSet[str]) -> Callable[['_Providers'], Part]:
    return lambda providers: providers.with_one_of(names)


def _has_none(names: AbstractSet[str]) -> Callable[['_Providers'], Part]:
    return lambda providers: providers.without(providers.with_one_of(names))


def _has_none_in_tree(name: str) -> Callable[['_Providers'], Part]:
    return lambda providers: providers.without_in_tree(name)


def _is_member(aggregates: AbstractSet[str]) -> Callable[['_Providers'], Part]:
    return lambda providers: providers.members(aggregates)


def _is_no_member(aggregates: AbstractSet[str]) -> Callable[['_Providers'], Part]:
    return lambda providers: providers.without(providers.members(aggregates))


def _in_tree(uuid: str) -> Callable[['_Providers'], Part]:
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
    """The providers with an inventory of a requested class: nodes as a set of bits, those of clients as a statement.

    :param view: of the nodes; None if no node has such an inventory.
    """

    def __init__(self, search: Search, view: View | None) -> None:
        self.search, self._view = search, view
        self.nodes = 0
        for name in search.class_ids:
            self.nodes |= self._nodes_of(name)
        of_class = tables.inventories.c.resource_class_id.in_(list(search.class_ids.values()))
        considered = sa.select(tables.inventories.c.resource_provider_id).where(of_class)
        #: SELECT of those of clients.
        self.clients = sa.select(tables.resource_providers.c.id).where(tables.resource_providers.c.id.in_(considered))

    def without(self, part: Part) -> Part:
        """Return the other providers."""
        return Part(self.nodes & ~part.nodes, ~part.clients)

    def with_room(self, name: str, amount: int) -> Part:
        """Return the providers from which an amount of a resource class can be allocated."""
        room = inventory_usage.select_client_providers({self.search.class_ids[name]: amount})
        nodes = 0
        if amount == 1 and self._view:
            nodes = self._nodes_of(name) & ~self._view.get(node_sets.CHILDREN)
            for reason in node_sets.REASONS:
                nodes &= ~self._view.unavailable(reason)
        provider_id = tables.resource_providers.c.id
        return Part(nodes, provider_id.in_(room.with_only_columns(provider_id).correlate(None)))

    def with_one_of(self, names: Collection[str]) -> Part:
        """Return the providers that have one of these traits."""
        nodes = 0
        for name in names:
            nodes |= self._get('trait', name) | self._get('foreign', name)
        ids = sorted(self.search.holders[name].id for name in names if self.search.holders[name].clients)
        table = tables.resource_provider_traits.c
        having = sa.select(table.resource_provider_id).where(table.trait_id.in_(ids))
        return Part(self.nodes & nodes, tables.resource_providers.c.id.in_(having) if ids else sa.false())

    def without_in_tree(self, name: str) -> Part:
        """Return the providers in whose tree no provider has a trait."""
        if not self.search.nested:
            return self.without(self.with_one_of({name}))
        (condition,) = exclusive_conditions(self.search.holders, {name}, True)
        return self._part(condition)

    def members(self, aggregates: Collection[str]) -> Part:
        """Return the providers that are in one of these aggregates."""
        nodes = 0
        for uuid in aggregates:
            nodes |= self._get('aggregate', uuid)
        return Part(self.nodes & nodes, is_in(aggregates))

    def in_tree(self, uuid: str) -> Part:
        """Return the providers in a tree."""
        return self._part(in_tree(uuid))

    def _part(self, condition: Condition) -> Part:
        """Return the providers that fulfil a condition on providers."""
        if not self._view:
            return Part(0, condition)
        node_id = tables.resource_providers.c.node_id
        of_nodes = sa.select(node_id).where(condition, node_id.is_not(None))
        return Part(self.nodes & self._view.of_ids(self._view.connection.scalars(of_nodes)), condition)

    def _nodes_of(self, name: str) -> int:
        nodes = 0
        for each in self._view.values('resource_class') if self._view else ():
            if os_resource_classes.normalize_name(each) == name:
                nodes |= self._get('resource_class', each)
        return nodes

    def _get(self, *name: str) -> int:
        return self._view.get(*name) if self._view else 0

    def failing(self, parts: Sequence[Part]) -> Counter[int]:
        """Return how many providers fail which clauses.

        :param parts: of each clause, the Part that fulfils it.
        """
        conditions = [part.clients for part in parts]
        counts = masks.count(self.search.connection, self.clients, conditions)
        if self._view:
            counts += bitsets.failing(self.nodes, [part.nodes for part in parts], self._view.size)
        return counts


def _of_providers(providers: _Providers, figures: Figures) -> CandidateExplanation:
    """Explain a request whose candidates are one provider each."""
    every = list(clauses(providers.search.request))
    failing = providers.failing([clause.of(providers) for clause in every])
    explanation = Explanation([clause.name for clause in every], failing)
    fixed = sum(1 << bit for bit, clause in enumerate(every) if clause.key is None)
    # No relaxation makes candidates of providers that fail what a request needs.
    droppable = Explanation(explanation.clauses, Counter({m: n for m, n in failing.items() if not m & fixed}))
    return CandidateExplanation(
        'providers',
        explanation.considered,
        explanation.matched,
        explanation.rejected(),
        [{'drop': each['drop'], 'matched': each['nodes']} for each in droppable.relaxations()],
        figures,
        [],
    )


def _of_trees(search: Search) -> CandidateExplanation:
    """Explain a request whose candidates may be of several providers."""
    every = list(clauses(search.request))
    names = list(dict.fromkeys(clause.name for clause in every if clause.key))
    bits = {clause.key: 1 << names.index(clause.name) for clause in every if clause.key}
    trees = (
        _of_single_providers(search, bits) if _are_trees_single(search) else tree_relaxations.count_trees(search, bits)
    )

    counted = [(Alternatives(masks), number) for masks, number in trees.items()]

    def count(dropped: int) -> int:
        return sum(number for masks, number in counted if masks.has_part_of(dropped))

    matched, considered, whole = count(0), trees.total(), (1 << len(names)) - 1
    rejected = [considered - count(whole & ~(1 << bit)) for bit in range(len(names))]
    shown = [
        {'clause': name, 'rejected': number, 'rejected_only': count(1 << bit) - matched}
        for bit, (name, number) in enumerate(zip(names, rejected, strict=True))
        if is_shown(name, number)
    ]
    relaxations = [] if matched else _relaxations(trees)
    listed = [
        {'drop': [name for bit, name in enumerate(names) if mask >> bit & 1], 'matched': count(mask)}
        for mask in relaxations
    ]
    return CandidateExplanation(
        'trees', considered, matched, shown, listed, None, [_TOO_MANY] if search.tries.are_over else []
    )


def _are_trees_single(search: Search) -> bool:
    """Whether each tree is one provider of a client, which has to fulfil all groups."""
    groups = search.request.groups
    return not search.nested and not search.sharing and len(groups) > 1 and all(group.resources for group in groups)


def _of_single_providers(search: Search, bits: Mapping[Key, int]) -> Counter[frozenset[int]]:
    """As ``tree_relaxations.count_trees``, if each tree is one provider.

    No node fulfils several groups: it has one unit of one class. Clauses about several providers are fulfilled,
    except the one that groups need providers of their own.
    """
    providers = _Providers(search, None)
    providers.clients = inventory_usage.select_client_providers(
        {search.class_ids[name]: amount for name, amount in search.amounts.items()}
    )
    every = [(clause.key, clause.of(providers)) for clause in clauses(search.request) if clause.key]
    together = sum(bool(group.suffix) for group in search.request.groups) > 1
    fixed = bits.get(('group_policy', 0, None), 0) if together else 0
    trees: Counter[frozenset[int]] = Counter()
    for failed, number in providers.failing([part for _, part in every]).items():
        mask = fixed
        for place, (key, _) in enumerate(every):
            if failed >> place & 1:
                mask |= bits[key]
        trees[frozenset((mask,))] += number
    return trees


def _relaxations(trees: Counter[frozenset[int]]) -> list[int]:
    """Return the masks of the smallest sets of clauses without which a tree has a candidate, MAX_LISTED at most.

    No set contains another.

    :param trees: {minimal masks: number of trees}.
    """
    weights: Counter[int] = Counter()
    for alternatives, number in trees.items():
        for mask in alternatives:
            weights[mask] += number
    smallest = Alternatives()
    for mask in sorted(weights, key=lambda mask: (mask.bit_count(), -weights[mask], mask)):
        if not smallest.has_part_of(mask):
            smallest.add(mask)
            if len(smallest) == MAX_LISTED:
                break
    return list(smallest)
