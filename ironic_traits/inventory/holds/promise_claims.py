"""What a request may take of the free nodes that capacity reservations need.

A request may take a node if all promises that could be kept before can still be kept, or if it is of the project, and
the node counts for its promise. The promises and the nodes are read from one snapshot before the transaction
(``promised_nodes``). The transaction takes the nodes' locks, and then checks that no promise has been added, and that
no other transaction has taken nodes of the same promises. If so, it raises Stale, and the request begins again.
"""

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.inventory.holds.promised_nodes import READ_NEWEST, PromisedNodes, read
from ironic_traits.matching import promises
from ironic_traits.matching.promises import Class

_Result = TypeVar('_Result')
_Row = TypeVar('_Row', bound=Any)
_PROMISES, _USES = tables.capacity_reservations, tables.capacity_uses
_OF_IDS = _PROMISES.c.id.in_(sa.bindparam('ids'))
_LOCK = prepared(
    sa.select(_PROMISES.c.id, _PROMISES.c.generation).where(_OF_IDS).order_by(_PROMISES.c.id).with_for_update()
)
_RAISE = sa.update(_PROMISES).where(_OF_IDS).values(generation=_PROMISES.c.generation + 1)
_FORGET = sa.delete(_USES).where(_USES.c.node_id.in_(sa.bindparam('node_ids')))
#: The policy rule of who may see a promise, and the key of its project in the target.
VISIBLE, PROJECT = 'baremetal:capacity_reservation:get', 'capacity_reservation.project'
#: How often a request begins again because a node that is not free in the index can be taken. It is free the next time.
#: The limit prevents an endless loop if one of the two has a bug.
_MAX_CONTRADICTIONS = 100


class Stale(Exception):
    """The promises, or their nodes, have changed since they were read."""


