"""Reservations: a node is held for an instance, for a while.

A reservation is live until its ``expires_at``, by the clock of the database, and holds nothing from then on; the row of
an expired one goes when somebody needs its node or its instance, or by ``purge``.  Every decision is made under the
node's lock.
"""

import datetime
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.db.engine import retried
from ironic_traits.db.models import nodes, reservations
from ironic_traits.db.types import clock
from ironic_traits.deploy import states
from ironic_traits.inventory import node_providers
from ironic_traits.inventory.paging import fetch
from ironic_traits.inventory.single_node import read as read_node
from ironic_traits.inventory.single_node import take

FIELDS = ('uuid', 'node_uuid', 'instance_uuid', 'created_at', 'updated_at', 'expires_at')

LIVE = sa.or_(reservations.c.expires_at.is_(None), reservations.c.expires_at > clock())
_EXPIRED = reservations.c.expires_at <= clock()
OF_NODE = sa.and_(reservations.c.node_uuid == nodes.c.uuid, LIVE)
#: A column of a SELECT from nodes: the uuid of the node's live reservation, None for none.
UUID = sa.select(reservations.c.uuid).where(OF_NODE).correlate(nodes).scalar_subquery().label('reservation_uuid')
#: Conditions on nodes: that there is a live reservation, and that there could be one.
RESERVED = sa.exists().where(OF_NODE).correlate(nodes)
ELIGIBLE = sa.and_(node_providers.OFFERED, ~RESERVED, ~node_providers.ALLOCATED)


def get(context, uuid):
    """Give one live reservation.

    :returns: a row of FIELDS.
    :raises failures.ReservationNotFound: there is none, or it is not live any more.
    """
    with context.read() as connection:
        return _read(connection, uuid, _columns(FIELDS))


def find(context, fields, filters, page):
    """List live reservations.

    :param fields: names of FIELDS, a tuple.
    :param filters: {'node': uuid or name, 'instance_uuid': uuid}, both optional.
    :param page: ironic_traits.inventory.paging.Page.
    :returns: (rows, whether there are more).
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.ReservationNotFound: the marker is no live reservation.
    """
    statement = sa.select(*_columns(fields)).where(LIVE)
    with context.read() as connection:
        if 'node' in filters:
            node = read_node(connection, filters['node'], (nodes.c.uuid,))
            statement = statement.where(reservations.c.node_uuid == node.uuid)
        if 'instance_uuid' in filters:
            statement = statement.where(reservations.c.instance_uuid == filters['instance_uuid'])
        return fetch(connection, statement, reservations, page, lambda columns: _read(connection, page.marker, columns))


def reserve(context, instance, idents, expiry):
    """Hold the first node of a list that can be held.

    :param instance: uuid of the instance that it is held for.
    :param idents: uuids or names of nodes, in the order in which they are wanted.
    :param expiry: Expiry.
    :returns: (a row of FIELDS, whether it is new): the instance may hold a node of the list already.
    :raises failures.InstanceReserved: the instance holds a node that is not in the list.
    :raises failures.InstanceOnNode: the instance is on a node.
    :raises failures.NothingToReserve: no node of the list can be held.
    :raises failures.InvalidInput: the time is over, or too far away.
    """
    while True:
        with context.read() as connection:
            expiry.check(context, connection)
            held = _held_by(connection, instance)
            if held:
                if held.node_uuid in idents or held.node_name in idents:
                    return held, False
                raise failures.InstanceReserved(instance=instance, node=held.node_uuid, reservation=held.uuid)
            node_uuid = _first_eligible(connection, idents, instance)
            if node_uuid is None:
                refusals = _refusals(context, connection, idents, instance)
                if all(refusal for _, refusal in refusals):
                    raise failures.NothingToReserve(refusals)
                # One has become free meanwhile.
                continue
        try:
            held = _hold(context, instance, node_uuid, expiry)
        except db_exception.DBDuplicateEntry:
            # Another request for the same instance was quicker: look what it got.
            continue
        if held:
            return held, True
        # Somebody took the node since it was looked at: others may be gone, too.


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
        connection.execute(sa.update(reservations).where(reservations.c.uuid == uuid).values(values))
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


