"""Creates reservations: of one node for each instance, from a list of nodes or from all nodes that match a request.

``free_nodes`` finds the nodes and locks them.
"""

import functools
import logging
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.changes import change_feed
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.failover import outage
from ironic_traits.db.statements import joined
from ironic_traits.db.statements.annotations import Values
from ironic_traits.db.statements.joined import Write
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import clock
from ironic_traits.inventory.core import history, node_consumers, node_filters, node_providers
from ironic_traits.inventory.core.eligibility import OF_NODE
from ironic_traits.inventory.holds import free_nodes, mirror_claims, promise_claims, taken_nodes
from ironic_traits.inventory.holds.combined import NotTogether, Ticket
from ironic_traits.inventory.holds.free_nodes import NodeChoice
from ironic_traits.inventory.holds.group_holds import GroupChoice
from ironic_traits.inventory.holds.mirror_claims import Holding
from ironic_traits.inventory.holds.reservations import FIELDS, Expiry, created, held_elsewhere, settle
from ironic_traits.inventory.search import matches
from ironic_traits.inventory.search.matches import NodeRequest

LOG = logging.getLogger(__name__)

_NO_AUTHORS: Mapping[str, Context] = types.MappingProxyType({})
_COLUMNS = tuple(tables.reservations.c[name] for name in FIELDS)


class Reservations(NamedTuple):
    """The result of ``reserve``.

    :ivar rows: [row with FIELDS, …] in the order of the instances. Of several requests, some may have none.
    :ivar new: {instance, …} whose reservations are new.
    """

    rows: list[sa.Row]
    new: frozenset[str]


def reserve_combined(
    context: Context, instances: Sequence[str], node_request: NodeRequest, expiry: Expiry
) -> Reservations:
    """Reserve a node for each instance, as ``reserve``; for a single one, perhaps together with other requests."""
    alone = functools.partial(reserve, context, instances, node_request, expiry)
    kind = free_nodes.kind(context, node_request, reserve, expiry) if len(instances) == 1 else None
    if kind is None:
        return alone()
    together = functools.partial(_reserve_together, context, node_request, expiry)
    return context.service.combined.run(kind, Ticket(instances[0], context), alone, together)


def _reserve_together(
    context: Context, node_request: NodeRequest, expiry: Expiry, tickets: Sequence[Ticket[Reservations]]
) -> dict[str, Reservations | failures.Failure]:
    """Reserve a node for each request: ``together`` of ``Combined.run``."""
    authors = {ticket.name: ticket.value for ticket in tickets}
    rows, new = reserve(context, list(authors), node_request, expiry, authors)
    results: dict[str, Reservations | failures.Failure] = {
        row.instance_uuid: Reservations([row], new & {row.instance_uuid}) for row in rows
    }
    # In a full inventory, many requests are refused at once. To explain why takes longer than a claim.
    rest = [instance for instance in authors if instance not in results]
    try:
        refused = free_nodes.refusal(context, node_request, rest) if rest else None
    except Exception as error:
        # The reservations of the others are committed.
        outage.log(LOG, error, 'The refusal of %s requests failed; each is carried out alone', len(rest))
        return results
    return results | (dict.fromkeys(rest, refused) if refused else {})


def reserve(
    context: Context,
    instances: Sequence[str],
    node_request: NodeRequest,
    expiry: Expiry,
    authors: Mapping[str, Context] = _NO_AUTHORS,
) -> Reservations:
    """Reserve a node for each instance, or for none of them.

    An instance that has a live reservation of a node that fulfils the request keeps it.

    :param instances: [uuid, …], without duplicates.
    :param authors: {instance: context that the history names}, if the instances are those of several requests. Then
        some of them may get a node.
    :raises failures.InstanceReserved: an instance has a reservation of a node that does not fulfil the request.
    :raises failures.InstanceOnNode: an instance is on a node.
    :raises failures.InstanceUnavailable: one of these, and the caller may not see that node.
    :raises failures.NothingToReserve: too few nodes of the list can be reserved.
    :raises failures.NoMatch: too few nodes match the request and can be reserved.
    :raises failures.InvalidInput: the expiry is in the past, or too far in the future.
    """
    attempt = (
        # Requests with a topology are not combined.
        GroupChoice(context, node_request)
        if node_request.topology
        else NodeChoice(context, node_request, is_combined=bool(authors))
    )
    hold_once = functools.partial(_hold_once, context, instances, node_request, expiry, authors)
    return free_nodes.search(attempt, functools.partial(_hold, instances, hold_once))


def _hold(
    instances: Sequence[str], hold_once: Callable[[NodeChoice], Reservations], attempt: NodeChoice
) -> Reservations:
    """Find nodes and reserve them: ``hold`` of ``free_nodes.search``."""
    attempt.prepare(instances)
    try:
        return hold_once(attempt)
    except db_exception.DBDuplicateEntry:
        # Another request has reserved a node for the same instance. Try again, and return that reservation.
        raise taken_nodes.Lost(was_searched=False) from None


