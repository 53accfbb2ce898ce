"""Reservations: a node is held for an instance, for a while.

The row of an expired one goes when somebody needs its node or its instance, or by ``purge``.  Every decision is made
under the node's lock.
"""

import datetime

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.db.engine import retried
from ironic_traits.db.models import nodes, reservations
from ironic_traits.db.types import clock
from ironic_traits.inventory import eligibility, explanations, matches, node_filters, node_providers
from ironic_traits.inventory.eligibility import LIVE, OF_NODE, moment_text
from ironic_traits.inventory.paging import fetch
from ironic_traits.inventory.single_node import read as read_node
from ironic_traits.inventory.single_node import take
from ironic_traits.matching.explanations import MOST

FIELDS = ('uuid', 'node_uuid', 'instance_uuid', 'created_at', 'updated_at', 'expires_at')

_EXPIRED = reservations.c.expires_at <= clock()
#: A column of a SELECT from nodes: the uuid of the node's live reservation, None for none.
UUID = sa.select(reservations.c.uuid).where(OF_NODE).correlate(nodes).scalar_subquery().label('reservation_uuid')
#: How many nodes more than are wanted are looked at, of which others may be holding some at the same time.
_SPARE = 32
#: All that somebody learns of a node who may not see it.
_HIDDEN = {'reason': 'not available', 'message': 'It is not available.'}


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
    statement = sa.select(*_columns(fields)).where(LIVE)
    seen = node_filters.visible(context)
    if seen:
        statement = statement.where(reservations.c.node_uuid.in_(sa.select(nodes.c.uuid).where(*seen)))
    with context.read() as connection:
        if 'node' in filters:
            node = read_node(connection, filters['node'], (nodes.c.uuid,), seen)
            statement = statement.where(reservations.c.node_uuid == node.uuid)
        if 'instance_uuid' in filters:
            statement = statement.where(reservations.c.instance_uuid == filters['instance_uuid'])
        return fetch(connection, statement, reservations, page, lambda columns: _read(connection, page.marker, columns))


def reserve(context, instances, wanted, expiry):
    """Hold a node for each of some instances: all of them, or none.

    :param instances: uuids of the instances that they are held for, no one twice.
    :param wanted: ironic_traits.inventory.matches.Wanted.
    :param expiry: Expiry.
    :returns: (a row of FIELDS for each instance, whether one of them is new): an instance may hold such a node already.
    :raises failures.InstanceReserved: an instance holds another node.
    :raises failures.InstanceOnNode: an instance is on a node.
    :raises failures.NothingToReserve: not so many nodes of the list can be held.
    :raises failures.NoMatch: not so many nodes match.
    :raises failures.InvalidInput: the time is over, or too far away.
    """
    # The first of a list is waited for, if it is being written to; otherwise one node will do as well as another.
    patient = wait = wanted.idents is not None
    while True:
        try:
            return _hold(context, instances, wanted, expiry, wait)
        except _TooFew as few:
            _refuse(context, few.instances, wanted)
            # There are enough by now.
        except _Lost:
            wait = patient or not wait
        except db_exception.DBDuplicateEntry:
            # Another request for the same instance was quicker: look what it got.
            continue


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


class _Lost(Exception):
    """Somebody was quicker, or is about to be."""


class _TooFew(Exception):
    """There are not as many nodes as are wanted.

    :param instances: those that still want one.
    """

    def __init__(self, instances):
        super().__init__()
        self.instances = instances


@retried
def _hold(context, instances, wanted, expiry, wait):
    """Find nodes and hold them, in one transaction; as ``reserve``.

    :param wait: whether to wait for those that somebody is writing to, or to pass over them.
    """
    with context.write() as connection:
        expiry.check(context, connection)
        held = _held_by(context, connection, instances)
        _check_held(context, connection, wanted, held.values())
        rest = [instance for instance in instances if instance not in held]
        if rest:
            found = _take_free(context, connection, wanted, rest, wait)
            held |= _insert(context, connection, dict(zip(rest, found, strict=True)), expiry)
        return [held[instance] for instance in instances], bool(rest)


def _held_by(context, connection, instances):
    """Give the live reservations of instances: {instance: row}, with how the caller may be told of the node.

    :raises failures.InstanceOnNode: an instance is on a node.
    """
    told = _told(context)
    on_node = sa.select(nodes.c.instance_uuid, told).where(nodes.c.instance_uuid.in_(instances)).limit(1)
    found = connection.execute(on_node).first()
    if found:
        raise failures.InstanceOnNode(instance=found.instance_uuid, node=found.told)
    statement = sa.select(*_columns(FIELDS), told).join(nodes, OF_NODE)
    return {
        row.instance_uuid: row
        for row in connection.execute(statement.where(reservations.c.instance_uuid.in_(instances)))
    }


def _told(context):
    """Give the column of a SELECT from nodes that says which node it is, to those who may see it."""
    seen = sa.and_(sa.true(), *node_filters.visible(context))
    return sa.case((seen, sa.literal('node ') + nodes.c.uuid), else_='a node of another project').label('told')


def _check_held(context, connection, wanted, held):
    """Do nothing when the nodes that are held already are such as are wanted."""
    if held:
        fine = matches.matching(context, connection, wanted, [row.node_uuid for row in held])
        why = 'is not in the list' if wanted.is_a_list else 'does not match'
        for row in held:
            if row.node_uuid not in fine:
                raise failures.InstanceReserved(instance=row.instance_uuid, node=row.told, why=why)