@retried
def purge(service):
    """Delete the rows of all expired reservations.

    :param service: what has ``write``.
    :returns: how many there were.
    """
    with service.write() as connection:
        # No lock of a node is needed: what has expired never comes back to life.
        return connection.execute(sa.delete(reservations).where(_EXPIRED)).rowcount


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
    connection.execute(sa.delete(reservations).where(reservations.c.uuid == held.uuid))
    if not node.offered_before:
        # Otherwise the provider's generation moves with what the deploy changes of the node.
        node_providers.bump_for_reservation(connection, node.id)
    return {'instance_uuid': held.instance_uuid}


def reserved(node_uuid, held):
    """Make the failure that says who holds a node.

    :param held: the node's live reservation.
    """
    until = f' until {_text(held.expires_at)}' if held.expires_at else ''
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
            raise failures.InvalidInput(reason=f'expires_at, {_text(at)}, is over: here it is {_text(moment)}.')
        if latest and at > latest:
            raise failures.InvalidInput(
                reason=f'A reservation may last {options.max_lifetime} seconds, until {_text(latest)}, at most.'
            )
        return at

    def check(self, context, connection):
        """Do nothing when it is a moment that can be.

        :raises failures.InvalidInput: it is not.
        """
        self.at(context, connection.scalar(sa.select(clock())))


_STATE = (
    nodes.c.uuid,
    nodes.c.name,
    nodes.c.provision_state,
    nodes.c.maintenance,
    nodes.c.instance_uuid,
    nodes.c.power_state,
    nodes.c.owner,
    nodes.c.lessee,
    node_providers.CONSUMER,
)
#: All that somebody learns of a node who may not see it.
_HIDDEN = {'reason': 'not available', 'message': 'It is not available.'}


def _eligible_for(instance):
    """Give the condition on nodes that one could be held for an instance: what is allocated to it is no hindrance."""
    return sa.and_(node_providers.OFFERED, ~RESERVED, ~node_providers.allocated_to_others(instance))


def _first_eligible(connection, idents, instance):
    """Give the uuid of the first node that could be held for an instance, None for none.

    A long list is looked at in parts that grow: mostly one of the first will do.
    """
    begin, size = 0, 16
    while begin < len(idents):
        part = idents[begin : begin + size]
        rows = connection.execute(
            sa.select(nodes.c.uuid, nodes.c.name).where(_among(part), _eligible_for(instance))
        ).all()
        found = {row.name: row.uuid for row in rows} | {row.uuid: row.uuid for row in rows}
        first = next((found[ident] for ident in part if ident in found), None)
        if first:
            return first
        begin, size = begin + size, size * 4
    return None


def _among(idents):
    """Give the condition that a node is one of these, by uuid or by name."""
    uuids = [ident for ident in idents if uuidutils.is_uuid_like(ident)]
    names = [ident for ident in idents if not uuidutils.is_uuid_like(ident)]
    return sa.or_(nodes.c.uuid.in_(uuids), nodes.c.name.in_(names)) if names else nodes.c.uuid.in_(uuids)


def _refusals(context, connection, idents, instance):
    """Give [(ident, why the node cannot be held, None when it can), …], each node once."""
    statement = (
        sa.select(*_STATE, reservations.c.uuid.label('reservation_uuid'), reservations.c.expires_at)
        .outerjoin(reservations, OF_NODE)
        .where(_among(idents))
    )
    rows = connection.execute(statement).all()
    found = {row.name: row for row in rows} | {row.uuid: row for row in rows}
    refusals: dict[str, Any] = {}
    for ident in idents:
        node = found.get(ident)
        refusal = _refusal(node, instance)
        if refusal and node and not context.may('baremetal:node:get', {'owner': node.owner, 'lessee': node.lessee}):
            refusal = _HIDDEN
        refusals.setdefault(node.uuid if node else ident, (ident, refusal))
    return list(refusals.values())


