"""Claims: mirrored nodes that are held in their cloud, too, by their ``instance_uuid`` (``[mirror] claims``).

The transaction that holds a mirrored node in this service, for a reservation or an allocation, inserts a claim. The
node is taken in the cloud only after the commit. If a process is killed in between, the claim shows what has to be
settled (``mirror_settlements``). When its holder (the reservation or the allocation) ends or expires, the claim is not
changed: the missing holder is the reason to settle it. If its instance has allocated the node in Placement by then,
this allocation holds the claim.

=============  =========================================================================================================
state          meaning
=============  =========================================================================================================
``taking``     held in this service, and perhaps in the cloud. It is settled if it is not ``taken`` before its deadline
``taken``      held on both sides, as long as its holder exists
``undoing``    a process settles it, until its deadline; after that, another one may
``watched``    undone before it was ``taken``. Until its deadline, a late effect of the request is undone, too
``lost``       another client has removed the instance in the cloud, and an allocation in Placement holds the node in
               this service. The deadline is the time of this discovery. It is ``taken`` if the node gets the instance
               again
=============  =========================================================================================================

A claim is open in all states but the last two. While it is open, the node has the instance in this service, so that the
node is not offered to others.
"""

import datetime
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits.conf.mirror import claims_any_nodes, claims_nodes
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import Reader, Writer, retried
from ironic_traits.db.statements.annotations import Condition, Values
from ironic_traits.db.statements.types import read_clock
from ironic_traits.inventory.core.eligibility import LIVE
from ironic_traits.inventory.core.mirror_claim_states import ALLOCATED, HELD, OPEN, TAKEN, TAKING
from ironic_traits.inventory.core.node_filters import among
from ironic_traits.inventory.core.single_node import write
from ironic_traits.inventory.holds.allocations import ACTIVE, ALLOCATING

_CLAIMS, _NODES = tables.mirror_claims, tables.nodes
#: Condition on nodes: the node has its instance by a claim whose holder exists.
_PENDING = (
    sa.exists()
    .where(_CLAIMS.c.node_uuid == _NODES.c.uuid, _CLAIMS.c.instance_uuid == _NODES.c.instance_uuid, OPEN, HELD)
    .correlate(_NODES)
)


class Holding(NamedTuple):
    """A node that a transaction holds.

    :ivar node: the result of ``single_node.take``.
    :ivar holder: uuid of the reservation or of the allocation.
    :ivar instance: uuid of the instance. For an allocation, it is the same uuid.
    """

    node: sa.Row
    holder: str
    instance: str


def seconds(conf: Any) -> dict[str, float]:
    """Return how long the parts of a claim may take.

    :returns: ``request``: one request to the cloud; ``taking``: from the hold in this service to the end of all
        requests; ``undoing``: all requests of one attempt to settle it. The first two fit into [mirror] claim_seconds,
        with time left to settle the claim.
    """
    whole = conf.mirror.claim_seconds
    return {'request': whole / 3, 'taking': whole * 2 / 3, 'undoing': whole}


def beyond(context: Context) -> list[Condition]:
    """Return the condition on nodes that their instance is not only that of a claim whose holder exists, as a list."""
    return [~_PENDING] if claims_any_nodes(context.conf) else []


def allocated_without_reservation(
    context: Context, connection: sa.Connection, instances: Collection[str]
) -> sa.Row | None:
    """Return a mirrored node that one of the instances holds in its cloud only by its allocation in Placement.

    :returns: row with ``uuid`` and ``instance_uuid``; None if there is none.
    """
    if not claims_any_nodes(context.conf):
        return None
    reservations = tables.reservations
    reserved = sa.exists().where(reservations.c.instance_uuid == _NODES.c.instance_uuid, LIVE).correlate(_NODES)
    claimed = _CLAIMS.c.node_uuid == _NODES.c.uuid, _CLAIMS.c.instance_uuid == _NODES.c.instance_uuid, OPEN, ALLOCATED
    statement = sa.select(_NODES.c.uuid, _NODES.c.instance_uuid).join(_CLAIMS, sa.and_(*claimed))
    return connection.execute(statement.where(_NODES.c.instance_uuid.in_(list(instances)), ~reserved).limit(1)).first()


def begin(context: Context, connection: sa.Connection, holdings: Iterable[Holding]) -> None:
    """Insert claims for the mirrored nodes among the nodes that a transaction holds.

    :param connection: connection of a writer that has taken the locks of the nodes, and has checked that the instances
        are on no other node.
    """
    mirrored = [each for each in holdings if each.node.origin and claims_nodes(context.conf, each.node.origin)]
    if not mirrored:
        return
    moment = read_clock(connection)
    deadline = moment + datetime.timedelta(seconds=seconds(context.conf)['taking'])
    rows = [
        {
            'uuid': uuidutils.generate_uuid(),
            'cloud': node.origin,
            'node_uuid': node.uuid,
            'instance_uuid': instance,
            'holder_uuid': holder,
            'state': TAKING,
            'deadline': deadline,
            'created_at': moment,
        }
        for node, holder, instance in mirrored
    ]
    connection.execute(sa.insert(_CLAIMS), rows)
    for node, holder, instance in mirrored:
        changes = {'instance_uuid': instance} | ({'allocation_uuid': holder} if holder == instance else {})
        write(connection, node, changes)


