"""Allocation candidates of trees, and of requests with several groups.

One query for each group finds the providers that could fulfil it. ``matching.combinations`` combines them into
candidates.
"""

import dataclasses
import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.matching.combinations import (
    Candidate,
    Collective,
    CombinationRules,
    Groups,
    Option,
    ProviderAmount,
    combine,
)
from ironic_traits.placement import inventory_usage
from ironic_traits.placement.candidates.candidate_requests import CandidateGroup
from ironic_traits.placement.candidates.candidate_search import Search
from ironic_traits.placement.candidates.plain_candidates import exclusive_conditions, requirements, root_conditions
from ironic_traits.placement.resource_providers import in_tree, is_in


class _Options(NamedTuple):
    """The options of a group.

    :ivar in_tree: function that yields the options in one tree.
    :ivar by_root: {uuid of the root of a tree: argument of the function}.
    """

    in_tree: Callable[[Any], Iterable[Option]]
    by_root: Mapping[str, Any]


class Trees:
    """The trees of providers in which a search looks for candidates."""

    def __init__(self, search: Search) -> None:
        self._search = search
        #: [(group without its suffix, result of ``_rows_by_root``), …].
        self._rows_of_groups: list[tuple[CandidateGroup, dict[str, list[sa.Row]]]] = []
        self._exclusive = exclusive_conditions(search.holders, search.request.exclusive, search.nested)

    def candidates(self, by_turns: bool) -> Iterator[Candidate]:
        """Yield the candidates.

        :param by_turns: whether trees give one candidate each in turn, instead of all candidates of one tree first.
        """
        search = self._search
        options: list[_Options] = []
        common: AbstractSet[str] | None = None
        for group in search.request.groups:
            options.append(self._options(group))
            roots = options[-1].by_root.keys()
            common = roots if common is None else common & roots
            if not common:
                return
        for candidate in combine(self._trees(options), rules(search), by_turns):
            if not (search.request.flat and search.nested and self._shares_a_tree(candidate)):
                yield candidate

    def _trees(self, options: list[_Options]) -> Iterator[Groups]:
        """Yield, for each tree in which all groups have options, the functions that return the options of each group.

        :param options: [result of ``_options``, …], one of each group.
        """
        roots = self._roots()
        for root in options[0].by_root:
            if (roots is None or root in roots) and all(root in each.by_root for each in options):
                yield [functools.partial(each.in_tree, each.by_root[root]) for each in options]

    def _options(self, group: CandidateGroup) -> _Options:
        """Find the options of a group."""
        if group.suffix or not (self._search.nested or self._search.sharing):
            return self._options_of_one(group)
        return self._options_of_trees(group)

    def _options_of_one(self, group: CandidateGroup) -> _Options:
        """Return the options of a group that one provider fulfils.

        The Option objects are created only when their tree is tried: of thousands of trees, a limit leaves few.
        """
        amounts = [(self._search.class_ids[name], amount) for name, amount in group.resources.items()]

        def options(rows: Iterable[sa.Row]) -> Iterator[Option]:
            for row in rows:
                taken = tuple(ProviderAmount(row.id, class_id, amount) for class_id, amount in amounts)
                yield Option(group.suffix, frozenset((row.id,)), taken)

        return _Options(options, self._rows_by_root(group))

    def _rows_by_root(self, group: CandidateGroup) -> dict[str, list[sa.Row]]:
        """Return the providers that fulfil a group.

        The query runs once for groups that differ in their suffix only.

        :returns: {uuid of a root: [row as of ``rows``, …]}.
        """
        same = dataclasses.replace(group, suffix='')
        for other, by_root in self._rows_of_groups:
            if other == same:
                return by_root
        by_root = defaultdict(list)
        conditions = [*requirements(self._search.holders, group), *self._exclusive]
        for row in self._search.rows(self._search.amounts_of(group), conditions):
            for root in self._search.trees_of(row) if self._search.sharing else (row.root_provider_uuid,):
                by_root[root].append(row)
        self._rows_of_groups.append((same, by_root))
        return by_root

    def _options_of_trees(self, group: CandidateGroup) -> _Options:
        """Return the options of a group that several providers of a tree, and those that share with it, may fulfil.

        :returns: as for ``_options``.
        """
        amounts = {self._search.class_ids[name]: amount for name, amount in group.resources.items()}
        with_forbidden = self._search.with_one_of(group.forbidden) if group.forbidden else ()
        members = self._search.uuids(*map(is_in, group.member_of)) if group.member_of else None
        excluded = self._search.uuids(is_in(group.not_member_of)) if group.not_member_of else set()
        trees: dict[str, dict] = defaultdict(dict)
        for class_id, amount in amounts.items():
            conditions = [in_tree(group.in_tree)] if group.in_tree else []
            for row in self._search.rows({class_id: amount}, [*conditions, *self._exclusive]):
                if row.id in with_forbidden:
                    continue
                # A sharing provider must be a member of the aggregates itself. For a provider in the tree, it is enough
                # that the root is a member.
                shares = not group.in_tree and (members is None or row.uuid in members)
                for root in self._search.trees_of(row) if shares else (row.root_provider_uuid,):
                    if row.uuid in excluded or root in excluded:
                        continue
                    if members is None or row.uuid in members or root in members:
                        trees[root].setdefault(class_id, []).append(row.id)
        fulfilled = defaultdict(set)
        for clause, one_of in enumerate(group.required):
            for provider_id in self._search.with_one_of(one_of):
                fulfilled[provider_id].add(clause)
        together = Collective(amounts, frozenset(range(len(group.required))), fulfilled, self._search.tries)
        return _Options(together.options, trees)

    def _roots(self) -> set[str] | None:
        """Return the set of uuids of the roots that fulfil ``root_required``; None for all roots."""
        required = self._search.request.root_required
        return None if required is None else self._search.uuids(*root_conditions(self._search.holders, required))

    def _shares_a_tree(self, candidate: Candidate) -> bool:
        """Whether a candidate takes from two providers of one tree."""
        taken = {provider_id for (provider_id, _), _ in candidate.amounts}
        return len({self._search.providers[provider_id].root_provider_uuid for provider_id in taken}) < len(taken)


def rules(search: Search) -> CombinationRules:
    """Return the rules for combinations of options."""
    names = [name for group in search.request.groups for name in group.resources]
    repeated = {search.class_ids[name] for name in names if names.count(name) > 1}
    rooms = {}
    if repeated:
        for row in inventory_usage.rows(search.connection, tables.resource_classes.c.id.in_(repeated)):
            left = inventory_usage.units(row) - int(row.used)
            rooms[row.provider_id, row.class_id] = (left, row.max_unit)
    above = _above(search.connection) if search.request.subtrees else {}
    return CombinationRules(
        isolate=search.request.isolate,
        rooms=rooms,
        subtrees=search.request.subtrees,
        above=above,
        tries=search.tries,
    )


def _above(connection: sa.Connection) -> dict[int, int]:
    """Return {id of a provider: id of its parent}."""
    child, parent = tables.resource_providers, tables.resource_providers.alias()
    columns = child.c.id, parent.c.id.label('parent_id')
    statement = sa.select(*columns).join(parent, parent.c.uuid == child.c.parent_provider_uuid)
    return {row.id: row.parent_id for row in connection.execute(statement)}