def _refusal(node, instance):
    """Say why a node cannot be held: {'reason': …, 'message': …, and what belongs to it}, None when it can."""
    if node is None:
        return {'reason': 'not found', 'message': 'There is no such node.'}
    if node.provision_state != states.AVAILABLE:
        message = f'It is in provision state "{node.provision_state}", not "{states.AVAILABLE}".'
        return {'reason': 'provision state', 'provision_state': node.provision_state, 'message': message}
    if node.maintenance:
        return {'reason': 'maintenance', 'message': 'It is in maintenance.'}
    if node.instance_uuid:
        return {'reason': 'instance', 'message': 'It has an instance.'}
    if node.power_state in (None, states.POWER_ERROR):
        return {'reason': 'power state', 'message': f'Its power state is {node.power_state or "not known"}.'}
    if node.reservation_uuid:
        until = f'until {_text(node.expires_at)}' if node.expires_at else 'without end'
        return {'reason': 'reserved', 'reserved_until': node.expires_at, 'message': f'It is reserved {until}.'}
    if node.consumer_uuid not in (None, instance):
        return {'reason': 'allocated', 'message': 'It is allocated to a consumer in Placement.'}
    return None


@retried
def _hold(context, instance, node_uuid, expiry):
    """Hold a node, if that can still be: a row of FIELDS, else None."""
    with context.write() as connection:
        try:
            node = take(connection, node_uuid)
        except failures.NodeNotFound:
            return None
        if not connection.scalar(sa.select(nodes.c.id).where(nodes.c.uuid == node_uuid, _eligible_for(instance))):
            return None
        key = sa.or_(reservations.c.node_uuid == node_uuid, reservations.c.instance_uuid == instance)
        connection.execute(sa.delete(reservations).where(key, _EXPIRED))
        moment = connection.scalar(sa.select(clock()))
        row = {
            'uuid': uuidutils.generate_uuid(),
            'node_uuid': node_uuid,
            'instance_uuid': instance,
            'created_at': moment,
            'expires_at': expiry.at(context, moment),
        }
        connection.execute(sa.insert(reservations).values(row))
        node_providers.bump_for_reservation(connection, node.id)
        return _read(connection, row['uuid'], _columns(FIELDS))


def _held_by(connection, instance):
    """Give the live reservation of an instance, with ``node_name``; None for none.

    :raises failures.InstanceOnNode: the instance is on a node.
    """
    node = connection.scalar(sa.select(nodes.c.uuid).where(nodes.c.instance_uuid == instance))
    if node:
        raise failures.InstanceOnNode(instance=instance, node=node)
    statement = sa.select(*_columns(FIELDS), nodes.c.name.label('node_name')).join(nodes, OF_NODE)
    return connection.execute(statement.where(reservations.c.instance_uuid == instance)).first()


def _take(connection, uuid):
    """Lock the node of a live reservation, and give it."""
    seen = _read(connection, uuid, (reservations.c.node_uuid,))
    try:
        node = take(connection, seen.node_uuid)
    except failures.NodeNotFound:
        raise failures.ReservationNotFound(reservation=uuid) from None
    _read(connection, uuid, (reservations.c.id,))
    return node


def _read(connection, uuid, columns):
    row = connection.execute(sa.select(*columns).where(reservations.c.uuid == uuid, LIVE)).first()
    if row is None:
        raise failures.ReservationNotFound(reservation=uuid)
    return row


def _columns(fields):
    return tuple(reservations.c[name] for name in fields)


def _text(moment):
    return f'{moment.isoformat(timespec="seconds")}+00:00'
