"""Finds the nodes for a request with a topology, without locking them.

The nodes come from the index of nodes, if this process has it or there are very many nodes, and otherwise from one
statement. How many of them are taken of which groups, ``matching.group_choice`` decides.
"""

import contextlib
import functools
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.inventory.core.eligibility import ELIGIBLE, eligible_for
from ironic_traits.inventory.search import matches, node_groups, node_index, related_nodes
from ironic_traits.inventory.search.index_nodes import Nodes
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.inventory.search.node_index import View
from ironic_traits.matching import topology
from ironic_traits.matching.group_choice import Situation
from ironic_traits.matching.group_limits import Cell
from ironic_traits.matching.topology import AFFINITY, FULLEST, SOFT, Policy, Report

_Numbers = Sequence[Mapping[str, int]]


class GroupedNode(NamedTuple):
    """A node that is chosen.

    :ivar cell: its group for each policy.
    """

    id: int
    uuid: str
    cell: Cell


class Share(NamedTuple):
    """How many of the nodes in a group are free."""

    free: int
    all: int

    def rank(self, prefer: str) -> tuple[float, int]:
        """Return a sort key: the preferred groups come first. For equal shares, the number of nodes decides."""
        sign = 1 if prefer == FULLEST else -1
        return sign * self.free / max(self.all, 1), sign * self.free


class _Candidates(Protocol):
    """The free nodes that match a request."""

    @property
    def cells(self) -> Mapping[Cell, int]:
        """{cell: number of nodes}. The cells may lack groups."""

    def shares(self, place: int) -> Mapping[str | None, Share]:
        """Return {group: Share} of the groups of a policy."""

    def scores(self, count: int) -> Mapping[Cell, int]:
        """Return {cell: sum of the scores of its best ``count`` nodes}, without zeros."""

    def nodes(self, cell: Cell, number: int) -> list[GroupedNode]:
        """Return the best nodes of a cell."""

    def place(self, cell: Cell) -> Any:
        """Return a sort key that decides between equal cells."""

    def best(self, count: int) -> dict[Cell, int] | None:
        """Return {cell: number of nodes} of the best cell with enough nodes, {} if there is none.

        Return None if that is not known quickly.
        """


class Search:
    """The free nodes that match a request, at one moment.

    :param count: number of nodes that are needed, of which scores are added.
    """

    def __init__(self, policies: Sequence[Policy], candidates: _Candidates, related: _Numbers, count: int) -> None:
        self._policies, self._candidates, self._related, self._count = policies, candidates, related, count

    def largest(self) -> int:
        """Return the largest number of nodes that can be chosen at once."""
        return self._situation.largest()

    def choose(self, count: int) -> list[GroupedNode]:
        """Return the best choice of some nodes; [] if there is none."""
        # With affinity for the only key, a choice is of one cell. If the best one is enough, the others do not matter.
        best = self._candidates.best(count) if self._is_of_one_cell else None
        chosen = Situation(self._policies, best, self._related).choose(count) if best else None
        if not chosen and best != {}:
            chosen = self._situation.choose(count)
        return [node for cell, number in (chosen or {}).items() for node in self._candidates.nodes(cell, number)]

    @property
    def _is_of_one_cell(self) -> bool:
        names = {policy.name for policy in self._policies}
        # A soft policy may prefer another cell, because of the nodes that it is relative to.
        return AFFINITY in names and names.isdisjoint(SOFT) and len({policy.key for policy in self._policies}) == 1

    @functools.cached_property
    def _situation(self) -> Situation:
        """The nodes by groups, the best cells first. Nodes without a group for one of the policies are left out."""
        candidates = self._candidates
        preferring = ((place, policy.prefer) for place, policy in enumerate(self._policies))
        shares = [(place, prefer, candidates.shares(place)) for place, prefer in preferring if prefer]
        scores = candidates.scores(self._count)

        def rank(cell: Cell) -> Any:
            preferred = tuple(groups[cell[place]].rank(prefer) for place, prefer, groups in shares)
            return preferred, -scores.get(cell, 0), candidates.place(cell)

        cells = {cell: number for cell, number in candidates.cells.items() if number and None not in cell}
        return Situation(self._policies, {cell: cells[cell] for cell in sorted(cells, key=rank)}, self._related)