class Claim:
    """The nodes that a request takes.

    :param promised: the promises and the free nodes.
    :param uuid: of the promise that all nodes are taken for; None for those of the project that match.
    :raises failures.CapacityReservationNotFound: there is no such promise.
    :ivar named: that promise.
    :ivar broken: {promise because of which nodes were refused: {'name', 'left', 'free'}}.
    """

    def __init__(self, promised: PromisedNodes, uuid: str | None = None) -> None:
        self.promised = promised
        self.named = next((each for each in promised.by_id.values() if each.uuid == uuid), None)
        if uuid and not self.named:
            raise failures.CapacityReservationNotFound(ident=uuid)
        self.broken: dict[int, dict[str, Any]] = {}
        self._left = {promise.id: promise.left for promise in promised.by_id.values()}
        self._taken = 0
        self._number = 0
        self._flows: dict[Class, promises.Flow] = {}
        self._refused: set[tuple[Class, str | None]] = set()
        self._parts: set[int] = set()
        #: {id of a node: the promise that it is taken for, or None}.
        self._nodes: dict[int, int | None] = {}

    def take(self, node_id: int, project: str | None, is_own: bool = False) -> bool:
        """Take a node, unless promises could then no longer be kept. Return whether it was taken.

        :param project: the project that the node is taken for.
        :param is_own: whether the instance has allocated the node in Placement, so that it is not free.
        :raises Stale: the node was not free when the promises were read.
        """
        position = self.promised.position(node_id)
        if position is None and not is_own and self.promised.contradictions < _MAX_CONTRADICTIONS:
            self.promised.contradictions += 1
            raise Stale
        of = Class() if position is None or is_own else self.promised.of_position(position)
        if self.named and not is_own and self.named.id not in of:
            return False
        used_up = None
        if of and position is not None:
            if (of, project) in self._refused:
                return False
            part = self.promised.part(of)
            allowed, used_up = self._try(of, part, project)
            if not allowed:
                self._refused.add((of, project))
                return False
            self._parts |= part
            self._taken |= 1 << position
            self._number += 1
            if used_up is not None:
                self._left[used_up] -= 1
        self._nodes[node_id] = used_up
        return True

    def choose(self, rows: Iterable[_Row], project: str | None, own: Collection[int] = ()) -> list[_Row]:
        """Take as many nodes as possible, the first ones first, and return them.

        :param rows: rows with ``id``.
        :param own: ids of the nodes that the instance has allocated in Placement.
        """
        return [row for row in rows if self.take(row.id, project, row.id in own)]

    def conditions(self, context: Context) -> list[Condition]:
        """Return the conditions on nodes that the nodes must fulfil because of the promise that they are taken for."""
        return self.named.request.conditions(context) if self.named else []

    def refusal(self, context: Context, needed: int) -> failures.CapacityPromised | failures.CapacityUsedUp:
        """Return the failure that not so many nodes can be taken."""
        if self.named:
            free = self.named.free.bit_count()
            return failures.CapacityUsedUp(needed=needed, name=self.named.name, left=self.named.left, free=free)
        # For the caller, promises that they may not see do not exist.
        return failures.CapacityPromised(
            [
                left
                for promise, left in self.broken.items()
                if context.may(VISIBLE, {PROJECT: self.promised.by_id[promise].project})
            ]
        )

    @property
    def refused(self) -> list[int]:
        """The ids of all nodes like those that were refused."""
        classes = {of for of, _ in self._refused}
        return [node for of in classes for node in self.promised.ids_of(of)]

    def confirm(self, connection: sa.Connection) -> None:
        """Record what the nodes are taken for, and keep other transactions from taking nodes of the same promises.

        :param connection: of a transaction that has locked the nodes, and has read the newest promise after that.
        :raises Stale: another transaction has taken some.
        """
        if self._parts:
            ids = {'ids': sorted(self._parts)}
            rows = connection.execute(_LOCK, ids).all()
            if {row.id: row.generation for row in rows} != {
                promise: self.promised.by_id[promise].generation for promise in self._parts
            }:
                raise Stale
            # An UPDATE, because a Galera cluster does not replicate other locks.
            connection.execute(_RAISE, ids)
        connection.execute(_FORGET, {'node_ids': list(self._nodes)})
        uses = [
            {'node_id': node, 'capacity_reservation_id': promise} for node, promise in self._nodes.items() if promise
        ]
        if uses:
            connection.execute(sa.insert(_USES), uses)

    def _try(self, of: Class, part: Class, project: str | None) -> tuple[bool, int | None]:
        """Return whether a node of a class can be taken, and the promise that it is taken for."""
        by_id = self.promised.by_id
        own = [each for each in sorted(of) if by_id[each].project == project and self._left[each]]
        if self.named:
            own = [self.named.id] if self._left[self.named.id] else []
        if part not in self._flows:
            asked = sum(self._left[promise] for promise in part)
            if all(by_id[promise].free.bit_count() - self._number > asked for promise in of):
                # There are so many free nodes that no promise depends on this one.
                return bool(own) or not self.named, own[0] if own else None
            self._flows[part] = self.promised.flow(part, self._left, self._taken)
        flow = self._flows[part]
        for used_up in own if self.named else [*own, None]:
            if after := flow.after(of, used_up):
                self._flows[part] = after
                return True, used_up
        for each in flow.needing(of):
            free = (by_id[each].free & ~self._taken).bit_count()
            self.broken.setdefault(each, {'name': by_id[each].name, 'left': flow.asked[each], 'free': free})
        return False, None


def beginning_again(function: Callable[..., _Result]) -> Callable[..., _Result]:
    """Return a function that calls another one, which takes a context first, again as often as it raises Stale."""

    @functools.wraps(function)
    def call(context: Context, *arguments: Any, **options: Any) -> _Result:
        while True:
            try:
                return function(context, *arguments, **options)
            except Stale:
                context.promised = read(context, context.promised)

    return call


def take_named(context: Context, connection: sa.Connection, node_id: int) -> None:
    """Take a free node for the project of the caller, as ``take`` does."""
    take(context, connection, {node_id: context.project_id}, connection.scalar(READ_NEWEST))


def take(context: Context, connection: sa.Connection, nodes: Mapping[int, str | None], newest: int | None) -> None:
    """Take free nodes that a request names, in a function that is ``beginning_again``.

    :param connection: of a transaction that has locked the nodes.
    :param nodes: {id: the project that it is taken for}.
    :param newest: ``promised_nodes.NEWEST``, read under the locks of the nodes.
    :raises Stale: the promises have not been read yet, or have changed.
    :raises failures.CapacityPromised: a promise could no longer be kept.
    """
    if newest != (context.promised.newest if context.promised else None):
        raise Stale
    if newest is None:
        return
    claim = Claim(context.promised)
    for node_id, project in nodes.items():
        if not claim.take(node_id, project):
            raise claim.refusal(context, len(nodes))
    claim.confirm(connection)