@retried
def _hold_once(
    context: Context,
    instances: Sequence[str],
    node_request: NodeRequest,
    expiry: Expiry,
    authors: Mapping[str, Context],
    attempt: NodeChoice,
) -> Reservations:
    with context.write() as connection:
        begin = connection.execute(_BEGIN, {'instances': list(instances)}).one()
        if authors and begin.is_allocated:
            # An allocated node is the first choice of a single instance.
            raise NotTogether
        expiry.at(context, begin.moment)
        held = _held_by(context, connection, instances) if begin.is_held else {}
        _check_held(context, connection, node_request, held.values())
        rest = [instance for instance in instances if instance not in held]
        first = attempt.allocated_first(connection, rest) if begin.is_allocated else ()
        if begin.is_allocated and node_request.capacity_reservation and len(rest) == 1:
            _check_allocated(context, connection, rest[0], node_request.capacity_reservation)
        nodes = attempt.take(connection, rest, first) if rest else []
        # Of several requests, some may get none.
        rest = rest[: len(nodes)]
        if nodes:
            if begin.is_held or any(node.has_expired for node in nodes):
                _settle(connection, nodes, rest)
            new = _insert(context, connection, dict(zip(rest, nodes, strict=True)), expiry, authors)
            if not authors:
                # Of several requests, each may get what it holds at another moment.
                _check_kept(context, connection, held.values())
            held |= new
            context.service.places.set(node_request, max(node.id for node in nodes))
        return Reservations([held[each] for each in instances if each in held], frozenset(rest))


def _one_of(column: sa.Column[str]) -> sa.ColumnElement[bool]:
    return sa.exists().where(column.in_(sa.bindparam('instances')))


#: Usually, an instance holds nothing yet. One statement checks this.
_BEGIN = prepared(
    sa.select(
        clock().label('moment'),
        # A reservation, live or expired, or a node.
        sa.or_(_one_of(tables.nodes.c.instance_uuid), _one_of(tables.reservations.c.instance_uuid)).label('is_held'),
        _one_of(tables.consumers.c.uuid).label('is_allocated'),
    )
)


def _held_by(context: Context, connection: sa.Connection, instances: Sequence[str]) -> dict[str, sa.Row]:
    """Return the live reservations of instances.

    :returns: {instance: row with FIELDS and ``seen``}. ``seen`` is whether the caller may see the node.
    :raises failures.InstanceOnNode: an instance is on a node.
    :raises failures.InstanceUnavailable: an instance is on a node that the caller may not see.
    """
    seen = node_filters.seen(context)
    on_node = (
        sa.select(tables.nodes.c.uuid, tables.nodes.c.instance_uuid, seen)
        .where(tables.nodes.c.instance_uuid.in_(instances), *mirror_claims.beyond(context))
        .limit(1)
    )
    node = connection.execute(on_node).first()
    if node and not node.seen:
        raise failures.InstanceUnavailable(instance=node.instance_uuid)
    if node:
        raise failures.InstanceOnNode(instance=node.instance_uuid, node=f'node {node.uuid}')
    allocated = mirror_claims.allocated_without_reservation(context, connection, instances)
    if allocated:
        what = f'node {allocated.uuid}: it has allocated the node in Placement, which holds it here and in its cloud. '
        what += 'It needs no reservation'
        raise failures.InstanceOnNode(instance=allocated.instance_uuid, node=what)
    statement = sa.select(*_COLUMNS, seen).join(tables.nodes, OF_NODE)
    return {
        row.instance_uuid: row
        for row in connection.execute(statement.where(tables.reservations.c.instance_uuid.in_(instances)))
    }


def _check_held(
    context: Context, connection: sa.Connection, node_request: NodeRequest, held: Collection[sa.Row]
) -> None:
    """Raise a failure unless the nodes that the instances have reserved already fulfil the request.

    :param held: rows from ``_held_by``.
    :raises failures.InstanceReserved: one of the nodes does not fulfil it.
    :raises failures.InstanceUnavailable: the same, and the caller may not see the node.
    """
    if held:
        matching = matches.matching(context, connection, node_request, [row.node_uuid for row in held])
        why = 'is not in the list' if node_request.is_a_list else 'does not match'
        needed = {why: matching}
        if node_request.capacity_reservation:
            counted = promise_claims.counted(connection, node_request.capacity_reservation)
            needed['does not count for the capacity reservation'] = counted
        for why, nodes in needed.items():
            for row in held:
                if row.node_uuid not in nodes:
                    raise held_elsewhere(row.instance_uuid, row.node_uuid, row.seen, why)


def _check_allocated(context: Context, connection: sa.Connection, instance: str, promise_uuid: str) -> None:
    """Raise a failure unless the nodes that an instance has allocated in Placement count for a capacity reservation.

    What they count for was decided when they were allocated. It does not change, and a repeated request checks it, too.

    :raises failures.InstanceOnNode: one does not count for it.
    :raises failures.InstanceUnavailable: the same, and the caller may not see the node.
    """
    statement = sa.select(tables.nodes.c.uuid, node_filters.seen(context)).where(node_consumers.allocated_to(instance))
    counted = promise_claims.counted(connection, promise_uuid)
    for node in connection.execute(statement.order_by(tables.nodes.c.id)):
        if node.uuid not in counted and not node.seen:
            raise failures.InstanceUnavailable(instance=instance)
        if node.uuid not in counted:
            what = f'node {node.uuid}, which does not count for the capacity reservation'
            raise failures.InstanceOnNode(instance=instance, node=what)


