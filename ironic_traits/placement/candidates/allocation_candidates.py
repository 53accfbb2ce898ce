"""Allocation candidates: the allocations that would fulfil a request.

One query for each group finds the providers that could fulfil it. ``matching.combinations`` combines them into
candidates, up to the limit. Only then the providers of these candidates are read in full.

Most requests are about one unit of a node. Each node that fulfils such a request is a candidate by itself, and the
limit ends the query (``plain_candidates``, ``node_candidates``).
"""

import dataclasses
import functools
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.matching.combinations import Amount, Candidate, Collective, Groups, Option, Rules, Tries, combine
from ironic_traits.placement import capacity
from ironic_traits.placement import traits as provider_traits
from ironic_traits.placement.candidates import candidate_facts, candidate_summaries, plain_candidates, sharing
from ironic_traits.placement.candidates.candidate_requests import Group, Request
from ironic_traits.placement.candidates.candidate_summaries import Summary
from ironic_traits.placement.candidates.plain_candidates import requirements, root_conditions
from ironic_traits.placement.resource_providers import in_tree, is_in
from ironic_traits.placement.trait_cache import TraitCache


class Singles(NamedTuple):
    """Allocation candidates that are one provider each.

    :ivar group: the group of the request.
    :ivar summaries: [(uuid of the provider, Summary), …] of the candidates.
    """

    group: Group
    summaries: list[tuple[str, Summary]]


class Result(NamedTuple):
    """Allocation candidates.

    :ivar candidates: [({provider uuid: {resource class: amount}}, {suffix: [provider uuid, …]}), …], the allocations
        and the mappings of each.
    :ivar summaries: {provider uuid: Summary} of the trees that they take from.
    """

    candidates: list[tuple[dict[str, dict[str, int]], dict[str, list[str]]]]
    summaries: dict[str, Summary]


def find(context: Context, request: Request) -> Result | Singles:
    """Find allocation candidates.

    :param request: Request.
    :returns: Singles if a candidate is one provider, because there are neither trees nor several groups.
    :raises failures.ResourceClassNotFound: a resource class does not exist.
    :raises failures.TraitNotFound: traits do not exist.
    """
    with context.read() as connection:
        search = Search(connection, context.conf.placement, request)
        return search.plain(context.service.trait_cache) if search.is_plain else search.shown(search.candidates())


class _Options(NamedTuple):
    """The options of a group.

    :ivar in_tree: function that yields the options in one tree.
    :ivar by_root: {uuid of the root of a tree: argument of the function}.
    """

    in_tree: Callable[[Any], Iterable[Option]]
    by_root: Mapping[str, Any]


