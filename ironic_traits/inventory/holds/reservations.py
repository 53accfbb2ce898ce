"""Reservations: each holds a node for an instance, until it expires or is deleted.

The row of an expired reservation is deleted when another reservation needs its node or its instance, or by ``purge``.
All checks are made under the node's lock.

When a reservation expires, its node is free again, and the generation of the node's provider has to rise. Nothing is
written at that moment. Therefore reads add 1 to the stored generation while the expired row exists
(``placement.single_provider``). Only ``settle`` may delete expired rows, because it raises the stored generation.
"""

import dataclasses
import datetime
import functools
from collections.abc import Iterable, Mapping

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.changes import change_feed
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.engine import Writer, retried
from ironic_traits.db.statements.annotations import Columns, Condition, Values
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import now, read_clock
from ironic_traits.inventory.core import history, node_consumers, node_filters, node_providers
from ironic_traits.inventory.core.eligibility import EXPIRED, LIVE, OF_NODE, moment_text
from ironic_traits.inventory.core.paging import Page, Rows, fetch
from ironic_traits.inventory.core.single_node import MOMENT, take
from ironic_traits.inventory.core.single_node import read as read_node

FIELDS = ('uuid', 'node_uuid', 'instance_uuid', 'created_at', 'updated_at', 'expires_at')

#: Maximum number of expired reservations that ``purge`` deletes in one transaction.
_BATCH = 1000
# The expired reservations, locked.
_EXPIRED_ROWS = (
    sa.select(tables.reservations.c.id, *(tables.reservations.c[name] for name in FIELDS), MOMENT)
    .where(EXPIRED)
    .order_by(tables.reservations.c.id)
    .with_for_update()
)
# Built once: building the statement takes as long as executing it.
_EXPIRED_OF = prepared(_EXPIRED_ROWS.where(tables.reservations.c.node_uuid.in_(sa.bindparam('node_uuids'))))
#: A column of a SELECT from nodes: the uuid of the node's live reservation, or NULL.
UUID = (
    sa.select(tables.reservations.c.uuid)
    .where(OF_NODE)
    .correlate(tables.nodes)
    .scalar_subquery()
    .label('reservation_uuid')
)


def get(context: Context, grant: Grant) -> sa.Row:
    """Return a live reservation.

    :param grant: Grant for the reservation.
    :returns: a row with FIELDS.
    :raises failures.ReservationNotFound: there is no such reservation, or it has expired.
    """
    with context.read() as connection:
        return _read(connection, grant.ident, _columns(FIELDS))


def owner(context: Context, uuid: str) -> sa.Row:
    """Return the owner and the lessee of the node that a live reservation holds.

    :returns: a row with ``owner`` and ``lessee``.
    :raises failures.ReservationNotFound: there is no such reservation, or it has expired.
    """
    statement = sa.select(tables.nodes.c.owner, tables.nodes.c.lessee).join(tables.reservations, OF_NODE)
    with context.read() as connection:
        row = connection.execute(statement.where(tables.reservations.c.uuid == uuid)).first()
    if row is None:
        raise failures.ReservationNotFound(reservation=uuid)
    return row


def find(context: Context, grant: Grant, fields: tuple[str, ...], filters: Mapping[str, str], page: Page) -> Rows:
    """List live reservations.

    :param fields: names from FIELDS.
    :param filters: {'node': uuid or name of a node, 'instance_uuid': uuid}, both optional.
    :raises failures.NodeNotFound: the node of the filter does not exist, or the caller may not see it.
    :raises failures.ReservationNotFound: the marker is not a live reservation, or the caller may not see it.
    """
    visible_nodes = node_filters.visible(context, grant)
    visible = (
        [tables.reservations.c.node_uuid.in_(sa.select(tables.nodes.c.uuid).where(*visible_nodes))]
        if visible_nodes
        else []
    )
    statement = sa.select(*_columns(fields)).where(LIVE, *visible)
    with context.read() as connection:
        if 'node' in filters:
            node = read_node(connection, filters['node'], (tables.nodes.c.uuid,), visible_nodes)
            statement = statement.where(tables.reservations.c.node_uuid == node.uuid)
        if 'instance_uuid' in filters:
            statement = statement.where(tables.reservations.c.instance_uuid == filters['instance_uuid'])
        marker = functools.partial(_read, connection, visible=visible)
        return fetch(connection, statement, tables.reservations, page, marker)


