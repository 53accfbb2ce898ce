"""The free nodes that capacity reservations need, at one moment.

A capacity reservation promises a number of nodes to a project. What a request may take of them: ``promise_claims``.
"""

import contextlib
import functools
import itertools
import json
import types
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.changes.change_feed import Token
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import statement_clock
from ironic_traits.inventory.core import mirror_exclusions
from ironic_traits.inventory.search import node_groups
from ironic_traits.inventory.search.index_nodes import Nodes
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.inventory.search.node_index import View
from ironic_traits.matching import promises, requests, topology
from ironic_traits.matching.group_limits import Cell
from ironic_traits.matching.promises import Class

_PROMISES, _USES = tables.capacity_reservations, tables.capacity_uses
#: Condition on capacity reservations: it has not expired.
LIVE = sa.or_(_PROMISES.c.expires_at.is_(None), _PROMISES.c.expires_at > statement_clock())
#: The newest promise; NULL if there is none. A transaction that takes nodes reads it under the locks of the nodes.
NEWEST = sa.select(sa.func.max(_PROMISES.c.id)).where(LIVE).scalar_subquery()
READ_NEWEST = prepared(sa.select(NEWEST))
_ALL = prepared(sa.select(_PROMISES).where(LIVE).order_by(_PROMISES.c.id))
_EXPIRES = sa.exists().where(
    tables.reservations.c.node_uuid == tables.nodes.c.uuid, tables.reservations.c.expires_at.is_not(None)
)
_ALL_USES = prepared(
    sa.select(_USES, _EXPIRES.label('expires')).join(tables.nodes, tables.nodes.c.id == _USES.c.node_id)
)
#: The id of a promise that is not stored yet.
NEW = 2**31


class Promise(NamedTuple):
    """A capacity reservation at one moment.

    :ivar used: number of nodes that are held for it.
    :ivar left: number of nodes that it still asks for.
    :ivar free: set of the free nodes that match it.
    :ivar lasting: set of the nodes that are held for it until they change. (A reservation expires without a change.)
    :ivar request: what the nodes must match.
    :ivar cell: the group of all nodes for each policy of the request.
    """

    id: int
    uuid: str
    name: str
    project: str
    number: int
    generation: int
    used: int
    left: int
    free: int
    lasting: int
    request: NodeRequest
    cell: Cell = ()

    def conditions(self, context: Context) -> list[Condition]:
        """Return conditions that all nodes that match fulfil. Nodes of other groups may fulfil them, too."""
        groups = zip(self.request.topology, self.cell, strict=True)
        return [*self.request.conditions(context), *(node_groups.member(policy.key, each) for policy, each in groups)]

    def are_in_group(self, connection: sa.Connection, node_ids: Collection[int]) -> bool:
        """Whether nodes, which are locked, are in the group of the promise, if it has one."""
        policies = self.request.topology
        if not policies:
            return True
        statement = sa.select(*node_groups.columns(policies)).where(tables.nodes.c.id.in_(node_ids))
        return all(node_groups.cell(policies, row) == self.cell for row in connection.execute(statement))


