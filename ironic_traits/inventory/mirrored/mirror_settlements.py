"""Ends claims in the database, according to the state of their nodes in the cloud (``mirror_claims``).

``ironic_traits/mirror/settler.py`` sends the HTTP requests to the cloud, between these transactions.
"""

import datetime
from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import Reader, retried
from ironic_traits.db.statements.types import clock, read_clock
from ironic_traits.inventory.core import history
from ironic_traits.inventory.core.mirror_claim_states import (
    ALLOCATED,
    HELD,
    LOST,
    OPEN,
    TAKEN,
    TAKING,
    UNDOING,
    WATCHED,
)
from ironic_traits.inventory.core.single_node import write
from ironic_traits.inventory.holds import reservations
from ironic_traits.inventory.holds.allocations import ACTIVE
from ironic_traits.inventory.holds.mirror_claims import seconds
from ironic_traits.inventory.mirrored.mirrored_nodes import take_many

_CLAIMS, _NODES = tables.mirror_claims, tables.nodes
#: Maximum number of claims that ``due`` returns.
_BATCH = 100
_OTHER = _CLAIMS.alias('other')
_IS_OVER = _CLAIMS.c.deadline <= clock()
_DIFFERS = sa.or_(_NODES.c.instance_uuid.is_(None), _NODES.c.instance_uuid != _CLAIMS.c.instance_uuid)
#: Condition on claims: no claim of the node is open.
_ALONE = ~sa.exists().where(_OTHER.c.node_uuid == _CLAIMS.c.node_uuid, _OTHER.c.state.not_in((WATCHED, LOST)))
#: Condition on claims, with their nodes: the claim has to be settled.
_DUE = sa.or_(
    sa.and_(_CLAIMS.c.state.in_((TAKING, UNDOING, WATCHED)), _IS_OVER),
    sa.and_(_CLAIMS.c.state == TAKEN, sa.or_(~HELD, _DIFFERS)),
    sa.and_(_CLAIMS.c.state == LOST, sa.or_(~HELD, sa.and_(~_DIFFERS, _ALONE))),
    # The cloud executed a request whose response never arrived.
    sa.and_(_CLAIMS.c.state == WATCHED, ~_DIFFERS, _ALONE),
)


class Finding(NamedTuple):
    """The state of a claim's node in its cloud.

    :ivar instance: its ``instance_uuid`` in the cloud; None if it has no instance, or does not exist in the cloud.
    :ivar is_deployed: whether the instance of the claim is deployed in the cloud, or is being deployed.
    """

    instance: str | None
    is_deployed: bool = False


def due(service: Reader, cloud: str) -> Sequence[sa.Row]:
    """Return the claims of a cloud that have to be settled, [row of ``mirror_claims`` with ``is_held``, …]."""
    statement = (
        sa.select(_CLAIMS, HELD.label('is_held'))
        .join(_NODES, _NODES.c.uuid == _CLAIMS.c.node_uuid)
        .where(_CLAIMS.c.cloud == cloud, _DUE)
    )
    with service.read() as connection:
        return connection.execute(statement.order_by(_CLAIMS.c.created_at, _CLAIMS.c.uuid).limit(_BATCH)).all()


@retried
def begin(context: Context, uuid: str, is_mine: bool = False) -> sa.Row | None:
    """Begin to settle a claim, unless another process settles it, or it need not be settled.

    :param is_mine: whether the caller has begun the claim, and gives it up before its deadline.
    :returns: the row of ``mirror_claims`` before the change, with ``is_held``; None if the claim is not to be settled.
    """
    with context.write() as connection:
        same_claim = _CLAIMS.c.uuid == uuid
        connection.execute(sa.select(_CLAIMS.c.uuid).where(same_claim).with_for_update())
        # Read after the lock: another transaction may have written an allocation in Placement (``node_claims.check``).
        row = connection.execute(sa.select(_CLAIMS, HELD.label('is_held')).where(same_claim)).first()
        moment = read_clock(connection)
        if row is None or not _can_begin(row, moment, is_mine):
            return None
        until = moment + datetime.timedelta(seconds=seconds(context.conf)['undoing'])
        same = _CLAIMS.c.uuid == uuid, _CLAIMS.c.state == row.state
        statement = sa.update(_CLAIMS).where(*same).values(state=UNDOING, deadline=until)
        return row if connection.execute(statement).rowcount else None


def _can_begin(row: sa.Row, moment: datetime.datetime, is_mine: bool) -> bool:
    if row.state == TAKEN:
        return not row.is_held
    return row.state == WATCHED or row.deadline <= moment or (is_mine and row.state == TAKING)


@retried
def postpone(context: Context, uuid: str) -> None:
    """Let another process settle a claim, because this one has failed to settle it."""
    with context.write() as connection:
        same = _CLAIMS.c.uuid == uuid, _CLAIMS.c.state == UNDOING
        connection.execute(sa.update(_CLAIMS).where(*same).values(deadline=read_clock(connection)))


@retried
def forget(context: Context, cloud: str) -> int:
    """Delete the claims of a cloud that were watched long enough, or are lost without a holder. Return their number."""
    is_over = sa.or_(sa.and_(_CLAIMS.c.state == WATCHED, _IS_OVER), sa.and_(_CLAIMS.c.state == LOST, ~HELD))
    with context.write() as connection:
        return connection.execute(sa.delete(_CLAIMS).where(_CLAIMS.c.cloud == cloud, is_over)).rowcount