@retried
def renew(context: Context, uuid: str, expiry: 'Expiry') -> sa.Row:
    """Set the expiry of a live reservation.

    :returns: a row with FIELDS.
    :raises failures.ReservationNotFound: there is no such reservation, or it has expired.
    :raises failures.InvalidInput: the expiry is in the past, or too far in the future.
    """
    with context.write() as connection:
        _take(connection, uuid)
        moment = read_clock(connection)
        values = {'expires_at': expiry.at(context, moment), 'updated_at': moment}
        live = tables.reservations.c.uuid == uuid, LIVE
        if not connection.execute(sa.update(tables.reservations).where(*live).values(values)).rowcount:
            raise failures.ReservationNotFound(reservation=uuid)
        change_feed.record(connection, change_feed.RESERVATION, [uuid])
        return _read(connection, uuid, _columns(FIELDS))


@retried
def delete(context: Context, uuid: str) -> None:
    """Delete a live reservation.

    :raises failures.ReservationNotFound: there is no such reservation, or it has expired.
    """
    with context.write() as connection:
        node = _take(connection, uuid)
        end(connection, node.id, uuid, _event(context, node.uuid, node.moment, f'Reservation {uuid} was deleted.'))


def end(connection: sa.Connection, node_id: int, uuid: str, entry: Values) -> None:
    """Delete a reservation of a locked node, and add an entry to the node's history, if the reservation exists."""
    if connection.execute(sa.delete(tables.reservations).where(tables.reservations.c.uuid == uuid)).rowcount:
        change_feed.record(connection, change_feed.RESERVATION, [uuid])
        node_providers.bump_for_reservation(connection, node_id)
        history.record(connection, entry)


def purge(service: Writer) -> int:
    """Delete all expired reservations.

    :returns: the number of deleted reservations.
    """
    deleted = 0
    while batch := _purge_batch(service):
        deleted += batch
    return deleted


@retried
def _purge_batch(service: Writer) -> int:
    with service.write() as connection:
        # No lock of a node is needed: an expired reservation never becomes live again.
        return settle(connection, limit=_BATCH)


def settle(connection: sa.Connection, *conditions: Condition, limit: int | None = None) -> int:
    """Delete expired reservations, record this in the history, and raise the generations of their nodes' providers.

    If the node is allocated, it is allocated to the reservation's instance, and its usage does not change. Then the
    generation is not raised.

    :param conditions: further conditions on reservations; none for all expired ones.
    :param limit: maximum number of reservations; None for no limit.
    :returns: the number of deleted reservations.
    """
    return _settle(connection, _EXPIRED_ROWS.where(*conditions).limit(limit))


def settle_nodes(connection: sa.Connection, node_uuids: Iterable[str]) -> int:
    """Delete the expired reservations of nodes, as ``settle`` does.

    :param node_uuids: uuids of nodes.
    :returns: the number of deleted reservations.
    """
    return _settle(connection, _EXPIRED_OF, {'node_uuids': list(node_uuids)})


def _settle(connection: sa.Connection, statement: sa.Select, parameters: Values | None = None) -> int:
    rows = connection.execute(statement, parameters).all()
    if rows:
        node_providers.bump_for_expired(connection, [row.node_uuid for row in rows])
        connection.execute(sa.delete(tables.reservations).where(tables.reservations.c.id.in_([row.id for row in rows])))
        history.record(connection, *map(_expired, rows))
        change_feed.record(connection, change_feed.RESERVATION, [row.uuid for row in rows])
        change_feed.record(connection, change_feed.NODE, [row.node_uuid for row in rows])
    return len(rows)


def _expired(row: sa.Row) -> Values:
    event = f'Reservation {row.uuid} for instance {row.instance_uuid} expired at {moment_text(row.expires_at)}.'
    return _event(None, row.node_uuid, row.moment, event)


def created(context: Context, row: Values) -> Values:
    """Return the entry in the history for a new reservation.

    :param row: {column of reservations: value}.
    """
    until = f' until {moment_text(row["expires_at"])}' if row['expires_at'] else ''
    event = f'Reservation {row["uuid"]} holds the node for instance {row["instance_uuid"]}{until}.'
    return _event(context, row['node_uuid'], row['created_at'], event)


def _event(context: Context | None, node_uuid: str, moment: datetime.datetime, event: str) -> Values:
    return history.entry(context, node_uuid, moment, history.RESERVATION, event)