class Choice(NamedTuple):
    """Nodes that fulfil a topology together, and how far they fulfil each policy."""

    nodes: list[GroupedNode]
    reports: list[Report]


def find(context: Context, node_request: NodeRequest, count: int | None, limit: int) -> Choice:
    """Find free nodes that fulfil a request with a topology together.

    :param count: number of nodes; None for as many as possible, up to ``limit``.
    :returns: Choice. It has no nodes if there are too few.
    :raises failures.Failure: as ``related_nodes.read``.
    """
    policies = node_request.topology
    with context.read() as connection:
        related = related_nodes.read(context, connection, policies).numbers(policies)
    with search(context, node_request, related, count or limit) as found:
        number = min(limit, found.largest()) if count is None else count
        nodes = found.choose(number) if number else []
    return Choice(nodes, _reports(policies, related, [node.cell for node in nodes]))


def of_nodes(context: Context, policies: tuple[Policy, ...], uuids: Collection[str]) -> Choice:
    """Return nodes as a Choice."""
    columns = (tables.nodes.c.id, tables.nodes.c.uuid, *node_groups.columns(policies))
    with context.read() as connection:
        related = related_nodes.find(context, connection, policies)
        rows = connection.execute(sa.select(*columns).where(tables.nodes.c.uuid.in_(uuids)))
        nodes = [GroupedNode(row.id, row.uuid, node_groups.cell(policies, row)) for row in rows]
    return Choice(nodes, _reports(policies, related.numbers(policies), [node.cell for node in nodes]))


def _reports(policies: Sequence[Policy], related: _Numbers, cells: Sequence[Cell]) -> list[Report]:
    counted = zip(policies, related, topology.count(policies, cells), strict=True)
    both = [(policy, Counter(before) + chosen, chosen) for policy, before, chosen in counted]
    return [Report(policy, numbers, policy.is_met(numbers, chosen)) for policy, numbers, chosen in both]


class Free(NamedTuple):
    """What a node must be besides matching the request.

    :ivar instance: as for ``eligibility.eligible_for``.
    :ivar conditions: further conditions on nodes.
    :ivar busy: ids of nodes that are left out, because other transactions have locked them.
    """

    instance: str | None = None
    conditions: Sequence[Condition] = ()
    busy: frozenset[int] = frozenset()


ANY = Free()


@contextlib.contextmanager
def search(
    context: Context, node_request: NodeRequest, related: _Numbers, count: int, free: Free = ANY
) -> Iterator[Search]:
    """Yield the free nodes that match a request with a topology.

    :param related: for each policy, {group: number of nodes} of the instances that it refers to.
    :param count: number of nodes that are needed, of which scores are added.
    """
    is_listed = node_request.idents is not None or bool(free.conditions)
    if not is_listed:
        with context.service.node_index.if_worth_waiting(context) as view:
            if view is not None:
                candidates = _Indexed(context, view, node_request, free.busy)
                yield Search(node_request.topology, candidates, related, count)
                return
    condition = sa.and_(eligible_for(free.instance), *free.conditions, tables.nodes.c.id.not_in(free.busy))
    with context.snapshot() as connection:
        listed = _Listed(context, connection, node_request, condition)
        yield Search(node_request.topology, listed, related, count)
    if not is_listed and len(listed.rows) >= node_index.MIN_NODES:
        context.service.node_index.prepare(context)