def _take_free(context, connection, wanted, instances, wait):
    """Lock as many nodes as there are instances, and be sure that they are still free.

    :returns: what ``take`` gave, in the order of the nodes' preference.
    """
    count, alone = len(instances), _alone(instances)
    free = eligibility.eligible_for(alone)
    found = []
    if alone and wanted.idents is None and connection.scalar(node_providers.has_allocations(alone)):
        # What it has been given in Placement is what it is to have.
        given = sa.and_(free, node_providers.allocated_to(alone))
        found = matches.candidates(context, connection, wanted, given, count)
    found = found or matches.candidates(context, connection, wanted, free, count if wait else count + _SPARE)
    if len(found) < count:
        raise _TooFew(instances)
    chosen = found if wait else _not_locked(connection, found, count)
    taken = {}
    # In the order of their ids, as everybody does who locks several.
    for node in sorted(chosen, key=lambda node: node.id):
        try:
            taken[node.id] = take(connection, node.uuid)
        except failures.NodeNotFound:
            raise _Lost from None
    still = sa.select(sa.func.count()).where(nodes.c.id.in_(taken), *wanted.conditions(context), free)
    if connection.scalar(still) < count:
        raise _Lost
    return [taken[node.id] for node in chosen]


def _not_locked(connection, found, count):
    """Lock as many nodes as are wanted, of those that nobody else has locked: the best ones, or what comes after."""
    chosen = _lock(connection, found[:count], count)
    if len(chosen) < count:
        chosen += _lock(connection, found[count:], count - len(chosen))
    if len(chosen) < count:
        raise _Lost
    return chosen


def _lock(connection, found, count):
    # By the key, and no further than the limit: what is looked at is locked, and what is sorted has been looked at.
    ids = sa.select(nodes.c.id).where(nodes.c.id.in_([node.id for node in found])).order_by(nodes.c.id).limit(count)
    locked = set(connection.scalars(ids.with_for_update(skip_locked=True)))
    return [node for node in found if node.id in locked]


def _insert(context, connection, held, expiry):
    """Make reservations.

    :param held: {instance: node that is locked}.
    :returns: {instance: row}.
    """
    uuids = [node.uuid for node in held.values()]
    key = sa.or_(reservations.c.node_uuid.in_(uuids), reservations.c.instance_uuid.in_(held))
    connection.execute(sa.delete(reservations).where(key, _EXPIRED))
    moment = connection.scalar(sa.select(clock()))
    same = {'created_at': moment, 'expires_at': expiry.at(context, moment)}
    rows = [
        {'uuid': uuidutils.generate_uuid(), 'node_uuid': node.uuid, 'instance_uuid': instance, **same}
        for instance, node in held.items()
    ]
    connection.execute(sa.insert(reservations), rows)
    for node in held.values():
        node_providers.bump_for_reservation(connection, node.id)
    made = sa.select(*_columns(FIELDS)).where(reservations.c.instance_uuid.in_(held))
    return {row.instance_uuid: row for row in connection.execute(made)}


def _refuse(context, instances, wanted):
    """Say why there are not as many nodes as are wanted; nothing when there are by now.

    :param instances: those that still want one.
    """
    needed, explanation = len(instances), None
    if not wanted.is_a_list:
        explanation = explanations.explain(context, wanted, _alone(instances), needed=needed)
        if explanation['matched'] >= needed:
            return
    if wanted.idents is None:
        raise failures.NoMatch(needed, explanation)
    refusals = _refusals(context, instances, wanted)
    if sum(refusal is None for _, refusal in refusals) < needed:
        raise failures.NothingToReserve(needed, [told for told in refusals if told[1]], explanation)


def _refusals(context, instances, wanted):
    """Give [(ident, why the node cannot be held, None when it can), …], each node once."""
    seen = sa.and_(sa.true(), *node_filters.visible(context)).label('seen')
    columns = (nodes.c.uuid, nodes.c.name, seen, *eligibility.STATE)
    statement = sa.select(*columns).outerjoin(reservations, OF_NODE).where(matches.among(wanted.idents))
    with context.read() as connection:
        rows = connection.execute(statement).all()
    instance = _alone(instances)
    rejected = {} if wanted.is_a_list else explanations.rejections(context, wanted, instance)
    found = {row.name: row for row in rows} | {row.uuid: row for row in rows}
    refusals: dict[str, tuple] = {}
    for ident in wanted.idents:
        node = found.get(ident)
        refusal = eligibility.refusal(node, instance)
        if node and not node.seen:
            refusal = _HIDDEN
        elif node and rejected.get(node.uuid):
            clauses = rejected[node.uuid]
            refusal = refusal or {'reason': 'rejected', 'message': f'It does not match: rejected by {clauses[0]}.'}
            # There may be a thousand of these; the nearest ones are told in full by the explanation.
            refusal = refusal | {'rejected_by': clauses[:MOST]}
        refusals.setdefault(node.uuid if node else ident, (ident, refusal))
    return list(refusals.values())


def _alone(instances):
    """Give the instance that is the only one, None for several: what one of them has allocated is not for another."""
    return instances[0] if len(instances) == 1 else None


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
