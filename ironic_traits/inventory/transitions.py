"""The work that nodes are waiting for: written down by requests, carried out by workers.

A worker claims a transition for a time.  When it does not come back before that is over (it was killed, its machine is
gone), the claim is worth nothing any more, and another worker goes on from where the driver last said so.  All of it by
the clock of the database.
"""

import dataclasses
import datetime
from typing import Any

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.db.engine import retried
from ironic_traits.db.models import node_vifs, nodes, transitions
from ironic_traits.db.types import clock
from ironic_traits.deploy import base, states, time_limits
from ironic_traits.inventory.single_node import change, take


@dataclasses.dataclass(frozen=True)
class Claim:
    """A transition that a worker carries.

    :ivar node: uuid of the node.
    :ivar lease: names the claim.
    :ivar action: one of ``states.ACTIONS``.
    :ivar arguments: what the client said, a dict.
    :ivar phase: how often the driver has asked to be called again.
    :ivar attempts: how often the transition was claimed since then, this time included.
    :ivar seconds: how long ago the transition was first claimed.
    """

    node: str
    lease: str
    action: str
    arguments: dict
    phase: int
    attempts: int
    seconds: float


def replace(connection, node_id, action, arguments, moment):
    """Write down what a node is waiting for, in place of what it waited for before.

    :param connection: of a writer that has taken the node's lock.
    :param action: one of ``states.ACTIONS``; None for nothing.
    :param arguments: what the driver is to know, a dict.
    :param moment: when it is due.
    """
    connection.execute(sa.delete(transitions).where(transitions.c.node_id == node_id))
    if action:
        row = {'node_id': node_id, 'action': action, 'arguments': arguments, 'due_at': moment}
        connection.execute(sa.insert(transitions).values(row))


def due(service, limit):
    """List nodes with a transition that is due and that nobody carries.

    :param service: ironic_traits.service.Service.
    :returns: [uuid, …], the one that waits longest first.
    """
    statement = (
        sa.select(nodes.c.uuid)
        .join(transitions, transitions.c.node_id == nodes.c.id)
        .where(transitions.c.due_at <= clock(), _free(clock()))
        .order_by(transitions.c.due_at, transitions.c.node_id)
        .limit(limit)
    )
    with service.read() as connection:
        return list(connection.scalars(statement))


@retried
def claim(service, uuid):
    """Take a node's transition to carry it.

    :param uuid: of the node.
    :returns: (Claim, whether the node was waiting in a state of its own); None when another one was quicker.
    :raises failures.NodeNotFound: the node is gone.
    """
    with service.write() as connection:
        node = take(connection, uuid, nodes.c.provision_state, nodes.c.target_provision_state)
        moment = connection.scalar(sa.select(clock()))
        lease = uuidutils.generate_uuid()
        taken = connection.execute(
            sa.update(transitions)
            .where(transitions.c.node_id == node.id, transitions.c.due_at <= moment, _free(moment))
            .values(
                lease=lease,
                leased_until=moment + datetime.timedelta(seconds=service.conf.deploy.lease_seconds),
                attempts=transitions.c.attempts + 1,
                begun_at=sa.func.coalesce(transitions.c.begun_at, moment),
            )
        )
        if not taken.rowcount:
            return None
        if node.provision_state in states.WAITING:
            _move(connection, node, 'resume', moment, reservation=service.conf.host)
        row = connection.execute(sa.select(transitions).where(transitions.c.node_id == node.id)).one()
        seconds = (moment - row.begun_at).total_seconds()
        return Claim(node.uuid, lease, row.action, row.arguments, row.phase, row.attempts, seconds)


@retried
def settle(service, claim, outcome):
    """Write down what came of a claimed transition.

    :param claim: Claim.
    :param outcome: ironic_traits.deploy.base.Done or Later, or the WorkFailed that the driver raised.
    :returns: whether the claim was still worth something; nothing is changed when it was not.
    :raises failures.NodeNotFound: the node is gone.
    """
    with service.write() as connection:
        node = take(connection, claim.node, *_SETTLED)
        mine = transitions.c.node_id == node.id, transitions.c.lease == claim.lease
        if connection.scalar(sa.select(transitions.c.lease).where(*mine)) is None:
            return False
        moment = connection.scalar(sa.select(clock()))
        if isinstance(outcome, base.Later):
            _postpone(connection, node, claim, moment, _within_limit(service, claim, outcome.seconds))
        elif isinstance(outcome, base.Done):
            _finish(connection, node, claim, moment, outcome)
        else:
            _give_up(connection, node, claim, moment, outcome)
        return True