def claims_of_holders(service: Reader, holders: Collection[str]) -> Sequence[sa.Row]:
    """Return the open claims for reservations or allocations.

    :returns: [row of ``mirror_claims`` with ``is_held`` and ``node_created_at``, …].
    """
    return _open(service, _CLAIMS.c.holder_uuid.in_(list(holders)))


def claims_of_node(service: Reader, ident: str) -> Sequence[sa.Row]:
    """Return the open claim of a node, as ``claims_of_holders`` does."""
    return _open(service, _CLAIMS.c.node_uuid.in_(sa.select(_NODES.c.uuid).where(among([ident]))))


def _open(service: Reader, condition: Condition) -> Sequence[sa.Row]:
    created = sa.select(_NODES.c.created_at).where(_NODES.c.uuid == _CLAIMS.c.node_uuid).scalar_subquery()
    statement = sa.select(_CLAIMS, HELD.label('is_held'), created.label('node_created_at')).where(condition, OPEN)
    with service.read() as connection:
        return connection.execute(statement.order_by(_CLAIMS.c.uuid)).all()


def claims_without_holders(service: Reader, instances: Collection[str]) -> Sequence[sa.Row]:
    """Return the claims without a holder, as ``claims_of_holders`` does.

    :param instances: uuids of their instances.
    """
    # By their nodes: claims have no index of their instances.
    with_instance = sa.select(_NODES.c.uuid).where(_NODES.c.instance_uuid.in_(list(instances)))
    over = _CLAIMS.c.node_uuid.in_(with_instance), _CLAIMS.c.state == TAKEN, ~HELD
    with service.read() as connection:
        return connection.execute(sa.select(_CLAIMS, HELD.label('is_held')).where(*over)).all()


@retried
def extend(context: Context, uuids: Collection[str]) -> bool:
    """Extend the deadlines of claims that are ``taking``. Return whether all of them still are."""
    with context.write() as connection:
        until = read_clock(connection) + datetime.timedelta(seconds=seconds(context.conf)['taking'])
        statement = sa.update(_CLAIMS).where(_CLAIMS.c.uuid.in_(list(uuids)), _CLAIMS.c.state == TAKING)
        return connection.execute(statement.values(deadline=until)).rowcount == len(uuids)


class _Incomplete(Exception):
    """One of the claims has ended in the meantime."""


def finish(service: Writer, uuids: Collection[str]) -> bool:
    """Make claims ``taken``, all of them or none. Return whether they are.

    :param uuids: uuids of claims whose nodes are held in their clouds by now.
    """
    try:
        return _finish(service, uuids)
    except _Incomplete:
        return False


@retried
def _finish(service: Writer, uuids: Collection[str]) -> bool:
    named = _CLAIMS.c.uuid.in_(list(uuids))
    holders = sa.select(_CLAIMS.c.holder_uuid).where(named)
    allocations = tables.node_allocations
    with service.write() as connection:
        taken = sa.update(_CLAIMS).where(named, _CLAIMS.c.state == TAKING, HELD)
        connection.execute(taken.values(state=TAKEN, deadline=None))
        # Another request for the same instance may have been first.
        statement = sa.select(sa.func.count()).select_from(_CLAIMS).where(named, _CLAIMS.c.state == TAKEN)
        if connection.scalar(statement) != len(uuids):
            raise _Incomplete
        pending = sa.update(allocations).where(allocations.c.uuid.in_(holders), allocations.c.state == ALLOCATING)
        connection.execute(pending.values(state=ACTIVE))
        return True


def adopt(connection: sa.Connection, node: sa.Row) -> Values:
    """Delete the claims of a node that becomes this service's own. Return the resulting changes of the node.

    The instance of a claim stays on the node only if an allocation of this service holds the node. A reservation needs
    no instance.

    :param node: row with ``uuid`` and ``instance_uuid``.
    """
    same = _CLAIMS.c.node_uuid == node.uuid
    claim = connection.execute(sa.select(_CLAIMS, HELD.label('is_held')).where(same, OPEN)).first()
    connection.execute(sa.delete(_CLAIMS).where(same))
    if claim is None or claim.instance_uuid != node.instance_uuid:
        return {}
    if claim.is_held and claim.holder_uuid == claim.instance_uuid:
        return {'allocation_uuid': claim.holder_uuid}
    return {'instance_uuid': None}


def open_claim(connection: sa.Connection, node_uuid: str) -> sa.Row | None:
    """Return the open claim of a node; None if there is none."""
    return connection.execute(sa.select(_CLAIMS).where(_CLAIMS.c.node_uuid == node_uuid, OPEN)).first()
