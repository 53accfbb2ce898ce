"""Reservations: a node is held for an instance, for a while.

The row of an expired one goes when somebody needs its node or its instance, or by ``purge``.  Every decision is made
under the node's lock.

While that row is there, the provider of its node shows a generation that is one higher than the stored one
(``placement.single_provider``): the node is free again, and nobody has written that down.  So these rows are deleted by
``settle`` alone, which counts them in the stored generation.
"""

import datetime
import functools

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.db.engine import retried
from ironic_traits.db.models import nodes, reservations
from ironic_traits.db.types import clock, now
from ironic_traits.inventory import node_filters, node_providers
from ironic_traits.inventory.eligibility import EXPIRED, LIVE, OF_NODE, moment_text
from ironic_traits.inventory.paging import fetch
from ironic_traits.inventory.single_node import read as read_node
from ironic_traits.inventory.single_node import take

FIELDS = ('uuid', 'node_uuid', 'instance_uuid', 'created_at', 'updated_at', 'expires_at')

#: How many expired reservations ``purge`` deletes in one transaction.
_BATCH = 1000
#: A column of a SELECT from nodes: the uuid of the node's live reservation, None for none.
UUID = sa.select(reservations.c.uuid).where(OF_NODE).correlate(nodes).scalar_subquery().label('reservation_uuid')


def get(context, uuid):
    """Give one live reservation.

    :returns: a row of FIELDS.
    :raises failures.ReservationNotFound: there is none, or it is not live any more.
    """
    with context.read() as connection:
        return _read(connection, uuid, _columns(FIELDS))


def owner(context, uuid):
    """Give whose node a live reservation is of.

    :returns: a row with ``owner`` and ``lessee``.
    :raises failures.ReservationNotFound: there is none, or it is not live any more.
    """
    statement = sa.select(nodes.c.owner, nodes.c.lessee).join(reservations, OF_NODE)
    with context.read() as connection:
        row = connection.execute(statement.where(reservations.c.uuid == uuid)).first()
    if row is None:
        raise failures.ReservationNotFound(reservation=uuid)
    return row


def find(context, fields, filters, page):
    """List live reservations.

    :param fields: names of FIELDS, a tuple.
    :param filters: {'node': uuid or name, 'instance_uuid': uuid}, both optional.
    :param page: ironic_traits.inventory.paging.Page.
    :returns: (rows, whether there are more).
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.ReservationNotFound: the marker is no live reservation.
    """
    seen = node_filters.visible(context)
    visible = [reservations.c.node_uuid.in_(sa.select(nodes.c.uuid).where(*seen))] if seen else []
    statement = sa.select(*_columns(fields)).where(LIVE, *visible)
    with context.read() as connection:
        if 'node' in filters:
            node = read_node(connection, filters['node'], (nodes.c.uuid,), seen)
            statement = statement.where(reservations.c.node_uuid == node.uuid)
        if 'instance_uuid' in filters:
            statement = statement.where(reservations.c.instance_uuid == filters['instance_uuid'])
        marker = functools.partial(_read, connection, page.marker, visible=visible)
        return fetch(connection, statement, reservations, page, marker)


@retried
def renew(context, uuid, expiry):
    """Let a live reservation live for longer, or shorter.

    :param expiry: Expiry.
    :returns: a row of FIELDS.
    :raises failures.ReservationNotFound: there is none, or it is not live any more.
    :raises failures.InvalidInput: the time is over, or too far away.
    """
    with context.write() as connection:
        _take(connection, uuid)
        moment = connection.scalar(sa.select(clock()))
        values = {'expires_at': expiry.at(context, moment), 'updated_at': moment}
        live = reservations.c.uuid == uuid, LIVE
        if not connection.execute(sa.update(reservations).where(*live).values(values)).rowcount:
            raise failures.ReservationNotFound(reservation=uuid)
        return _read(connection, uuid, _columns(FIELDS))


@retried
def delete(context, uuid):
    """Let a node go.

    :raises failures.ReservationNotFound: there is no such reservation, or it is not live any more.
    """
    with context.write() as connection:
        node = _take(connection, uuid)
        connection.execute(sa.delete(reservations).where(reservations.c.uuid == uuid))
        node_providers.bump_for_reservation(connection, node.id)


def purge(service):
    """Delete the rows of all expired reservations.

    :param service: what has ``write``.
    :returns: how many there were.
    """
    deleted = 0
    while batch := _purge_batch(service):
        deleted += batch
    return deleted


@retried
def _purge_batch(service):
    with service.write() as connection:
        # No lock of a node is needed: what has expired never comes back to life.
        return settle(connection, limit=_BATCH)


def settle(connection, *conditions, limit=None):
    """Delete the rows of expired reservations, and count in the generations of providers that the nodes are free again.

    A node that is allocated is not: it is so to the instance of the reservation, and is used as before.

    :param connection: of a writer.
    :param conditions: on reservations; none for all.
    :param limit: most rows; None for all.
    :returns: how many there were.
    """
    columns = reservations.c.id, reservations.c.node_uuid
    statement = sa.select(*columns).where(EXPIRED, *conditions).order_by(reservations.c.id).limit(limit)
    rows = connection.execute(statement.with_for_update()).all()
    if rows:
        node_providers.bump_for_expired(connection, [row.node_uuid for row in rows])
        connection.execute(sa.delete(reservations).where(reservations.c.id.in_([row.id for row in rows])))
    return len(rows)