def check_instance(context: Context, connection: sa.Connection, node_uuid: str, instance: str) -> None:
    """Raise InstanceReserved if an instance that is about to get a node has a reservation of another node.

    The check is valid until the commit: no other transaction can reserve a node for the instance before.

    :param connection: connection of a writer that has taken the node's lock.
    :param node_uuid: uuid of the node that the instance gets.
    :raises failures.InstanceReserved: the instance has a reservation of another node.
    :raises failures.InstanceUnavailable: the same, and the caller may not see that node.
    """
    same_instance = tables.reservations.c.instance_uuid == instance
    settle(connection, sa.or_(tables.reservations.c.node_uuid == node_uuid, same_instance))
    statement = sa.select(tables.reservations.c.node_uuid).where(same_instance).with_for_update()
    held_uuid = connection.scalar(prepared(statement))
    if held_uuid is None:
        touch_key(connection, node_uuid, instance)
    elif held_uuid != node_uuid:
        is_visible = bool(
            connection.scalar(sa.select(node_filters.seen(context)).where(tables.nodes.c.uuid == held_uuid))
        )
        raise held_elsewhere(instance, held_uuid, is_visible, 'is not this one')


def is_held(connection: sa.Connection, node_id: int, instance: str) -> bool:
    """Whether a node is allocated or has a reservation, or an instance has one, which may have expired."""
    return bool(connection.scalar(_IS_HELD, {'node_id': node_id, 'instance': instance}))


_IS_HELD = prepared(
    sa.select(
        sa.or_(
            node_consumers.ALLOCATED,
            sa.exists().where(tables.reservations.c.node_uuid == tables.nodes.c.uuid),
            sa.exists().where(tables.reservations.c.instance_uuid == sa.bindparam('instance')),
        )
    ).where(tables.nodes.c.id == sa.bindparam('node_id'))
)


def held_elsewhere(
    instance: str, node_uuid: str, is_visible: bool, why: str
) -> failures.InstanceReserved | failures.InstanceUnavailable:
    """Return the failure for an instance that has a reservation of a node that was not requested.

    :param node_uuid: uuid of the node that is reserved.
    :param is_visible: whether the caller may see that node. If not, the message does not mention it.
    :param why: end of the sentence: why that node does not fulfil the request.
    """
    if not is_visible:
        return failures.InstanceUnavailable(instance=instance)
    return failures.InstanceReserved(instance=instance, node=f'node {node_uuid}', why=why)


def touch_key(connection: sa.Connection, node_uuid: str, instance: str) -> None:
    """Insert a row with the unique key of an instance's reservation, and delete it again.

    Another transaction that reserves a node for the instance writes the same key. One of the two waits until the other
    one has committed, and then sees its writes.
    """
    row = {'uuid': uuidutils.generate_uuid(), 'node_uuid': node_uuid, 'instance_uuid': instance}
    try:
        connection.execute(_INSERT_KEY, {**row, 'created_at': now()})
    except db_exception.DBDuplicateEntry:
        raise db_exception.RetryRequest(failures.InstanceUnavailable(instance=instance)) from None
    connection.execute(_DELETE_KEY, {'key_uuid': row['uuid']})


# Without inline(), SQLAlchemy would fetch the id of the row.
_INSERT_KEY = sa.insert(tables.reservations).inline()
_DELETE_KEY = sa.delete(tables.reservations).where(tables.reservations.c.uuid == sa.bindparam('key_uuid'))


def node_reservation(connection: sa.Connection, node_uuid: str) -> sa.Row | None:
    """Return the live reservation of a node.

    :param connection: connection of a writer that has taken the node's lock.
    :returns: a row with FIELDS; None if there is no live reservation.
    """
    statement = sa.select(*_columns(FIELDS)).where(tables.reservations.c.node_uuid == node_uuid, LIVE)
    return connection.execute(prepared(statement)).first()