@retried
def give_up(context, ident, reason):
    """End the work that goes on on a node, as if it had failed; who carries it changes nothing any more.

    :param ident: uuid or name.
    :param reason: for ``last_error``.
    :returns: the action that was given up; None for a lock without any.
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.NodeNotLocked: no work goes on.
    """
    with context.write() as connection:
        node = take(connection, ident, *_SETTLED, nodes.c.reservation)
        moment = connection.scalar(sa.select(clock()))
        row = connection.execute(sa.select(transitions).where(transitions.c.node_id == node.id)).first()
        if row:
            _give_up(connection, node, row, moment, base.WorkFailed(reason))
            return row.action
        if not node.reservation:
            raise failures.NodeNotLocked(node=node.uuid)
        change(connection, node, {'reservation': None, 'target_power_state': None, 'last_error': reason})
        return None


_SETTLED = (
    nodes.c.provision_state,
    nodes.c.target_provision_state,
    nodes.c.target_power_state,
    nodes.c.properties,
    nodes.c.retired,
)


def _free(moment):
    return sa.or_(transitions.c.lease.is_(None), transitions.c.leased_until <= moment)


def _within_limit(service, claim, seconds):
    limit = time_limits.seconds(service.conf.deploy, claim.action, claim.arguments)
    # Then somebody has to notice that the time is over.
    return min(seconds, max(limit - claim.seconds, 0)) if limit else seconds


def _postpone(connection, node, claim, moment, seconds):
    if claim.action != 'power' and states.follow(node.provision_state, 'wait'):
        # Nobody works on the node meanwhile: it can be aborted, or deleted.
        _move(connection, node, 'wait', moment, reservation=None)
    connection.execute(
        sa.update(transitions)
        .where(transitions.c.node_id == node.id)
        .values(
            lease=None,
            leased_until=None,
            attempts=0,
            phase=claim.phase + 1,
            due_at=moment + datetime.timedelta(seconds=seconds),
        )
    )


def _finish(connection, node, claim, moment, done):
    changes = {'reservation': None}
    if done.power_state:
        changes['power_state'] = done.power_state
    if done.properties:
        changes['properties'] = node.properties | done.properties
    if claim.action == 'power':
        replace(connection, node.id, None, {}, moment)
        change(connection, node, {'target_power_state': None, **changes})
    elif claim.action == 'undeploy':
        _clean_after(connection, node, moment, changes)
    else:
        if claim.action == 'inspect':
            changes['inspection_finished_at'] = moment
        replace(connection, node.id, None, {}, moment)
        by_hand = node.provision_state == states.CLEANING and node.target_provision_state == states.MANAGEABLE
        _move(connection, node, 'manage' if by_hand else 'done', moment, **changes)


def _clean_after(connection, node, moment, changes):
    """Take the instance and what is its own off the node, and send the node to its cleaning."""
    connection.execute(sa.delete(node_vifs).where(node_vifs.c.node_uuid == node.uuid))
    changes |= {'instance_uuid': None, 'instance_info': {}, 'driver_internal_info': {}, 'configdrive': None}
    if node.retired:
        changes['target_provision_state'] = states.MANAGEABLE
    changes.pop('reservation')
    replace(connection, node.id, 'clean', {}, moment)
    _move(connection, node, 'clean', moment, **changes)


def _give_up(connection, node, claim, moment, error):
    reason = str(error)
    replace(connection, node.id, None, {}, moment)
    changes: dict[str, Any] = {'reservation': None, 'last_error': reason}
    if claim.action == 'power':
        asked, target = claim.arguments['target'], node.target_power_state
        changes['last_error'] = f"Failed to change power state to '{target}' by '{asked}': {reason}"
        change(connection, node, {'target_power_state': None, **changes})
        return
    if claim.action == 'clean' and not isinstance(error, base.WorkRefused):
        changes |= {'maintenance': True, 'fault': 'clean failure', 'maintenance_reason': reason}
    _move(connection, node, 'fail', moment, **changes)


def _move(connection, node, event, moment, **changes):
    """Let an event happen to a node."""
    state = states.follow(node.provision_state, event)
    values = {
        'provision_state': state,
        'target_provision_state': states.target(state, node.target_provision_state),
        'provision_updated_at': moment,
        **changes,
    }
    change(connection, node, values)