def claim(context, connection, node_uuid, instance):
    """Put an instance on a node: it has no reservation of another node, and gets none before the commit.

    :param connection: of a writer that has taken the node's lock.
    :param instance: uuid.
    :raises failures.InstanceReserved: it has a reservation of another node.
    :raises failures.InstanceUnavailable: it has, and the caller may not see that node.
    """
    same_instance = reservations.c.instance_uuid == instance
    settle(connection, sa.or_(reservations.c.node_uuid == node_uuid, same_instance))
    held = sa.select(reservations.c.node_uuid).where(same_instance).with_for_update()
    held_uuid = connection.scalar(held)
    if held_uuid is None:
        _touch_key(connection, node_uuid, instance)
    elif held_uuid != node_uuid:
        seen = connection.scalar(sa.select(node_filters.seen(context)).where(nodes.c.uuid == held_uuid))
        raise held_elsewhere(instance, held_uuid, seen, 'is not this one')


def held_elsewhere(instance, node_uuid, seen, why):
    """Return the failure that says that an instance holds a node by a reservation.

    :param seen: whether the caller may see that node; if not, the failure says nothing of it.
    :param why: why that node will not do.
    """
    if not seen:
        return failures.InstanceUnavailable(instance=instance)
    return failures.InstanceReserved(instance=instance, node=f'node {node_uuid}', why=why)


def _touch_key(connection, node_uuid, instance):
    """Write the unique key of an instance's reservation and delete it again.

    Who reserves a node for the instance at the same time writes the same key: one of the two waits until the other has
    committed, and then sees what the other did.
    """
    row = {'uuid': uuidutils.generate_uuid(), 'node_uuid': node_uuid, 'instance_uuid': instance}
    try:
        connection.execute(sa.insert(reservations).values(created_at=now(), **row))
    except db_exception.DBDuplicateEntry:
        raise db_exception.RetryRequest(failures.InstanceUnavailable(instance=instance)) from None
    connection.execute(sa.delete(reservations).where(reservations.c.uuid == row['uuid']))


def of_node(connection, node_uuid):
    """Give the live reservation of a node, None for none.

    :param connection: of a writer that has taken the node's lock.
    """
    statement = sa.select(*_columns(FIELDS)).where(reservations.c.node_uuid == node_uuid, LIVE)
    return connection.execute(statement).first()


def use(connection, node, reservation_uuid):
    """Use up the reservation of a node that is to be deployed.

    :param connection: of a writer that has taken the node's lock.
    :param node: what ``single_node.take`` gave, with ``instance_uuid``.
    :param reservation_uuid: the one that the client shows, None for none.
    :returns: what changes of the node, {column: value}.
    :raises failures.NodeReserved: the node is held for somebody else.
    :raises failures.ReservationUnknown: the reservation shown is not that of the node.
    """
    held = of_node(connection, node.uuid)
    if held is None or reservation_uuid not in (None, held.uuid):
        if reservation_uuid:
            raise failures.ReservationUnknown(node=node.uuid, reservation=reservation_uuid)
        return {}
    allowed = (held.instance_uuid, None) if reservation_uuid else (held.instance_uuid,)
    if node.instance_uuid not in allowed:
        raise reserved(node.uuid, held)
    if not connection.execute(sa.delete(reservations).where(reservations.c.uuid == held.uuid)).rowcount:
        # It has expired since, and another writer has deleted it.
        raise db_exception.RetryRequest(failures.ReservationUnknown(node=node.uuid, reservation=held.uuid))
    if not node.offered_before:
        # Otherwise the provider's generation moves with what the deploy changes of the node.
        node_providers.bump_for_reservation(connection, node.id)
    return {'instance_uuid': held.instance_uuid}


def reserved(node_uuid, held):
    """Make the failure that says who holds a node.

    :param held: the node's live reservation.
    """
    until = f' until {moment_text(held.expires_at)}' if held.expires_at else ''
    return failures.NodeReserved(node=node_uuid, instance=held.instance_uuid, reservation=held.uuid, until=until)


class Expiry:
    """When a reservation is to expire, as a client says it.

    :param at: a moment in UTC; None when not said so.
    :param seconds: from now; None when not said so.
    """

    def __init__(self, at=None, seconds=None):
        self._at = at
        self._seconds = seconds

    def at(self, context, moment):
        """Give the moment, None for never.

        :param moment: what the database's clock says.
        :raises failures.InvalidInput: it is over, or too far away.
        """
        options = context.conf.reservations
        latest = moment + datetime.timedelta(seconds=options.max_lifetime) if options.max_lifetime else None
        at = self._at
        if self._seconds is not None:
            at = moment + datetime.timedelta(seconds=self._seconds)
        if at is None:
            seconds = [each for each in (options.default_lifetime, options.max_lifetime) if each]
            return moment + datetime.timedelta(seconds=min(seconds)) if seconds else None
        if at <= moment:
            raise failures.InvalidInput(
                reason=f'expires_at, {moment_text(at)}, is over: here it is {moment_text(moment)}.'
            )
        if latest and at > latest:
            raise failures.InvalidInput(
                reason=f'A reservation may last {options.max_lifetime} seconds, until {moment_text(latest)}, at most.'
            )
        return at

    def check(self, context, connection):
        """Do nothing when it is a moment that can be.

        :raises failures.InvalidInput: it is not.
        """
        self.at(context, connection.scalar(sa.select(clock())))


def _take(connection, uuid):
    """Lock the node of a live reservation, and give it."""
    seen = _read(connection, uuid, (reservations.c.node_uuid,))
    try:
        node = take(connection, seen.node_uuid)
    except failures.NodeNotFound:
        raise failures.ReservationNotFound(reservation=uuid) from None
    _read(connection, uuid, (reservations.c.id,))
    return node


def _read(connection, uuid, columns, visible=()):
    row = connection.execute(sa.select(*columns).where(reservations.c.uuid == uuid, LIVE, *visible)).first()
    if row is None:
        raise failures.ReservationNotFound(reservation=uuid)
    return row


def _columns(fields):
    return tuple(reservations.c[name] for name in fields)