class PromisedNodes:
    """The promises and the free nodes at one moment.

    :param every: the promises.
    :param free: set of the free nodes.
    :param position: function from the id of a node to its position in the sets.
    :param ids: function from a set of nodes and a maximum number to their ids.
    :param before: what an estimate is made of; None if it is none (``promise_estimates``).
    :ivar newest: id of the newest promise; None if there is none.
    :ivar by_id: {id: Promise}, the oldest first.
    :ivar contradictions: how often the request had to begin again because a node was not free.
    """

    def __init__(
        self,
        every: Iterable[Promise] = (),
        free: int = 0,
        position: Callable[[int], int | None] = lambda node_id: None,
        ids: Callable[[int, int], list[int]] = lambda nodes, limit: [],
        before: 'PromisedNodes | None' = None,
    ) -> None:
        self.by_id = {promise.id: promise for promise in every}
        self.newest: int | None = max(self.by_id, default=None)
        self.is_exact = before is None
        self.contradictions = 0
        self.free, self.position_of, self._ids = free, position, ids
        self._free_bytes = _bytes(free)
        #: The promises that still ask for nodes.
        self.asking = frozenset(promise.id for promise in self.by_id.values() if promise.left)
        #: {promise: its free nodes, as bytes, which are quicker to test one by one}.
        self._bytes: dict[int, bytes] = (
            before._bytes if before else {each.id: _bytes(each.free) for each in self.by_id.values()}
        )
        #: With the parts of this; more promises overlap before nodes are left out.
        self._before = before if before and before.asking == self.asking else None
        self._parts: dict[int, Class] = {}

    def position(self, node_id: int) -> int | None:
        """Return the position of a node, if it is free; else None."""
        position = self.position_of(node_id)
        return position if position is not None and _has(self._free_bytes, position) else None

    def of_position(self, position: int) -> Class:
        """Return the promises that the free node at a position matches, and that still ask for nodes."""
        return frozenset(promise for promise in self.asking if _has(self._bytes[promise], position))

    def used_up(self, position: int) -> Class:
        """Return the promises that the free node at a position matches, and that asked for no more nodes."""
        return frozenset(each for each in self.by_id.keys() - self.asking if _has(self._bytes[each], position))

    def limited(self, promise: int, nodes: int) -> 'PromisedNodes':
        """Return the same with a promise that only some nodes match.

        :param nodes: set of nodes.
        """
        limited = {promise: self.by_id[promise]._replace(free=self.by_id[promise].free & nodes)}
        return PromisedNodes((self.by_id | limited).values(), self.free, self.position_of, self._ids)

    def needed(self, nodes: int) -> int:
        """Return how many of some nodes one of the promises, besides NEW, needs at least.

        :param nodes: set of nodes.
        """
        others = (promise for promise in self.by_id.values() if promise.id != NEW)
        # A promise that cannot be kept gets all nodes that match, and no more.
        both = ((min(each.left, each.free.bit_count()), (each.free & ~nodes).bit_count()) for each in others)
        return max((asked - elsewhere for asked, elsewhere in both), default=0)

    def ids_of(self, of: Class) -> list[int]:
        """Return the ids of the free nodes that match exactly some promises, of those that still ask for nodes."""
        others = (self.by_id[promise].free for promise in self.asking - of)
        nodes = functools.reduce(int.__and__, (self.by_id[promise].free for promise in of))
        nodes &= ~functools.reduce(int.__or__, others, 0)
        return self._ids(nodes, nodes.bit_count())

    def part(self, promise: int) -> Class:
        """Return all promises that overlap with a promise, or with promises that overlap with these, and so on."""
        if self._before:
            return self._before.part(promise)
        if promise not in self._parts:
            part, rest, nodes = {promise}, set(self.asking - {promise}), self.by_id[promise].free
            while more := {each for each in rest if self.by_id[each].free & nodes}:
                part, rest = part | more, rest - more
                nodes = functools.reduce(int.__or__, (self.by_id[each].free for each in more), nodes)
            self._parts |= dict.fromkeys(part, frozenset(part))
        return self._parts[promise]

    def flow(self, part: Class, left: Mapping[int, int], without: int = 0) -> promises.Flow:
        """Return the largest flow of free nodes to some promises.

        :param left: {promise: number of nodes that it still asks for}.
        :param without: set of nodes that do not count.
        """
        classes: dict[Class, int] = {}
        for promise in sorted(part):
            nodes = self.by_id[promise].free & ~without
            for each, members in list(classes.items()):
                if both := members & nodes:
                    classes[each | {promise}] = both
                    classes[each] = members & ~nodes
                    nodes &= ~both
            classes[frozenset([promise])] = nodes
        asked = {promise: left[promise] for promise in sorted(part)}
        return promises.Flow(asked, {each: members.bit_count() for each, members in classes.items() if members})

    def sufficient(self, promise: int) -> list[int]:
        """Return the ids of free nodes that are enough to keep a promise and its part, as far as they can be kept."""
        part, ids = self.part(promise), []
        for of, number in self._whole.used.items():
            if of <= part:
                ids += self.ids_of(of)[:number]
        return ids

    @functools.cached_property
    def _whole(self) -> promises.Flow:
        """The largest flow to all promises that still ask for nodes."""
        return self.flow(self.asking, {promise.id: promise.left for promise in self.by_id.values()})

    def kept(self) -> dict[int, int]:
        """Return how many of the nodes that each promise still asks for it can get: {id: number}."""
        return {promise: self._whole.kept(promise) if promise in self.asking else 0 for promise in self.by_id}


class Reading(NamedTuple):
    """What a process has read last.

    :ivar token: the place in the change feed at that moment.
    :ivar exclusive: names of the exclusive traits.
    """

    token: Token
    exclusive: frozenset[str]
    promised: PromisedNodes