@retried
def end(context: Context, claim: sa.Row, finding: Finding, reason: str) -> bool:
    """End a claim, and the reservation or allocation that holds the node in this service, in one transaction.

    :param claim: row of ``mirror_claims`` with ``is_held``: the result of ``begin``, or of another read.
    :param finding: the state of the node in the cloud, after the instance was removed if necessary.
    :param reason: why the reservation or the allocation ends, as the end of a sentence.
    :returns: whether the claim was open, and not released meanwhile.
    """
    with context.write() as connection:
        node = take_many(connection, [claim.node_uuid]).get(claim.node_uuid)
        if node is None or _is_released(connection, claim) or not _close(context, connection, claim, finding):
            return False
        changes = _end_holder(context, connection, claim, node, reason)
        if claim.state == TAKEN and claim.is_held:
            _lose(context, connection, claim, node)
        if node.origin == claim.cloud and node.instance_uuid == claim.instance_uuid and not finding.is_deployed:
            changes['instance_uuid'] = _unless_elsewhere(connection, finding.instance)
        if changes:
            write(connection, node, changes)
        return True


def _is_released(connection: sa.Connection, claim: sa.Row) -> bool:
    """Whether a claim held its node when it was read, and its holder has ended since. Who ended it, settles it."""
    if claim.state != TAKEN or not claim.is_held:
        return False
    same = _CLAIMS.c.uuid == claim.uuid, _CLAIMS.c.state == TAKEN, HELD
    return connection.scalar(sa.select(_CLAIMS.c.uuid).where(*same)) is None


def _close(context: Context, connection: sa.Connection, claim: sa.Row, finding: Finding) -> bool:
    """Delete a claim. Watch it instead if a request may still take its node. Return whether it was open.

    If another request for the same instance has made it ``taken`` in the meantime, it stays.
    """
    same = _CLAIMS.c.uuid == claim.uuid, _CLAIMS.c.state.in_({UNDOING, claim.state}), OPEN
    if finding.is_deployed or (claim.state not in (TAKING, WATCHED) and not claim.is_held):
        return bool(connection.execute(sa.delete(_CLAIMS).where(*same)).rowcount)
    until = read_clock(connection) + datetime.timedelta(seconds=seconds(context.conf)['undoing'])
    statement = sa.update(_CLAIMS).where(*same)
    return bool(connection.execute(statement.values(state=WATCHED, deadline=until)).rowcount)


def _lose(context: Context, connection: sa.Connection, claim: sa.Row, node: sa.Row) -> None:
    """Make a claim ``lost`` if an allocation in Placement holds the node. Only its client may end the allocation."""
    earlier = _CLAIMS.c.node_uuid == claim.node_uuid, _CLAIMS.c.state == LOST
    connection.execute(sa.delete(_CLAIMS).where(*earlier))
    same = _CLAIMS.c.uuid == claim.uuid, _CLAIMS.c.state == WATCHED, ALLOCATED
    if connection.execute(sa.update(_CLAIMS).where(*same).values(state=LOST, deadline=node.moment)).rowcount:
        event = (
            f'Instance {claim.instance_uuid} was removed from the node in cloud {claim.cloud}, and has allocated it in '
            f'Placement: it is held in this service only.'
        )
        columns = {'severity': history.WARNING}
        history.record(
            connection, history.entry(context, node.uuid, node.moment, history.RESERVATION, event, **columns)
        )


def _end_holder(
    context: Context, connection: sa.Connection, claim: sa.Row, node: sa.Row, reason: str
) -> dict[str, str | None]:
    """Delete the reservation or the allocation of a claim. Return the resulting changes of the node."""
    if reservations.settle(connection, tables.reservations.c.uuid == claim.holder_uuid):
        return {}
    what = 'Allocation' if claim.holder_uuid == claim.instance_uuid else 'Reservation'
    event = f'{what} {claim.holder_uuid} ended: {reason}.'
    entry = history.entry(context, node.uuid, node.moment, history.RESERVATION, event)
    allocations = tables.node_allocations
    if what == 'Reservation':
        reservations.end(connection, node.id, claim.holder_uuid, entry)
    elif connection.execute(sa.delete(allocations).where(allocations.c.uuid == claim.holder_uuid)).rowcount:
        history.record(connection, entry)
        return {'allocation_uuid': None}
    return {}


def _unless_elsewhere(connection: sa.Connection, instance: str | None) -> str | None:
    """Return an instance; None if a node in this service has it already. The mirror reports this conflict."""
    present = sa.select(_NODES.c.id).where(_NODES.c.instance_uuid == instance)
    return None if instance is None or connection.scalar(present) else instance


@retried
def confirm(context: Context, claim: sa.Row) -> None:
    """Store that the node of a claim has the instance of the claim in its cloud, and that the claim is ``taken``."""
    with context.write() as connection:
        node = take_many(connection, [claim.node_uuid]).get(claim.node_uuid)
        same = _CLAIMS.c.uuid == claim.uuid, _CLAIMS.c.state.in_((UNDOING, TAKEN, LOST)), HELD
        statement = sa.update(_CLAIMS).where(*same).values(state=TAKEN, deadline=None)
        if node is None or not connection.execute(statement).rowcount:
            return
        pending = sa.update(tables.node_allocations).where(tables.node_allocations.c.uuid == claim.holder_uuid)
        connection.execute(pending.values(state=ACTIVE))
        if node.instance_uuid is None and _unless_elsewhere(connection, claim.instance_uuid):
            write(connection, node, {'instance_uuid': claim.instance_uuid})