def _check_kept(context: Context, connection: sa.Connection, held: Collection[sa.Row]) -> None:
    """Raise Lost unless reservations that were read live until the commit, and their instances are on no node.

    Otherwise, new reservations may have got their nodes, or the request is to be refused.

    :param held: rows from ``_held_by``.
    """
    if held:
        of_held = tables.reservations.c.uuid.in_([row.uuid for row in held])
        on_node = sa.and_(tables.nodes.c.instance_uuid.is_not(None), *mirror_claims.beyond(context))
        live = sa.select(tables.reservations.c.id).join(tables.nodes, OF_NODE).where(of_held, ~on_node)
        # To wait for a locked node could end in a deadlock. Who has locked it may put the instance on it.
        if len(connection.execute(live.with_for_update(skip_locked=True)).all()) < len(held):
            raise taken_nodes.Lost


def _insert(
    context: Context,
    connection: sa.Connection,
    chosen: Mapping[str, sa.Row],
    expiry: Expiry,
    authors: Mapping[str, Context],
) -> dict[str, sa.Row]:
    """Insert reservations.

    :param chosen: {instance: row of a locked node}.
    :returns: {instance: row with FIELDS}.
    :raises taken_nodes.Lost: one of the instances has got a node since the first check.
    """
    moment = next(iter(chosen.values())).moment
    expires_at = expiry.at(context, moment)
    rows = [
        {
            'uuid': uuidutils.generate_uuid(),
            'node_uuid': node.uuid,
            'instance_uuid': instance,
            'created_at': moment,
            'expires_at': expires_at,
        }
        for instance, node in chosen.items()
    ]
    entries = [created(authors.get(row['instance_uuid'], context), row) for row in rows]
    _write(connection, rows, entries, [node.id for node in chosen.values()])
    # Checked again after the unique keys of the reservations are written (see ``reservations.check_instance``).
    statement = _INSERTED_LOCKING if connection.dialect.name in ('mysql', 'mariadb') else _INSERTED
    inserted = connection.execute(statement, {'instances': list(chosen)}).all()
    if any(row.on_node for row in inserted):
        raise taken_nodes.Lost
    mirror_claims.begin(
        context, connection, [Holding(chosen[row.instance_uuid], row.uuid, row.instance_uuid) for row in inserted]
    )
    return {row.instance_uuid: row for row in inserted}


def _settle(connection: sa.Connection, nodes: Iterable[sa.Row], instances: Collection[str]) -> None:
    """Delete the expired reservations of nodes and instances, because new ones need their unique keys."""
    uuids = [node.uuid for node in nodes]
    settle(
        connection,
        sa.or_(tables.reservations.c.node_uuid.in_(uuids), tables.reservations.c.instance_uuid.in_(instances)),
    )


def _write(connection: sa.Connection, rows: list[Values], entries: list[Values], node_ids: list[int]) -> None:
    """Insert reservations, and record them. On PostgreSQL, one reservation takes one statement, several take four."""
    if len(rows) > 1:
        connection.execute(sa.insert(tables.reservations), rows)
        change_feed.record(connection, change_feed.RESERVATION, [row['uuid'] for row in rows])
        history.record(connection, *entries)
        # Several instances get no nodes that are allocated (``bump_for_reservation``).
        node_providers.bump_all(connection, node_ids)
        return
    joined.execute(
        connection,
        [
            Write(_INSERT, {f'reservation_{name}': value for name, value in rows[0].items()}),
            change_feed.write(change_feed.RESERVATION, rows[0]['uuid']),
            node_providers.write_for_reservation(node_ids[0]),
            *history.writes(*entries),
        ],
    )


_INSERT = sa.insert(tables.reservations).values(
    {name: sa.bindparam(f'reservation_{name}') for name in FIELDS if name != 'updated_at'}
)


def _inserted(on_node: sa.Select) -> sa.Select:
    """Return the SELECT of new reservations. Its column ``on_node`` is whether the instance is on a node.

    :param on_node: the SELECT of the nodes of the instance of a reservation.
    """
    statement = sa.select(*_COLUMNS, sa.exists(on_node.correlate(tables.reservations)).label('on_node'))
    return statement.where(tables.reservations.c.instance_uuid.in_(sa.bindparam('instances')))


_ON_NODE = sa.select(tables.nodes.c.id).where(tables.nodes.c.instance_uuid == tables.reservations.c.instance_uuid)
_INSERTED = prepared(_inserted(_ON_NODE))
#: For MariaDB and MySQL. When a transaction that has written the same key begins to end, InnoDB lets an INSERT pass
#: shortly before other transactions see the written rows. A locking read waits for the end.
_INSERTED_LOCKING = _inserted(_ON_NODE.with_for_update(read=True))