def use(
    context: Context, connection: sa.Connection, node: sa.Row, reservation_uuid: str | None, moment: datetime.datetime
) -> dict[str, str]:
    """Delete the reservation of a node for a deploy. Return the instance that the node gets.

    :param connection: connection of a writer that has taken the node's lock.
    :param node: the result of ``single_node.take``, with ``instance_uuid``.
    :param reservation_uuid: the reservation that the request names; None if it names no reservation.
    :param moment: the time by the database's clock.
    :returns: the changes of the node, {'instance_uuid': uuid}; {} if the node has no live reservation.
    :raises failures.NodeReserved: the node is reserved for another instance.
    :raises failures.ReservationUnknown: ``reservation_uuid`` is not the node's live reservation.
    """
    reservation = node_reservation(connection, node.uuid)
    if reservation is None or reservation_uuid not in (None, reservation.uuid):
        if reservation_uuid:
            raise failures.ReservationUnknown(node=node.uuid, reservation=reservation_uuid)
        return {}
    allowed = (reservation.instance_uuid, None) if reservation_uuid else (reservation.instance_uuid,)
    if node.instance_uuid not in allowed:
        raise reserved(node.uuid, reservation)
    if not connection.execute(
        sa.delete(tables.reservations).where(tables.reservations.c.uuid == reservation.uuid)
    ).rowcount:
        # The reservation has expired after it was read, and another transaction has deleted it.
        raise db_exception.RetryRequest(failures.ReservationUnknown(node=node.uuid, reservation=reservation.uuid))
    change_feed.record(connection, change_feed.RESERVATION, [reservation.uuid])
    if not node.offered_before:
        # Otherwise the deploy itself raises the provider's generation, because it changes the node.
        node_providers.bump_for_reservation(connection, node.id)
    event = f'Reservation {reservation.uuid} was used: instance {reservation.instance_uuid} is deployed on the node.'
    history.record(connection, _event(context, node.uuid, moment, event))
    return {'instance_uuid': reservation.instance_uuid}


def reserved(node_uuid: str, reservation: sa.Row) -> failures.NodeReserved:
    """Return the failure for a node that is reserved for another instance.

    :param reservation: the node's live reservation, a row with FIELDS.
    """
    until = f' until {moment_text(reservation.expires_at)}' if reservation.expires_at else ''
    return failures.NodeReserved(
        node=node_uuid, instance=reservation.instance_uuid, reservation=reservation.uuid, until=until
    )


@dataclasses.dataclass(frozen=True)
class Expiry:
    """The expiry that a client requests for a reservation.

    :ivar moment: datetime in UTC, without a time zone; None if the client does not set it.
    :ivar seconds: seconds from now; None if the client does not set it.
    """

    moment: datetime.datetime | None = None
    seconds: int | None = None

    def at(self, context: Context, moment: datetime.datetime) -> datetime.datetime | None:
        """Return when the reservation expires. Without a request of the client, the configured default applies.

        :param moment: the time by the database's clock.
        :returns: datetime in UTC, without a time zone; None for never.
        :raises failures.InvalidInput: the expiry is in the past, or too far in the future.
        """
        options = context.conf.reservations
        latest = moment + datetime.timedelta(seconds=options.max_lifetime) if options.max_lifetime else None
        at = self.moment
        if self.seconds is not None:
            at = moment + datetime.timedelta(seconds=self.seconds)
        if at is None:
            seconds = [each for each in (options.default_lifetime, options.max_lifetime) if each]
            return moment + datetime.timedelta(seconds=min(seconds)) if seconds else None
        if at <= moment:
            raise failures.InvalidInput(
                reason=f'expires_at, {moment_text(at)}, is in the past: the time is {moment_text(moment)}.'
            )
        if latest and at > latest:
            raise failures.InvalidInput(
                reason=f'A reservation may last {options.max_lifetime} seconds, until {moment_text(latest)}, at most.'
            )
        return at


def _take(connection: sa.Connection, uuid: str) -> sa.Row:
    """Lock the node of a live reservation, and return the node's row, with ``moment``."""
    reservation = _read(connection, uuid, (tables.reservations.c.node_uuid,))
    try:
        node = take(connection, reservation.node_uuid, MOMENT)
    except failures.NodeNotFound:
        raise failures.ReservationNotFound(reservation=uuid) from None
    _read(connection, uuid, (tables.reservations.c.id,))
    return node


def _read(connection: sa.Connection, uuid: str, columns: Columns, visible: Iterable[Condition] = ()) -> sa.Row:
    statement = sa.select(*columns).where(tables.reservations.c.uuid == uuid, LIVE, *visible)
    row = connection.execute(prepared(statement)).first()
    if row is None:
        raise failures.ReservationNotFound(reservation=uuid)
    return row


def _columns(fields: tuple[str, ...]) -> Columns:
    return tuple(tables.reservations.c[name] for name in fields)