class Search:
    """One search, with its intermediate results.

    :param connection: for reading.
    :param conf: the options of [placement].
    :param request: Request.
    :raises failures.ResourceClassNotFound: a resource class does not exist.
    :raises failures.TraitNotFound: traits do not exist.
    """

    def __init__(self, connection: sa.Connection, conf: Any, request: Request) -> None:
        self.connection = connection
        self.conf = conf
        self.request = request
        groups = request.groups
        required, forbidden = request.root_required or ((), frozenset())
        trait_names = set().union(*required, forbidden)
        for group in groups:
            trait_names = trait_names.union(*group.required, group.forbidden)
        class_names = {name for group in groups for name in group.resources}
        self.facts = candidate_facts.read(connection, class_names, trait_names)
        self.class_ids, self.holders = self.facts.class_ids, self.facts.holders
        self.sharing = sharing.roots_of_sharing(connection) if self.facts.aggregated else {}
        #: Whether any provider has a parent.
        self.nested = self.facts.nested
        self.tries = Tries(conf.max_candidate_combinations)
        #: {resource class: what all groups request of it together}.
        self.amounts: Counter[str] = Counter()
        for group in groups:
            self.amounts.update(group.resources)
        #: {provider id: row with ``id``, ``uuid`` and ``root_provider_uuid``}.
        self.providers: dict[int, sa.Row] = {}
        #: [(group without its suffix, result of ``_rows_by_root``), …].
        self.rows_of_groups: list[tuple[Group, dict[str, list[sa.Row]]]] = []
        #: Whether a candidate is one provider. Then each row of a query is a candidate, and the query can have a limit.
        self.is_plain = len(groups) == 1 and not (self.nested or self.sharing)
        #: Whether the free nodes that fulfil the request are candidates by themselves, whatever else there is.
        self.nodes_suffice = len(groups) == 1 and list(self.amounts.values()) == [1] and not self.sharing
        #: The limit of the request and of the configuration; None for no limit.
        self.limit = min(
            (each for each in (request.limit, conf.max_allocation_candidates) if each and each > 0), default=None
        )

    def plain(self, cache: TraitCache) -> Singles:
        """Return the Singles if a candidate is one provider."""
        found = plain_candidates.find(self.connection, self._plain(self._limit_of_queries), cache)
        if self.conf.randomize_allocation_candidates:
            random.shuffle(found)
        return Singles(self.request.groups[0], found[: self.limit])

    def _plain(self, limit: int | None) -> plain_candidates.Search:
        """Return the search for candidates that are one provider each."""
        request, facts = self.request, self.facts
        items = tuple(facts.class_ids.items()), tuple(sorted(facts.holders.items())), tuple(facts.node_classes)
        dialect, (group,) = self.connection.dialect.name, request.groups
        return plain_candidates.Search(dialect, group, request.root_required, *items, limit)

    @property
    def _limit_of_queries(self) -> int | None:
        """How many candidates to read: to choose some of them at random, all that the configuration allows."""
        most = self.conf.max_allocation_candidates
        return (most if most > 0 else None) if self.conf.randomize_allocation_candidates else self.limit

    def candidates(self) -> list[Candidate]:
        """Return [matching.combinations.Candidate, …], up to the limit of the request and the configuration."""
        if self.conf.randomize_allocation_candidates:
            candidates = list(self._all(self._limit_of_queries))
            random.shuffle(candidates)
            return candidates[: self.limit]
        return list(itertools.islice(self._all(self.limit), self.limit))

    def _all(self, limit: int | None) -> Iterator[Candidate]:
        """Yield candidates. ``limit`` allows a query to stop early; it does not limit what is yielded."""
        if self.nodes_suffice:
            yield from self._nodes(limit)
        groups = self.request.groups
        options: list[_Options] = []
        common: AbstractSet[str] | None = None
        for group in groups:
            options.append(self._options(group))
            roots = options[-1].by_root.keys()
            common = roots if common is None else common & roots
            if not common:
                return
        by_turns = self.conf.allocation_candidates_generation_strategy == 'breadth-first'
        for candidate in combine(self._trees(options), self.rules(), by_turns):
            if not (self.request.flat and self.nested and self._shares_a_tree(candidate)):
                yield candidate

    def _nodes(self, limit: int | None) -> Iterator[Candidate]:
        """Yield the candidates that are one free node."""
        (group,) = self.request.groups
        for statement in plain_candidates.free_nodes(self._plain(limit)):
            for row in self.read(statement):
                amounts = frozenset(((row.id, class_id), 1) for class_id in self.class_ids.values())
                yield Candidate(amounts, frozenset(((group.suffix, frozenset((row.id,))),)))

    def _trees(self, options: list[_Options]) -> Iterator[Groups]:
        """Yield, for each tree in which all groups have options, the functions that return the options of each group.

        :param options: [result of ``_options``, …], one of each group.
        """
        roots = self._roots()
        for root in options[0].by_root:
            if (roots is None or root in roots) and all(root in each.by_root for each in options):
                yield [functools.partial(each.in_tree, each.by_root[root]) for each in options]

    def rules(self) -> Rules:
        names = [name for group in self.request.groups for name in group.resources]
        repeated = {self.class_ids[name] for name in names if names.count(name) > 1}
        rooms = {}
        if repeated:
            for row in capacity.rows(self.connection, tables.resource_classes.c.id.in_(repeated)):
                left = capacity.units(row) - int(row.used)
                rooms[row.provider_id, row.class_id] = (left, row.max_unit)
        above = self._above() if self.request.subtrees else {}
        return Rules(
            isolate=self.request.isolate,
            rooms=rooms,
            subtrees=self.request.subtrees,
            above=above,
            tries=self.tries,
        )

    def _options(self, group: Group) -> _Options:
        """Find the options of a group."""
        if group.suffix or not (self.nested or self.sharing):
            return self._options_of_one(group)
        return self._options_of_trees(group)

    def _options_of_one(self, group: Group) -> _Options:
        """Return the options of a group that one provider fulfils.

        The Option objects are created only when their tree is tried: of thousands of trees, a limit leaves few.
        """
        amounts = [(self.class_ids[name], amount) for name, amount in group.resources.items()]

        def options(rows: Iterable[sa.Row]) -> Iterator[Option]:
            for row in rows:
                taken = tuple(Amount(row.id, class_id, amount) for class_id, amount in amounts)
                yield Option(group.suffix, frozenset((row.id,)), taken)

        return _Options(options, self._rows_by_root(group))

    def _rows_by_root(self, group: Group) -> dict[str, list[sa.Row]]:
        """Return the providers that fulfil a group.

        The query runs once for groups that differ in their suffix only.

        :returns: {uuid of a root: [row as of ``rows``, …]}.
        """
        same = dataclasses.replace(group, suffix='')
        for other, by_root in self.rows_of_groups:
            if other == same:
                return by_root
        by_root = defaultdict(list)
        for row in self.rows(self.amounts_of(group), list(requirements(self.holders, group))):
            for root in self.trees_of(row) if self.sharing else (row.root_provider_uuid,):
                by_root[root].append(row)
        self.rows_of_groups.append((same, by_root))
        return by_root

    def trees_of(self, row: sa.Row) -> Collection[str]:
        """Return the roots of the trees that can use a provider: its own, and those that it shares with."""
        return {row.root_provider_uuid, *self.sharing[row.id]} if row.id in self.sharing else (row.root_provider_uuid,)

    def amounts_of(self, group: Group) -> dict[int, int]:
        """Return {class id: amount} for which a provider must have room to fulfil a group.

        Without nested or sharing providers, one provider has to fulfil all groups. So it must have room for the
        requests of all groups together. Otherwise, thousands of providers would be tried one by one.
        """
        together = not (self.nested or self.sharing)
        return {
            self.class_ids[name]: self.amounts[name] if together else amount for name, amount in group.resources.items()
        }

    def _options_of_trees(self, group: Group) -> _Options:
        """Return the options of a group that several providers of a tree, and those that share with it, may fulfil.

        :returns: as for ``_options``.
        """
        amounts = {self.class_ids[name]: amount for name, amount in group.resources.items()}
        with_forbidden = self.with_one_of(group.forbidden) if group.forbidden else ()
        members = self.uuids(*map(is_in, group.member_of)) if group.member_of else None
        excluded = self.uuids(is_in(group.not_member_of)) if group.not_member_of else set()
        trees: dict[str, dict] = defaultdict(dict)
        for class_id, amount in amounts.items():
            conditions = [in_tree(group.in_tree)] if group.in_tree else []
            for row in self.rows({class_id: amount}, conditions):
                if row.id in with_forbidden:
                    continue
                # A sharing provider must be a member of the aggregates itself. For a provider in the tree, it is enough
                # that the root is a member.
                shares = not group.in_tree and (members is None or row.uuid in members)
                for root in self.trees_of(row) if shares else (row.root_provider_uuid,):
                    if row.uuid in excluded or root in excluded:
                        continue
                    if members is None or row.uuid in members or root in members:
                        trees[root].setdefault(class_id, []).append(row.id)
        fulfilled = defaultdict(set)
        for clause, one_of in enumerate(group.required):
            for provider_id in self.with_one_of(one_of):
                fulfilled[provider_id].add(clause)
        together = Collective(amounts, frozenset(range(len(group.required))), fulfilled, self.tries)
        return _Options(together.options, trees)

    def rows(self, amounts: dict[int, int], conditions: Collection[Condition]) -> Sequence[sa.Row]:
        """Return the providers that have room and fulfil conditions, and keep them in ``providers``.

        Without the nodes, if they are candidates by themselves.

        :param amounts: {class id: amount}; empty for any providers.
        :param conditions: on resource_providers.
        :returns: [row with ``id``, ``uuid`` and ``root_provider_uuid``, …], sorted by id.
        """
        statements = capacity.with_room(amounts, nodes=not self.nodes_suffice)
        both = sa.union_all(*(statement.where(*conditions) for statement in statements))
        return self.read(both.order_by('id'))

    def read(self, statement: sa.Select | sa.CompoundSelect) -> Sequence[sa.Row]:
        rows = self.connection.execute(statement).all()
        self.providers.update({row.id: row for row in rows})
        return rows

    def with_one_of(self, trait_names: Collection[str]) -> set[int]:
        """Return the ids of the providers that have one of these traits."""
        has_one = provider_traits.conditions(self.holders, [trait_names])
        return set(self.connection.scalars(sa.select(tables.resource_providers.c.id).where(*has_one)))

    def uuids(self, *conditions: Condition) -> set[str]:
        return set(self.connection.scalars(sa.select(tables.resource_providers.c.uuid).where(*conditions)))

    def _roots(self) -> set[str] | None:
        """Return the set of uuids of the roots that fulfil ``root_required``; None for all roots."""
        required = self.request.root_required
        return None if required is None else self.uuids(*root_conditions(self.holders, required))

    def _above(self) -> dict[int, int]:
        """Return {id of a provider: id of its parent}."""
        child, parent = tables.resource_providers, tables.resource_providers.alias()
        columns = child.c.id, parent.c.id.label('parent_id')
        statement = sa.select(*columns).join(parent, parent.c.uuid == child.c.parent_provider_uuid)
        return {row.id: row.parent_id for row in self.connection.execute(statement)}

    def _shares_a_tree(self, candidate: Candidate) -> bool:
        """Whether a candidate takes from two providers of one tree."""
        taken = {provider_id for (provider_id, _), _ in candidate.amounts}
        return len({self.providers[provider_id].root_provider_uuid for provider_id in taken}) < len(taken)

    def shown(self, candidates: Sequence[Candidate]) -> Result:
        """Return candidates with uuids and names instead of ids, and summaries of the trees that they take from.

        :param candidates: [matching.combinations.Candidate, …].
        :returns: Result.
        """
        names = {class_id: name for name, class_id in self.class_ids.items()}
        shown = []
        for candidate in candidates:
            allocations: dict[str, dict] = {}
            for (provider_id, class_id), amount in candidate.amounts:
                allocations.setdefault(self.providers[provider_id].uuid, {})[names[class_id]] = amount
            mappings = {
                suffix: sorted(self.providers[provider_id].uuid for provider_id in providers)
                for suffix, providers in candidate.mappings
            }
            shown.append((allocations, mappings))
        used = {provider_id for candidate in candidates for (provider_id, _), _ in candidate.amounts}
        roots = {self.providers[provider_id].root_provider_uuid for provider_id in used}
        summaries = candidate_summaries.of_trees(self.connection, roots)
        if self.request.flat and self.nested:
            kept = {self.providers[provider_id].uuid for provider_id in used}
            summaries = {uuid: summary for uuid, summary in summaries.items() if uuid in kept}
        return Result(shown, summaries)