class _Indexed:
    """Candidates from the index of nodes."""

    def __init__(self, context: Context, view: View, node_request: NodeRequest, busy: frozenset[int]) -> None:
        excluded = node_request.excluded.condition() if node_request.excluded else None
        nodes = Nodes(context, node_request.grant, view, excluded)
        self._view, self._nodes, self._request = view, nodes, node_request
        self._free = nodes.matching(node_request) & nodes.free & ~view.of_ids(busy)
        self._groups = view.groups([policy.key for policy in node_request.topology])
        self._numbers = list(self._groups.counts(self._free))
        for place in self._groups.incomplete:
            self._numbers[place] = 0

    @property
    def cells(self) -> dict[Cell, int]:
        return {cell: number for cell, number in zip(self._groups.cells, self._numbers, strict=True) if number}

    def shares(self, place: int) -> dict[str | None, Share]:
        both = map(self._groups.counts, self._free_and_all())
        return _shares((cell[place], free, every) for cell, free, every in zip(self._groups.cells, *both, strict=True))

    def _free_and_all(self) -> tuple[int, int]:
        """Return the sets of the free nodes, and of all nodes."""
        considered = self._nodes.considered({})
        return considered & self._nodes.free, considered

    def best(self, count: int) -> dict[Cell, int] | None:
        prefer = next((policy.prefer for policy in self._request.topology if policy.prefer), None)
        if self._request.request.preferred:
            return None
        if prefer:
            # There may be many thousand groups, so they are not ranked one by one.
            by_share = self._groups.by_share(*self._free_and_all())
            ranked: Iterator[Collection[int]] = (
                by_share[share] for share in sorted(by_share, key=lambda share: Share(*share).rank(prefer))
            )
        else:
            ranked = iter([range(len(self._numbers))])
        for places in ranked:
            enough = [place for place in places if self._numbers[place] >= count]
            if enough:
                best = min(enough, key=self._groups.cells.__getitem__)
                return {self._groups.cells[best]: self._numbers[best]}
        return {}

    def scores(self, count: int) -> dict[Cell, int]:
        if not self._request.request.preferred:
            return {}
        return {cell: sum(score for score, _ in self._best(cell, count)) for cell in self.cells}

    def nodes(self, cell: Cell, number: int) -> list[GroupedNode]:
        named = self._view.named(position for _, position in self._best(cell, number))
        return [GroupedNode(node_id, uuid, cell) for node_id, uuid in named]

    def place(self, cell: Cell) -> Any:
        return cell

    def _best(self, cell: Cell, number: int) -> list[tuple[int, int]]:
        """Return the score and the position of the best nodes of a cell."""
        members = self._groups.members_of(cell)
        free = [position for position in members if self._free >> position & 1]
        scored = ((sum(weight for nodes, weight in self._preferred if nodes >> each & 1), each) for each in free)
        return sorted(scored, key=lambda each: (-each[0], each[1]))[:number]

    @functools.cached_property
    def _preferred(self) -> list[tuple[int, int]]:
        return [(self._nodes.trait(name), weight) for name, weight in self._request.request.preferred.items()]


class _Listed:
    """Candidates that a statement has read."""

    def __init__(self, context: Context, connection: sa.Connection, node_request: NodeRequest, free: Condition) -> None:
        self._policies = node_request.topology
        self._context, self._connection, self._request = context, connection, node_request
        self.rows = matches.grouped(context, connection, node_request, free)
        self._by_cell: dict[Cell, list[sa.Row]] = defaultdict(list)
        for row in self.rows:
            self._by_cell[node_groups.cell(self._policies, row)].append(row)
        self.cells = {cell: len(rows) for cell, rows in self._by_cell.items()}
        self._places = {cell: place for place, cell in enumerate(self._by_cell)}

    def shares(self, place: int) -> dict[str | None, Share]:
        policies = self._policies[place : place + 1]
        free = sa.case((ELIGIBLE, 1), else_=0).label('free')
        every = NodeRequest(self._request.grant).considered(self._context)
        rows = self._connection.execute(sa.select(free, *node_groups.columns(policies)).where(*every))
        return _shares((node_groups.cell(policies, row)[0], row.free, 1) for row in rows)

    def scores(self, count: int) -> dict[Cell, int]:
        return {cell: sum(row.score for row in rows[:count]) for cell, rows in self._by_cell.items()}

    def nodes(self, cell: Cell, number: int) -> list[GroupedNode]:
        return [GroupedNode(row.id, row.uuid, cell) for row in self._by_cell[cell][:number]]

    def place(self, cell: Cell) -> Any:
        return cell if self._request.idents is None else self._places[cell]

    def best(self, count: int) -> None:
        return None


def _shares(groups: Iterator[tuple[str | None, int, int]]) -> dict[str | None, Share]:
    free: Counter[str | None] = Counter()
    every: Counter[str | None] = Counter()
    for value, number, of in groups:
        free[value] += number
        every[value] += of
    return {value: Share(free[value], every[value]) for value in every}
