"""Allocation candidates: the allocations that would fulfil a request.

One query for each group finds the providers that could fulfil it. ``matching.combinations`` combines them into
candidates, up to the limit. Only then the providers of these candidates are read in full.

A *sharing* provider has the trait MISC_SHARES_VIA_AGGREGATE: the trees of all providers in its aggregates can use its
inventories.
"""

import dataclasses
import functools
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.annotations import Condition
from ironic_traits.db.names import PREFIX
from ironic_traits.db.types import names_in
from ironic_traits.matching.combinations import Amount, Candidate, Collective, Groups, Option, Rules, Tries, combine
from ironic_traits.placement import capacity
from ironic_traits.placement import resource_classes as classes
from ironic_traits.placement import traits as provider_traits
from ironic_traits.placement.resource_providers import in_tree, is_in

#: The trait of sharing providers.
SHARES = 'MISC_SHARES_VIA_AGGREGATE'
#: Most values in one IN list of a statement.
_MAX_VALUES = 1000


@dataclasses.dataclass(frozen=True)
class Group:
    """One group of a request.

    :ivar suffix: '' for the group that several providers of a tree may fulfil together.
    :ivar resources: {resource class: amount}.
    :ivar required: [{trait, …}, …]: one trait of each set is required.
    :ivar forbidden: {trait, …}: none of them is allowed.
    :ivar member_of: [{uuid of an aggregate, …}, …]: membership in one aggregate of each set is required.
    :ivar not_member_of: {uuid of an aggregate, …}: membership in none of them is allowed.
    :ivar in_tree: uuid of a provider in whose tree the providers must be; None for any tree.
    """

    suffix: str
    resources: dict[str, int]
    required: Sequence[AbstractSet[str]]
    forbidden: AbstractSet[str]
    member_of: Sequence[AbstractSet[str]]
    not_member_of: AbstractSet[str]
    in_tree: str | None


@dataclasses.dataclass(frozen=True)
class Request:
    """A request for allocation candidates.

    :ivar groups: [Group, …].
    :ivar limit: most candidates to return; None for no limit.
    :ivar isolate: whether each group with a suffix needs a provider of its own (``group_policy=isolate``).
    :ivar root_required: (required, forbidden) traits of the root of a tree, in the form of a Group's; None for no
        requirement.
    :ivar subtrees: [{suffix, …}, …]: for each set, one of the providers of its groups must be the ancestor of the
        others (``same_subtree``).
    :ivar flat: whether to leave out candidates with two providers of one tree: for versions before nested providers.
    """

    groups: Sequence[Group]
    limit: int | None
    isolate: bool
    root_required: tuple[Sequence[AbstractSet[str]], AbstractSet[str]] | None
    subtrees: Sequence[AbstractSet[str]]
    flat: bool


@dataclasses.dataclass(frozen=True)
class Summary:
    """A provider of a tree from which a candidate takes resources.

    :ivar row: row of the provider.
    :ivar resources: its inventories, [row as of ``capacity.rows``, …].
    :ivar traits: [name, …], standard traits first, sorted.
    """

    row: sa.Row
    resources: Sequence[sa.Row]
    traits: list[str]


class Result(NamedTuple):
    """Allocation candidates.

    :ivar candidates: [({provider uuid: {resource class: amount}}, {suffix: [provider uuid, …]}), …], the allocations
        and the mappings of each.
    :ivar summaries: {provider uuid: Summary} of the trees that they take from.
    """

    candidates: list[tuple[dict[str, dict[str, int]], dict[str, list[str]]]]
    summaries: dict[str, Summary]


def find(context: Context, request: Request) -> Result:
    """Find allocation candidates.

    :param request: Request.
    :returns: Result.
    :raises failures.ResourceClassNotFound: a resource class does not exist.
    :raises failures.TraitNotFound: traits do not exist.
    """
    with context.read() as connection:
        search = _Search(connection, context.conf.placement, request)
        return search.shown(search.candidates())


class _Options(NamedTuple):
    """The options of a group.

    :ivar in_tree: function that yields the options in one tree.
    :ivar by_root: {uuid of the root of a tree: argument of the function}.
    """

    in_tree: Callable[[Any], Iterable[Option]]
    by_root: Mapping[str, Any]