def read_with(context: Context, values: Mapping[str, Any]) -> tuple[PromisedNodes, Cell]:
    """Return the promises and the free nodes as they are now, and a promise with the id NEW after all others.

    :param values: {column: value} of that promise. If its request has a topology, its group is chosen: of those with
        enough nodes that others do not need, the one with the fewest free nodes that match.
    :returns: PromisedNodes, and the group for each policy. If no group has enough, it is the one with the most.
    """
    with _reading(context, types.SimpleNamespace(id=NEW, generation=0, **values)) as (promised, view):
        new = promised.by_id[NEW]
        if not new.request.topology:
            return promised, ()
        groups = view.groups([policy.key for policy in new.request.topology])
        numbers = {cell: number for cell, number in groups.cells_of(new.free).items() if None not in cell}
        cells = sorted(numbers, key=lambda cell: (numbers[cell], cell))
        # If others need the nodes of all groups, there is none to be tried.
        enough = [each for each in cells if numbers[each] >= new.number] if promised.kept()[NEW] == new.number else []
        likely = (each for each in enough if numbers[each] - promised.needed(groups.set_of(each)) >= new.number)
        best = promised.limited(NEW, 0)
        chosen: Cell = ()
        for cell in itertools.chain(likely, cells[-1:]):
            tried = promised.limited(NEW, groups.set_of(cell))
            if not chosen or tried.kept()[NEW] > best.kept()[NEW]:
                best, chosen = tried, cell
            if best.kept()[NEW] == new.number:
                break
        return best, chosen


def read(context: Any, before: PromisedNodes | None = None) -> PromisedNodes:
    """Return the promises and the free nodes as they are now. Do not call this in a transaction.

    :param context: a Context or a Service.
    :param before: what the last attempt of the same request has read.
    """
    service = context.service if isinstance(context, Context) else context
    if not service.has_promises:
        with context.read() as connection:
            service.has_promises = connection.scalar(READ_NEWEST) is not None
    promised = PromisedNodes()
    if service.has_promises:
        with _reading(context) as (promised, _):
            pass
    service.has_promises = promised.newest is not None
    promised.contradictions = before.contradictions if before else 0
    return promised


@contextlib.contextmanager
def _reading(context: Any, *more: Any) -> Iterator[tuple[PromisedNodes, View]]:
    """Yield the promises and the free nodes as they are now, and all nodes.

    Store a Reading for estimates, if they can be made.

    :param more: further rows of promises.
    """
    service = context.service if isinstance(context, Context) else context
    excluded, exclusive = mirror_exclusions.condition(context), service.noted_traits.exclusive(service)
    with service.node_index.now(context) as view:
        rows = [*view.connection.execute(_ALL), *more]
        nodes = Nodes(None, Grant(()), view, excluded)
        promises = _promises(service, nodes, rows)
        exact = PromisedNodes(promises, nodes.free, view.position, view.ids)
        # Which nodes can be held in clouds also depends on other things than changes of nodes.
        if excluded is None:
            stored = [promise for promise in promises if promise.id != NEW]
            # Without the view, which has large sets.
            service.promise_reading = Reading(view.token, exclusive, PromisedNodes(stored, nodes.free, view.position))
        yield exact, view


def _promises(service: Any, nodes: Nodes, rows: Sequence[Any]) -> list[Promise]:
    """Return the promises of rows."""
    used, lasting = _uses(nodes)
    promises = []
    for row in rows:
        request, cell = _parsed(row.request)
        request = request.without_exclusive(service)
        number, free = used[row.id], nodes.matching(request) & nodes.free
        for policy, group in zip(request.topology, cell, strict=False):
            free &= nodes.view.groups([policy.key]).set_of((group,))
        fields = row.id, row.uuid, row.name, row.project, row.number, row.generation, number
        promises.append(Promise(*fields, max(row.number - number, 0), free, lasting[row.id], request, cell))
    return promises


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> tuple[NodeRequest, Cell]:
    """Return the request of a promise, and the group for each policy; () if they are not chosen yet."""
    document = json.loads(text)
    policies = topology.parse(document.get('topology'))
    request = requests.understand(**document['requirements'])
    groups = document.get('groups', {})
    cell = tuple(groups[policy.key] for policy in policies if policy.key in groups)
    return NodeRequest(Grant(()), request, document['filters'], topology=policies), cell


def _uses(nodes: Nodes) -> tuple[Counter[int], Counter[int]]:
    """Return the number, and the set of the lasting ones, of the nodes that are held for each promise."""
    held = _bytes(nodes.held)
    used, lasting = Counter[int](), Counter[int]()
    for row in nodes.view.connection.execute(_ALL_USES):
        position = nodes.view.position(row.node_id)
        if position is not None and _has(held, position):
            used[row.capacity_reservation_id] += 1
            lasting[row.capacity_reservation_id] |= 0 if row.expires else 1 << position
    return used, lasting


def _bytes(nodes: int) -> bytes:
    return nodes.to_bytes(nodes.bit_length() // 8 + 1, 'little')


def _has(nodes: bytes, position: int) -> bool:
    place = position >> 3
    return place < len(nodes) and bool(nodes[place] >> (position & 7) & 1)
