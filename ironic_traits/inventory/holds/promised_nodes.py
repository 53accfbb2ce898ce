"""The free nodes that capacity reservations need, at one moment.

A capacity reservation promises a number of nodes to a project. What a request may take of them: ``promise_claims``.
"""

import functools
import json
import types
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import statement_clock
from ironic_traits.inventory.core import mirror_exclusions
from ironic_traits.inventory.search.index_nodes import Nodes
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.matching import promises, requests
from ironic_traits.matching.promises import Class

_PROMISES, _USES = tables.capacity_reservations, tables.capacity_uses
#: Condition on capacity reservations: it has not expired.
LIVE = sa.or_(_PROMISES.c.expires_at.is_(None), _PROMISES.c.expires_at > statement_clock())
#: The newest promise; NULL if there is none. A transaction that takes nodes reads it under the locks of the nodes.
NEWEST = sa.select(sa.func.max(_PROMISES.c.id)).where(LIVE).scalar_subquery()
READ_NEWEST = prepared(sa.select(NEWEST))
_ALL = prepared(sa.select(_PROMISES).where(LIVE).order_by(_PROMISES.c.id))
_ALL_USES = prepared(sa.select(_USES))
#: The id of a promise that is not stored yet.
NEW = 2**31


class Promise(NamedTuple):
    """A capacity reservation at one moment.

    :ivar used: number of nodes that are held for it.
    :ivar left: number of nodes that it still asks for.
    :ivar free: set of the free nodes that match it.
    :ivar request: what the nodes must match.
    """

    id: int
    uuid: str
    name: str
    project: str
    generation: int
    used: int
    left: int
    free: int
    request: NodeRequest


class PromisedNodes:
    """The promises and the free nodes at one moment.

    :ivar newest: id of the newest promise; None if there is none.
    :ivar by_id: {id: Promise}, the oldest first.
    :ivar contradictions: how often the request had to begin again because a node was not free.
    """

    def __init__(self, service: Any, rows: Sequence[Any] = (), nodes: Nodes | None = None) -> None:
        self.newest: int | None = max((row.id for row in rows), default=None)
        self.contradictions = 0
        self.by_id: dict[int, Promise] = {}
        #: {promise that still asks for nodes: its free nodes, as bytes, which are quicker to test one by one}.
        self._bytes: dict[int, bytes] = {}
        self._parts: dict[Class, Class] = {}
        if nodes is None:
            return
        self._view, self._free = nodes.view, _bytes(nodes.free)
        used = _used(nodes)
        for row in rows:
            request = request_of(row).without_exclusive(service)
            self.by_id[row.id] = Promise(
                row.id,
                row.uuid,
                row.name,
                row.project,
                row.generation,
                used[row.id],
                max(row.number - used[row.id], 0),
                nodes.matching(request) & nodes.free,
                request,
            )
        self._bytes = {promise.id: _bytes(promise.free) for promise in self.by_id.values() if promise.left}

    def position(self, node_id: int) -> int | None:
        """Return the position of a node, if it is free; else None."""
        position = self._view.position(node_id)
        return position if position is not None and _has(self._free, position) else None

    def of_position(self, position: int) -> Class:
        """Return the promises that the node at a position matches, and that still ask for nodes."""
        return frozenset(promise for promise, nodes in self._bytes.items() if _has(nodes, position))

    def ids_of(self, of: Class) -> list[int]:
        """Return the ids of the free nodes that match exactly some promises, of those that still ask for nodes."""
        others = (self.by_id[promise].free for promise in self._bytes.keys() - of)
        nodes = functools.reduce(int.__and__, (self.by_id[promise].free for promise in of))
        nodes &= ~functools.reduce(int.__or__, others, 0)
        return self._view.ids(nodes, nodes.bit_count())

    def part(self, of: Class) -> Class:
        """Return all promises that overlap with some promises, or with promises that overlap with these, and so on."""
        if of not in self._parts:
            part, rest = set(of), set(self._bytes) - of
            nodes = functools.reduce(int.__or__, (self.by_id[promise].free for promise in of), 0)
            while more := {promise for promise in rest if self.by_id[promise].free & nodes}:
                part, rest = part | more, rest - more
                nodes = functools.reduce(int.__or__, (self.by_id[promise].free for promise in more), nodes)
            self._parts[of] = frozenset(part)
        return self._parts[of]

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

    def sufficient(self) -> list[int]:
        """Return the ids of free nodes that are enough to keep all promises, as far as they can be kept."""
        flow, ids = self._whole, []
        for of, number in flow.used.items():
            ids += self.ids_of(of)[:number]
        return ids

    @functools.cached_property
    def _whole(self) -> promises.Flow:
        """The largest flow to all promises that still ask for nodes."""
        return self.flow(frozenset(self._bytes), {promise.id: promise.left for promise in self.by_id.values()})

    def kept(self) -> dict[int, int]:
        """Return how many of the nodes that each promise still asks for it can get: {id: number}."""
        return {promise: self._whole.kept(promise) if promise in self._bytes else 0 for promise in self.by_id}


def read_with(context: Context, values: Mapping[str, Any]) -> PromisedNodes:
    """Return the promises and the free nodes as they are now, and a promise with the id NEW after all others.

    :param values: {column: value} of that promise.
    """
    return _read(context, types.SimpleNamespace(id=NEW, generation=0, **values))


def read(context: Any, before: PromisedNodes | None = None) -> PromisedNodes:
    """Return the promises and the free nodes as they are now. Do not call this in a transaction.

    :param context: a Context or a Service.
    :param before: what the last attempt of the same request has read.
    """
    service = context.service if isinstance(context, Context) else context
    if not service.has_promises:
        with context.read() as connection:
            service.has_promises = connection.scalar(READ_NEWEST) is not None
    promised = _read(context) if service.has_promises else PromisedNodes(service)
    service.has_promises = promised.newest is not None
    promised.contradictions = before.contradictions if before else 0
    return promised


def _read(context: Any, *more: Any) -> PromisedNodes:
    """Return the promises and the free nodes as they are now.

    :param more: further rows of promises.
    """
    service = context.service if isinstance(context, Context) else context
    excluded = mirror_exclusions.condition(context)
    with service.node_index.now(context) as view:
        rows = view.connection.execute(_ALL).all()
        return PromisedNodes(service, [*rows, *more], Nodes(None, Grant(()), view, excluded))


def request_of(row: sa.Row) -> NodeRequest:
    """Return the NodeRequest of a capacity reservation."""
    return _parsed(row.request)


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> NodeRequest:
    document = json.loads(text)
    return NodeRequest(Grant(()), requests.understand(**document['requirements']), document['filters'])


def _used(nodes: Nodes) -> Counter[int]:
    """Return how many nodes are held for each promise."""
    held, used = _bytes(nodes.held), Counter[int]()
    for row in nodes.view.connection.execute(_ALL_USES):
        position = nodes.view.position(row.node_id)
        used[row.capacity_reservation_id] += position is not None and _has(held, position)
    return used


def _bytes(nodes: int) -> bytes:
    return nodes.to_bytes(nodes.bit_length() // 8 + 1, 'little')


def _has(nodes: bytes, position: int) -> bool:
    place = position >> 3
    return place < len(nodes) and bool(nodes[place] >> (position & 7) & 1)