class _Search:
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
        self.class_ids = classes.check(connection, {name for group in groups for name in group.resources})
        required, forbidden = request.root_required or ([], frozenset())
        trait_names = set().union(*required, forbidden)
        for group in groups:
            trait_names = trait_names.union(*group.required, group.forbidden)
        self.trait_ids = provider_traits.check(connection, trait_names)
        self.sharing = self._sharing()
        children = sa.exists().where(tables.resource_providers.c.parent_provider_uuid.is_not(None))
        #: Whether any provider has a parent.
        self.nested = bool(connection.scalar(sa.select(children)))
        self.tries = Tries(conf.max_candidate_combinations)
        #: {resource class: what all groups request of it together}.
        self.amounts: Counter[str] = Counter()
        for group in groups:
            self.amounts.update(group.resources)
        #: {provider id: row with ``id``, ``uuid`` and ``root_provider_uuid``}.
        self.providers: dict[int, sa.Row] = {}
        #: [(group without its suffix, result of ``_rows_by_root``), …].
        self.rows_of_groups: list[tuple[Group, dict[str, list[sa.Row]]]] = []

    def candidates(self) -> list[Candidate]:
        """Return [matching.combinations.Candidate, …], up to the limit of the request and the configuration."""
        limits = [each for each in (self.request.limit, self.conf.max_allocation_candidates) if each and each > 0]
        limit = min(limits, default=None)
        if self.conf.randomize_allocation_candidates:
            candidates = list(self._all(self.conf.max_allocation_candidates))
            random.shuffle(candidates)
            return candidates[:limit]
        candidates = []
        for candidate in self._all(limit):
            candidates.append(candidate)
            if limit and len(candidates) >= limit:
                break
        return candidates

    def _all(self, limit: int | None) -> Iterator[Candidate]:
        """Yield candidates. ``limit`` allows the query to stop early; it does not limit what is yielded."""
        groups = self.request.groups
        # Without nested or sharing providers, and with one group, each provider that the query returns is a candidate.
        # So the query can have the limit.
        enough = limit if len(groups) == 1 and not (self.nested or self.sharing) else None
        options: list[_Options] = []
        common: AbstractSet[str] | None = None
        for group in groups:
            options.append(self._options(group, enough))
            roots = options[-1].by_root.keys()
            common = roots if common is None else common & roots
            if not common:
                return
        by_turns = self.conf.allocation_candidates_generation_strategy == 'breadth-first'
        for candidate in combine(self._trees(options), self._rules(), by_turns):
            if not (self.request.flat and self.nested and self._shares_a_tree(candidate)):
                yield candidate

    def _trees(self, options: list[_Options]) -> Iterator[Groups]:
        """Yield, for each tree in which all groups have options, the functions that return the options of each group.

        :param options: [result of ``_options``, …], one of each group.
        """
        roots = self._roots()
        for root in options[0].by_root:
            if (roots is None or root in roots) and all(root in each.by_root for each in options):
                yield [functools.partial(each.in_tree, each.by_root[root]) for each in options]

    def _rules(self) -> Rules:
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

    def _options(self, group: Group, enough: int | None) -> _Options:
        """Find the options of a group.

        :param group: Group.
        :param enough: most providers to read; None for all.
        """
        if group.suffix or not (self.nested or self.sharing):
            return self._options_of_one(group, enough)
        return self._options_of_trees(group)

    def _options_of_one(self, group: Group, enough: int | None) -> _Options:
        """Return the options of a group that one provider fulfils; parameters and result as for ``_options``.

        The Option objects are created only when their tree is tried: of thousands of trees, a limit leaves few.
        """
        amounts = [(self.class_ids[name], amount) for name, amount in group.resources.items()]

        def options(rows: Iterable[sa.Row]) -> Iterator[Option]:
            for row in rows:
                taken = tuple(Amount(row.id, class_id, amount) for class_id, amount in amounts)
                yield Option(group.suffix, frozenset((row.id,)), taken)

        return _Options(options, self._rows_by_root(group, enough))

    def _rows_by_root(self, group: Group, enough: int | None) -> dict[str, list[sa.Row]]:
        """Return the providers that fulfil a group.

        The query runs once for groups that differ in their suffix only.

        :returns: {uuid of a root: [row as of ``_rows``, …]}.
        """
        requirements = dataclasses.replace(group, suffix='')
        for other, by_root in self.rows_of_groups:
            if other == requirements:
                return by_root
        by_root = defaultdict(list)
        for row in self._rows([*self._conditions(group), *self._room_for_all(group)], enough):
            for root in self._trees_of(row) if self.sharing else (row.root_provider_uuid,):
                by_root[root].append(row)
        self.rows_of_groups.append((requirements, by_root))
        return by_root

    def _trees_of(self, row: sa.Row) -> Collection[str]:
        """Return the roots of the trees that can use a provider: its own, and those that it shares with."""
        return {row.root_provider_uuid, *self.sharing[row.id]} if row.id in self.sharing else (row.root_provider_uuid,)

    def _room_for_all(self, group: Group) -> list[Condition]:
        """Return the conditions on providers that a provider has room for the requests of all groups together.

        They apply without nested or sharing providers only, when one provider has to fulfil all groups. Without these
        conditions, thousands of providers would be tried one by one.
        """
        if self.nested or self.sharing:
            return []
        return [
            capacity.has_room(self.class_ids[name], self.amounts[name])
            for name in group.resources
            if self.amounts[name] > group.resources[name]
        ]

    def _conditions(self, group: Group) -> Iterator[Condition]:
        """Yield the conditions on providers that a provider fulfils a group alone."""
        for name, amount in group.resources.items():
            yield capacity.has_room(self.class_ids[name], amount)
        yield from self._trait_conditions(group.required, group.forbidden)
        for one_of in group.member_of:
            yield is_in(one_of)
        if group.not_member_of:
            yield ~is_in(group.not_member_of)
        if group.in_tree:
            yield in_tree(group.in_tree)

    def _trait_conditions(
        self, required: Sequence[AbstractSet[str]], forbidden: AbstractSet[str]
    ) -> Iterator[Condition]:
        for one_of in required:
            yield provider_traits.has_one_of(self.trait_ids, one_of)
        if forbidden:
            yield ~provider_traits.has_one_of(self.trait_ids, forbidden)

    def _options_of_trees(self, group: Group) -> _Options:
        """Return the options of a group that several providers of a tree, and those that share with it, may fulfil.

        :returns: as for ``_options``.
        """
        amounts = {self.class_ids[name]: amount for name, amount in group.resources.items()}
        with_forbidden = (
            self._ids(provider_traits.has_one_of(self.trait_ids, group.forbidden)) if group.forbidden else ()
        )
        members = self._uuids(*map(is_in, group.member_of)) if group.member_of else None
        excluded = self._uuids(is_in(group.not_member_of)) if group.not_member_of else set()
        trees: dict[str, dict] = defaultdict(dict)
        for class_id, amount in amounts.items():
            conditions = [capacity.has_room(class_id, amount)] + ([in_tree(group.in_tree)] if group.in_tree else [])
            for row in self._rows(conditions):
                if row.id in with_forbidden:
                    continue
                # A sharing provider must be a member of the aggregates itself. For a provider in the tree, it is enough
                # that the root is a member.
                shares = not group.in_tree and (members is None or row.uuid in members)
                for root in self._trees_of(row) if shares else (row.root_provider_uuid,):
                    if row.uuid in excluded or root in excluded:
                        continue
                    if members is None or row.uuid in members or root in members:
                        trees[root].setdefault(class_id, []).append(row.id)
        fulfilled = defaultdict(set)
        for clause, one_of in enumerate(group.required):
            for provider_id in self._ids(provider_traits.has_one_of(self.trait_ids, one_of)):
                fulfilled[provider_id].add(clause)
        together = Collective(amounts, frozenset(range(len(group.required))), fulfilled, self.tries)
        return _Options(together.options, trees)

    def _rows(self, conditions: Iterable[Condition], limit: int | None = None) -> Sequence[sa.Row]:
        """Return the providers that fulfil conditions, and keep them in ``providers``.

        :param conditions: on resource_providers.
        :param limit: most rows; None or a negative number for no limit.
        :returns: [row with ``id``, ``uuid`` and ``root_provider_uuid``, …].
        """
        columns = (
            tables.resource_providers.c.id,
            tables.resource_providers.c.uuid,
            tables.resource_providers.c.root_provider_uuid,
        )
        statement = sa.select(*columns).where(*conditions).order_by(tables.resource_providers.c.id)
        if limit and limit > 0:
            statement = statement.where(*self._root_conditions()).limit(limit)
        rows = self.connection.execute(statement).all()
        self.providers.update({row.id: row for row in rows})
        return rows

    def _ids(self, condition: Condition) -> set[int]:
        return set(self.connection.scalars(sa.select(tables.resource_providers.c.id).where(condition)))

    def _uuids(self, *conditions: Condition) -> set[str]:
        return set(self.connection.scalars(sa.select(tables.resource_providers.c.uuid).where(*conditions)))

    def _roots(self) -> set[str] | None:
        """Return the set of uuids of the roots that fulfil ``root_required``; None for all roots."""
        return None if self.request.root_required is None else self._uuids(*self._root_conditions())

    def _root_conditions(self) -> list[Condition]:
        if self.request.root_required is None:
            return []
        root = tables.resource_providers.c.parent_provider_uuid.is_(None)
        return [root, *self._trait_conditions(*self.request.root_required)]

    def _sharing(self) -> dict[int, set[str]]:
        """Return the trees that each sharing provider shares with.

        :returns: {id of a sharing provider: {uuid of the root of a provider in one of its aggregates, …}}.
        """
        ids = provider_traits.ids(self.connection, [SHARES])
        if not ids:
            return {}
        shares = provider_traits.has_one_of(ids, [SHARES])
        mine, theirs = tables.resource_provider_aggregates.alias(), tables.resource_provider_aggregates.alias()
        others = tables.resource_providers.alias()
        sharing: dict[int, set[str]] = {provider_id: set() for provider_id in self._ids(shares)}
        if not sharing:
            return {}
        # SELECT DISTINCT mine.resource_provider_id, others.root_provider_uuid
        # FROM resource_provider_aggregates AS mine
        # JOIN resource_provider_aggregates AS theirs ON theirs.aggregate_uuid = mine.aggregate_uuid
        # JOIN resource_providers AS others ON others.id = theirs.resource_provider_id
        # WHERE mine.resource_provider_id IN (SELECT id FROM resource_providers WHERE HAS THE TRAIT)
        statement = (
            sa.select(mine.c.resource_provider_id, others.c.root_provider_uuid)
            .join(theirs, theirs.c.aggregate_uuid == mine.c.aggregate_uuid)
            .join(others, others.c.id == theirs.c.resource_provider_id)
            .where(mine.c.resource_provider_id.in_(sa.select(tables.resource_providers.c.id).where(shares)))
            .distinct()
        )
        for row in self.connection.execute(statement):
            sharing[row.resource_provider_id].add(row.root_provider_uuid)
        # A provider without an aggregate, or alone in its aggregates, shares with no other tree.
        return {provider_id: roots for provider_id, roots in sharing.items() if len(roots) > 1}

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
        """Return candidates with uuids and names in place of ids, and summaries of the trees that they take from.

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
        roots = sorted({self.providers[provider_id].root_provider_uuid for provider_id in used})
        summaries: dict[str, Summary] = {}
        for begin in range(0, len(roots), _MAX_VALUES):
            summaries |= self._summaries(
                tables.resource_providers.c.root_provider_uuid.in_(roots[begin : begin + _MAX_VALUES])
            )
        if self.request.flat and self.nested:
            kept = {self.providers[provider_id].uuid for provider_id in used}
            summaries = {uuid: summary for uuid, summary in summaries.items() if uuid in kept}
        return Result(shown, summaries)

    def _summaries(self, condition: Condition) -> dict[str, Summary]:
        inventories = defaultdict(list)
        for row in capacity.rows(self.connection, condition):
            inventories[row.provider_id].append(row)
        names = defaultdict(list)
        statement = _FOREIGN.where(condition).union_all(_OWN.where(condition))
        for row in self.connection.execute(statement):
            names[row.id].extend(row.traits)
        rows = self.connection.execute(sa.select(tables.resource_providers).where(condition))
        return {row.uuid: Summary(row, inventories[row.id], sorted(names[row.id], key=_standard_first)) for row in rows}


def _standard_first(name: str) -> tuple[bool, str]:
    return name.startswith(PREFIX), name


#: SELECT the traits of providers: _FOREIGN those that clients have set, _OWN those of nodes.
_FOREIGN = (
    sa.select(tables.resource_providers.c.id, names_in(tables.traits.c.name).label('traits'))
    .join(
        tables.resource_provider_traits,
        tables.resource_provider_traits.c.resource_provider_id == tables.resource_providers.c.id,
    )
    .join(tables.traits, tables.traits.c.id == tables.resource_provider_traits.c.trait_id)
    .group_by(tables.resource_providers.c.id)
)
_OWN = (
    sa.select(tables.resource_providers.c.id, names_in(tables.node_traits.c.trait).label('traits'))
    .join(tables.node_traits, tables.node_traits.c.node_id == tables.resource_providers.c.node_id)
    .group_by(tables.resource_providers.c.id)
)
