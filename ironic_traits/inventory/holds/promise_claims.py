"""What a request may take of the free nodes that capacity reservations need.

A request may take a node if no promise can then be kept less than before, besides one of the project that the node
counts for. Mostly, an estimate shows this (``promise_estimates``). If not, the promises and the nodes are read from one
snapshot before the transaction (``promised_nodes``). The transaction takes the nodes' locks.
Then it checks that no promise has been added, and that other transactions have not taken nodes that the promises need.
If so, it raises Stale, and the request begins again.
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
from ironic_traits.inventory.core.eligibility import ELIGIBLE, HELD
from ironic_traits.inventory.holds import promise_estimates
from ironic_traits.inventory.holds.promised_nodes import LIVE, NEWEST, PromisedNodes, read
from ironic_traits.matching import promises
from ironic_traits.matching.promises import Class

_Result = TypeVar('_Result')
_Row = TypeVar('_Row', bound=Any)
_PROMISES, _USES = tables.capacity_reservations, tables.capacity_uses
_OF_IDS = _PROMISES.c.id.in_(sa.bindparam('ids'))
_FORGET = sa.delete(_USES).where(_USES.c.node_id.in_(sa.bindparam('node_ids')))
#: The generation of a promise is the number of nodes that claims have taken of those that match it, or more.
_RAISED = {'generation': _PROMISES.c.generation + sa.bindparam('taken')}
_GENERATIONS = (_PROMISES.c.id, _PROMISES.c.generation)
#: MariaDB locks the rows in the order of the ids.
_RAISE, _READ = sa.update(_PROMISES).where(_OF_IDS).values(_RAISED), prepared(sa.select(*_GENERATIONS).where(_OF_IDS))
_ids = _PROMISES.alias('ids').c.id
_locked = sa.select(_ids).where(_ids.in_(sa.bindparam('ids'))).order_by(_ids).with_for_update().cte('locked')
#: For PostgreSQL: all three in one statement.
_LOCK_AND_RAISE = (
    sa.update(_PROMISES)
    .where(_PROMISES.c.id.in_(sa.select(_locked.c.id)))
    .values(_RAISED)
    .returning(*_GENERATIONS)
    .add_cte(_FORGET.cte('forgotten'))
)
#: How many nodes are held for promises.
_HELD_FOR = prepared(
    sa.select(_USES.c.capacity_reservation_id, sa.func.count())
    .join(tables.nodes, tables.nodes.c.id == _USES.c.node_id)
    .where(_USES.c.capacity_reservation_id.in_(sa.bindparam('ids')), HELD)
    .group_by(_USES.c.capacity_reservation_id)
)
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
        #: The ids of nodes that do not match the promise that the request names.
        self._others: list[int] = []
        self._parts: set[int] = set()
        #: {id of a node: the promise that it is taken for, or None}.
        self._nodes: dict[int, int | None] = {}

    def take(self, node_id: int, project: str | None, is_own: bool = False) -> bool:
        """Take a node, unless promises could then no longer be kept. Return whether it was taken.

        :param project: the project that the node is taken for.
        :param is_own: whether the instance has allocated the node in Placement, so that it is not free.
        :raises Stale: the node was not free when the promises were read, or the estimate does not show that all can be
            kept.
        """
        if is_own:
            # What it was taken for does not change.
            return True
        position, used_up = self.promised.position(node_id), None
        if not self.promised.is_exact:
            self._take_by_estimate(position, project)
        else:
            if position is None and self.promised.contradictions < _MAX_CONTRADICTIONS:
                self.promised.contradictions += 1
                raise Stale
            of = Class() if position is None else self.promised.of_position(position)
            if self.named and self.named.id not in of:
                self._others.append(node_id)
                return False
            if of and position is not None:
                if (of, project) in self._refused:
                    return False
                allowed, used_up = self._try(of, project)
                if not allowed:
                    self._refused.add((of, project))
                    return False
                self._count(of, position)
                if used_up is not None:
                    self._left[used_up] -= 1
            self._note_used_up(position)
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
        return self.named.conditions(context) if self.named else []

    def refusal(
        self, context: Context, needed: int, matched: int
    ) -> failures.CapacityPromised | failures.CapacityUsedUp:
        """Return the failure that not so many nodes can be taken.

        :param matched: number of free nodes that match the request, and the promise that it names.
        """
        if self.named:
            free = self.named.free.bit_count()
            figures = {'left': self.named.left, 'free': free, 'matched': matched}
            return failures.CapacityUsedUp(needed=needed, name=self.named.name, **figures)
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
        return [*self._others, *(node for of, _ in self._refused for node in self.promised.ids_of(of))]

    def confirm(self, connection: sa.Connection) -> None:
        """Record what the nodes are taken for, and keep other transactions from taking nodes of the same promises.

        :param connection: of a transaction that has locked the nodes, and has read the newest promise after that.
        :raises Stale: another transaction has taken some.
        """
        number, nodes = len(self._nodes), {'node_ids': list(self._nodes)}
        if self.named and not self.named.are_in_group(connection, self._nodes):
            raise Stale
        if not self._parts:
            connection.execute(_FORGET, nodes)
        else:
            # An UPDATE, because a Galera cluster does not replicate other locks.
            raised = {'ids': sorted(self._parts), 'taken': number}
            if connection.dialect.name == 'postgresql':
                rows = connection.execute(_LOCK_AND_RAISE, raised | nodes).all()
            else:
                connection.execute(_RAISE, raised)
                connection.execute(_FORGET, nodes)
                rows = connection.execute(_READ, {'ids': raised['ids']}).all()
            taken = {row.id: row.generation - number - self.promised.by_id[row.id].generation for row in rows}
            if taken.keys() != self._parts or (any(taken.values()) and not self._leaves(connection, taken)):
                raise Stale
        uses = [
            {'node_id': node, 'capacity_reservation_id': promise} for node, promise in self._nodes.items() if promise
        ]
        if uses:
            connection.execute(sa.insert(_USES), uses)

    def _take_by_estimate(self, position: int | None, project: str | None) -> None:
        """Take a node if the estimate shows that all promises can be kept without it.

        :param position: None if the node has changed since the reading. Then it is in no set of free nodes.
        :raises Stale: it does not show that.
        """
        # An estimate does not say how many nodes a project may take for its promise.
        if self.named or any(each.left and each.project == project for each in self.promised.by_id.values()):
            raise Stale
        of = self.promised.asking if position is None else self.promised.of_position(position)
        if position is None:
            if not all(map(self._is_full, {self.promised.part(promise) for promise in of})):
                raise Stale
            self._parts |= self.promised.by_id.keys()
            return
        if of:
            if not self._try(of, project)[0]:
                raise Stale
            self._count(of, position)
        self._note_used_up(position)

    def _count(self, of: Class, position: int) -> None:
        self._parts |= self.promised.part(next(iter(of)))
        self._taken |= 1 << position
        self._number += 1

    def _note_used_up(self, position: int | None) -> None:
        # One of their nodes may be given back and not be free at once. Then another claim counts on this node.
        if position is not None:
            self._parts |= self.promised.used_up(position)

    def _try(self, of: Class, project: str | None) -> tuple[bool, int | None]:
        """Return whether a node of a class can be taken, and the promise that it is taken for."""
        by_id, part = self.promised.by_id, self.promised.part(next(iter(of)))
        own = [each for each in sorted(of) if by_id[each].project == project and self._left[each]]
        if self.named:
            own = [self.named.id] if self._left[self.named.id] else []
        if part not in self._flows and self._has_plenty(of, dict.fromkeys(of, 1)):
            # There are so many free nodes that no promise depends on this one.
            return bool(own) or not self.named, own[0] if own else None
        flow = self._flow(part)
        for used_up in own if self.named else [*own, None]:
            if after := flow.after(of, used_up):
                self._flows[part] = after
                return True, used_up
        for each in flow.needing(of):
            free = (by_id[each].free & ~self._taken).bit_count()
            self.broken.setdefault(each, {'name': by_id[each].name, 'left': flow.asked[each], 'free': free})
        return False, None

    def _flow(self, part: Class) -> promises.Flow:
        if part not in self._flows:
            self._flows[part] = self.promised.flow(part, self._left, self._taken)
        return self._flows[part]

    def _is_full(self, part: Class) -> bool:
        """Whether all promises of a part can be kept."""
        return self._has_plenty(part, {}) or self._flow(part).is_full

    def _leaves(self, connection: sa.Connection, taken: Mapping[int, int]) -> bool:
        """Whether all promises of the nodes can be kept although other transactions have taken nodes.

        :param taken: {promise: maximum number of these nodes}.
        """
        by_id = self.promised.by_id
        held: dict[int, int] = dict(map(tuple, connection.execute(_HELD_FOR, {'ids': list(self._parts)})))
        if any(by_id[each].number - held.get(each, 0) > by_id[each].left for each in self._parts):
            # Nodes were given back.
            return False
        used = {promise for promise in self._nodes.values() if promise}
        # They may have been taken for the same promise.
        asking = self._parts & self.promised.asking
        return all(self._left[each] >= taken.get(each, 0) for each in used) and self._has_plenty(asking, taken)

    def _has_plenty(self, of: Collection[int], without: Mapping[int, int]) -> bool:
        """Whether each of some promises has more free nodes than all promises that overlap with it ask for.

        :param without: {promise: number of nodes that do not count, if any}, besides those that are taken.
        """
        sums: dict[Class, int] = {}
        for promise in of:
            part = self.promised.part(promise)
            if part not in sums:
                sums[part] = sum(self._left[each] for each in part)
            asked = sums[part]
            if self.promised.by_id[promise].free.bit_count() - self._number - without.get(promise, 0) < asked:
                return False
        return True


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


def look(context: Context, connection: sa.Connection) -> None:
    """Estimate the promises, unless they have been read for the request.

    :raises Stale: there is no estimate.
    """
    if context.service.has_promises and not (context.promised and context.promised.is_exact):
        context.promised = promise_estimates.estimate(context.service, connection)
        if context.promised is None:
            raise Stale


def take_named(context: Context, connection: sa.Connection, node_id: int, project: str | None) -> None:
    """Take a node for a project, as ``take`` does, if the node is free."""
    row = connection.execute(_NAMED, {'node_id': node_id}).one()
    if row.is_free:
        take(context, connection, {node_id: project}, row.newest)
    elif row.newest is not None:
        forget(connection, node_id)


def forget(connection: sa.Connection, *node_ids: int) -> None:
    """Forget what nodes were taken for, if nothing holds them any more.

    :param connection: of a transaction that has locked the nodes, and will let something hold them.
    """
    if node_ids:
        connection.execute(_FORGET_UNHELD, [{'node_id': node_id} for node_id in node_ids])


def forget_moved(connection: sa.Connection, project: str, *node_ids: int) -> None:
    """Forget what nodes were taken for that a project gets from another one, unless it was for a promise of its own.

    :param connection: of a transaction that has locked the nodes.
    """
    if node_ids:
        connection.execute(_FORGET_MOVED, [{'node_id': node_id, 'of_project': project} for node_id in node_ids])


def counted(connection: sa.Connection, promise_uuid: str) -> set[str]:
    """Return the uuids of the nodes that are, or were, held for a promise."""
    return set(connection.scalars(_COUNTED, {'promise_uuid': promise_uuid}))


def check_moved(context: Context, connection: sa.Connection, nodes: Mapping[int, str]) -> None:
    """Check that nodes count for no promise of other projects than those that get them now.

    :param nodes: {id: project}.
    :raises failures.CapacityPromised: one does. If it goes, the promise needs another node.
    """
    for row in connection.execute(_USED_BY_PROJECTS, {'ids': list(nodes)}) if nodes else ():
        if row.project != nodes[row.node_id]:
            name = row.name if context.may(VISIBLE, {PROJECT: row.project}) else None
            raise failures.CapacityPromised([], moved=(row.uuid, name))


_FORGET_UNHELD = sa.delete(_USES).where(
    _USES.c.node_id == sa.bindparam('node_id'),
    sa.exists().where(tables.nodes.c.id == sa.bindparam('node_id'), ~HELD),
)
_FORGET_MOVED = sa.delete(_USES).where(
    _USES.c.node_id == sa.bindparam('node_id'),
    _USES.c.capacity_reservation_id.in_(
        sa.select(_PROMISES.c.id).where(_PROMISES.c.project != sa.bindparam('of_project'))
    ),
)
_COUNTED = prepared(
    sa.select(tables.nodes.c.uuid)
    .join(_USES, _USES.c.node_id == tables.nodes.c.id)
    .join(_PROMISES, _PROMISES.c.id == _USES.c.capacity_reservation_id)
    .where(_PROMISES.c.uuid == sa.bindparam('promise_uuid'))
)
_USED_BY_PROJECTS = prepared(
    sa.select(_USES.c.node_id, _PROMISES.c.project, _PROMISES.c.name, tables.nodes.c.uuid)
    .join(_PROMISES, _PROMISES.c.id == _USES.c.capacity_reservation_id)
    .join(tables.nodes, tables.nodes.c.id == _USES.c.node_id)
    .where(_USES.c.node_id.in_(sa.bindparam('ids')), LIVE)
)
_NAMED = prepared(
    sa.select(NEWEST.label('newest'), ELIGIBLE.label('is_free')).where(tables.nodes.c.id == sa.bindparam('node_id'))
)


def take(context: Context, connection: sa.Connection, nodes: Mapping[int, str | None], newest: int | None) -> None:
    """Take free nodes that a request names, in a function that is ``beginning_again``.

    :param connection: of a transaction that has locked the nodes.
    :param nodes: {id: the project that it is taken for}.
    :param newest: ``promised_nodes.NEWEST``, read under the locks of the nodes.
    :raises Stale: the promises have not been read yet, or have changed.
    :raises failures.CapacityPromised: a promise could no longer be kept.
    """
    if newest is not None:
        look(context, connection)
    if newest != (context.promised.newest if context.promised else None):
        raise Stale
    if newest is None:
        return
    claim = Claim(context.promised)
    for node_id, project in nodes.items():
        if not claim.take(node_id, project):
            raise claim.refusal(context, len(nodes), 0)
    claim.confirm(connection)
