"""Transitions: the work on nodes that requests store and workers carry out.

A worker claims a transition for a limited time (a lease). If it does not settle the claim within that time, because it
was killed, for example, the claim is void. Another worker claims the transition and continues with the last step and
phase that the driver has begun. All times are those of the database's clock.
"""

import dataclasses
import datetime
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.annotations import Condition, Values
from ironic_traits.db.engine import retried
from ironic_traits.db.types import clock, read_clock
from ironic_traits.deploy import base, states, step_runs, steps, time_limits
from ironic_traits.inventory import allocations, history, workers
from ironic_traits.inventory.single_node import change, take
from ironic_traits.service import Service

#: When the transition of a held node is due.
NEVER = datetime.datetime(9999, 1, 1)  # noqa: DTZ001, times in the database have no time zone


@dataclasses.dataclass(frozen=True)
class Claim:
    """A transition that a worker has claimed.

    :ivar node: uuid of the node.
    :ivar lease: id of the claim, a uuid.
    :ivar action: one of ``states.ACTIONS``.
    :ivar arguments: {name: value} for the driver.
    :ivar phase: how often the driver has asked to be called again (``base.Later``), in this step.
    :ivar attempts: number of claims in this phase, including this one.
    :ivar seconds: seconds since the first claim of the transition.
    :ivar step: the step of the action that is next, as for ``base.Task``; None if the steps are not put together yet
        (``begin``), or if the action has none.
    """

    node: str
    lease: str
    action: str
    arguments: dict[str, Any]
    phase: int
    attempts: int
    seconds: float
    step: dict[str, Any] | None


def replace(
    connection: sa.Connection, node_id: int, action: str | None, arguments: Mapping[str, Any], moment: datetime.datetime
) -> None:
    """Store the transition of a node in place of the one before.

    :param connection: of a writer that has taken the node's lock.
    :param node_id: primary key of the node.
    :param action: one of ``states.ACTIONS``; None for no transition.
    :param arguments: {name: value} for the driver.
    :param moment: when it is due: datetime by the clock of the database.
    """
    connection.execute(sa.delete(tables.transitions).where(tables.transitions.c.node_id == node_id))
    if action:
        row = {'node_id': node_id, 'action': action, 'arguments': arguments, 'due_at': moment}
        connection.execute(sa.insert(tables.transitions).values(row))


def held(connection: sa.Connection, node_id: int) -> Values:
    """Return the work of a held node, as an argument of the action "power", after which it is held again.

    :param connection: of a writer that has taken the node's lock.
    :param node_id: primary key of the node.
    :returns: {'held': {column: value}}; {} for a node without work.
    """
    names = ('action', 'arguments', 'steps', 'step_index', 'phase')
    columns = (tables.transitions.c[name] for name in names)
    row = connection.execute(sa.select(*columns).where(tables.transitions.c.node_id == node_id)).first()
    return {'held': dict(zip(names, row, strict=True))} if row else {}


def release(connection: sa.Connection, node_id: int, moment: datetime.datetime) -> None:
    """Make the transition of a held node due. Its time limit begins again.

    :param connection: of a writer that has taken the node's lock.
    :param node_id: primary key of the node.
    :param moment: datetime by the clock of the database.
    """
    released = {'due_at': moment, 'begun_at': None}
    connection.execute(sa.update(tables.transitions).where(tables.transitions.c.node_id == node_id).values(released))


def due(service: Service, limit: int) -> list[str]:
    """Return the nodes whose transition is due and not claimed, and which the workers of this process work on.

    :param limit: most nodes.
    :returns: [uuid, …], the one that has waited longest first.
    """
    statement = (
        sa.select(tables.nodes.c.uuid)
        .join(tables.transitions, tables.transitions.c.node_id == tables.nodes.c.id)
        .where(tables.transitions.c.due_at <= clock(), _free(clock()))
        .where(tables.nodes.c.conductor_group == workers.group(service), tables.nodes.c.driver.in_(service.drivers))
        .order_by(tables.transitions.c.due_at, tables.transitions.c.node_id)
        .limit(limit)
    )
    with service.read() as connection:
        return list(connection.scalars(statement))


@retried
def claim(service: Service, uuid: str) -> Claim | None:
    """Claim the transition of a node.

    A node in a wait state moves back to the working state, and gets the lock (``reservation``) of this host.

    :param uuid: of the node.
    :returns: Claim; None if there is no transition that is due and not claimed, or the node has another conductor group
        or driver than the workers of this process.
    :raises failures.NodeNotFound: there is no such node.
    """
    with service.write() as connection:
        node = take(connection, uuid, *_CLAIMED)
        if node.conductor_group != workers.group(service) or node.driver not in service.drivers:
            return None
        moment = read_clock(connection)
        lease = uuidutils.generate_uuid()
        result = connection.execute(
            sa.update(tables.transitions)
            .where(tables.transitions.c.node_id == node.id, tables.transitions.c.due_at <= moment, _free(moment))
            .values(
                lease=lease,
                leased_until=moment + datetime.timedelta(seconds=service.conf.deploy.lease_seconds),
                attempts=tables.transitions.c.attempts + 1,
                begun_at=sa.func.coalesce(tables.transitions.c.begun_at, moment),
            )
        )
        if not result.rowcount:
            return None
        if node.provision_state in states.WAITING:
            _move(connection, node, 'resume', moment, reservation=service.conf.host)
        row = connection.execute(sa.select(tables.transitions).where(tables.transitions.c.node_id == node.id)).one()
        seconds = (moment - row.begun_at).total_seconds()
        return Claim(
            node=node.uuid,
            lease=lease,
            action=row.action,
            arguments={name: value for name, value in row.arguments.items() if name != 'held'},
            phase=row.phase,
            attempts=row.attempts,
            seconds=seconds,
            step=row.steps[row.step_index] if row.steps else None,
        )


@retried
def begin(service: Service, claim: Claim, planned: Sequence[dict[str, Any]]) -> bool:
    """Store the steps of a claimed transition, and show the first one in the node.

    :param planned: the steps in their order, at least one.
    :returns: whether the claim was still valid; if not, nothing is changed.
    :raises failures.NodeNotFound: there is no such node.
    """
    with service.write() as connection:
        node = take(connection, claim.node)
        result = connection.execute(
            sa.update(tables.transitions)
            .where(tables.transitions.c.node_id == node.id, tables.transitions.c.lease == claim.lease)
            .values(steps=planned)
        )
        if result.rowcount:
            change(connection, node, steps.shown(claim.action, planned[0]))
        return bool(result.rowcount)


@retried
def settle(service: Service, claim: Claim, outcome: base.Done | base.Later | step_runs.Held | base.WorkFailed) -> bool:
    """Store the outcome of a claimed transition.

    :param outcome: ironic_traits.deploy.base.Done or Later, step_runs.Held, or the WorkFailed that the driver raised.
    :returns: whether the claim was still valid; if not, nothing is changed.
    :raises failures.NodeNotFound: there is no such node.
    """
    with service.write() as connection:
        node = take(connection, claim.node, *_SETTLED)
        same_claim = tables.transitions.c.node_id == node.id, tables.transitions.c.lease == claim.lease
        row = connection.execute(sa.select(tables.transitions).where(*same_claim)).first()
        if row is None:
            return False
        moment = read_clock(connection)
        author = functools.partial(history.entry, None, conductor=service.conf.host)
        if isinstance(outcome, base.Later):
            _postpone(connection, node, claim, moment, _within_limit(service, claim, outcome.seconds))
        elif isinstance(outcome, step_runs.Held):
            _move(connection, node, 'hold', moment, author, reservation=None)
            _release(connection, node, NEVER, phase=claim.phase + 1)
        elif isinstance(outcome, base.Done) and row.steps and row.step_index + 1 < len(row.steps):
            _continue(connection, node, row, moment, outcome)
        elif isinstance(outcome, base.Done):
            _finish(connection, node, claim, moment, outcome, author)
        else:
            _give_up(connection, node, claim, moment, outcome, author)
        return True


@retried
def give_up(context: Context, ident: str, reason: str) -> str | None:
    """End the transition of a node as if it had failed, and release the node's lock.

    The worker that has claimed the transition can no longer settle it.

    :param ident: uuid or name of the node.
    :param reason: text for ``last_error``.
    :returns: the action that was ended; None if the node had a lock without a transition.
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.NodeNotLocked: the node has neither a transition nor a lock.
    """
    with context.write() as connection:
        node = take(connection, ident, *_SETTLED, tables.nodes.c.reservation)
        moment = read_clock(connection)
        author = functools.partial(history.entry, context)
        row = connection.execute(sa.select(tables.transitions).where(tables.transitions.c.node_id == node.id)).first()
        if row:
            _give_up(connection, node, row, moment, base.WorkFailed(reason), author)
            return row.action
        if not node.reservation:
            raise failures.NodeNotLocked(node=node.uuid)
        change(connection, node, {'reservation': None, 'target_power_state': None, 'last_error': reason})
        failed = author(node.uuid, moment, history.PROVISIONING, reason, severity=history.ERROR)
        history.record(connection, failed)
        return None


_CLAIMED = (
    tables.nodes.c.provision_state,
    tables.nodes.c.target_provision_state,
    tables.nodes.c.conductor_group,
    tables.nodes.c.driver,
)
_SETTLED = (
    tables.nodes.c.provision_state,
    tables.nodes.c.target_provision_state,
    tables.nodes.c.provision_updated_at,
    tables.nodes.c.power_state,
    tables.nodes.c.target_power_state,
    tables.nodes.c.properties,
    tables.nodes.c.retired,
    tables.nodes.c.allocation_uuid,
    tables.nodes.c.instance_info,
)


#: {action: fault of a node on which it has failed}.
_FAULTS = {'clean': 'clean failure', 'service': 'service failure'}


def _free(moment: datetime.datetime | clock) -> Condition:
    return sa.or_(tables.transitions.c.lease.is_(None), tables.transitions.c.leased_until <= moment)


def _within_limit(service: Service, claim: Claim, seconds: float) -> float:
    limit = time_limits.seconds(service.conf.deploy, claim.action, claim.arguments)
    # The driver has to be called when the limit is reached, at the latest, so that the timeout is noticed.
    return min(seconds, max(limit - claim.seconds, 0)) if limit else seconds


def _postpone(connection: sa.Connection, node: sa.Row, claim: Claim, moment: datetime.datetime, seconds: float) -> None:
    if claim.action != 'power' and states.follow(node.provision_state, 'wait'):
        # The lock is released while the node waits, so that it can be aborted or deleted.
        _move(connection, node, 'wait', moment, reservation=None)
    _release(connection, node, moment + datetime.timedelta(seconds=seconds), phase=claim.phase + 1)


def _continue(connection: sa.Connection, node: sa.Row, row: sa.Row, moment: datetime.datetime, done: base.Done) -> None:
    """Let a worker perform the next step.

    :param row: of the transition.
    :param done: outcome of the step before.
    """
    following = row.step_index + 1
    change(connection, node, _facts(node, done) | steps.shown(row.action, row.steps[following]))
    _release(connection, node, moment, phase=0, step_index=following)


def _release(connection: sa.Connection, node: sa.Row, due_at: datetime.datetime, **position: int) -> None:
    """End the claim of a transition, which is due again at some time.

    :param position: columns with the position in the transition.
    """
    connection.execute(
        sa.update(tables.transitions)
        .where(tables.transitions.c.node_id == node.id)
        .values(lease=None, leased_until=None, attempts=0, due_at=due_at, **position)
    )


def _facts(node: sa.Row, done: base.Done) -> Values:
    changes: Values = {}
    if done.power_state:
        changes['power_state'] = done.power_state
    if done.properties:
        changes['properties'] = node.properties | done.properties
    return changes


def _finish(
    connection: sa.Connection,
    node: sa.Row,
    claim: Claim,
    moment: datetime.datetime,
    done: base.Done,
    author: history.Author,
) -> None:
    changes: Values = {'reservation': None, **_facts(node, done)}
    if claim.action == 'power':
        _end_power(connection, node, moment)
        change(connection, node, {'target_power_state': None, **changes})
        event = f'The power state changed to "{done.power_state or node.power_state}".'
        history.record(connection, history.power(author, node, moment, event, changes))
        return
    changes |= steps.NO_STEP
    if claim.action == 'undeploy':
        _clean_after(connection, node, moment, changes, author)
    else:
        if claim.action == 'inspect':
            changes['inspection_finished_at'] = moment
        replace(connection, node.id, None, {}, moment)
        by_hand = node.provision_state == states.CLEANING and node.target_provision_state == states.MANAGEABLE
        _move(connection, node, 'manage' if by_hand else 'done', moment, author, **changes)


def _end_power(connection: sa.Connection, node: sa.Row, moment: datetime.datetime) -> None:
    """Delete the transition of a power action, and store the held work again that the node had before it."""
    arguments = sa.select(tables.transitions.c.arguments).where(tables.transitions.c.node_id == node.id)
    before = (connection.scalar(arguments) or {}).get('held')
    replace(connection, node.id, None, {}, moment)
    if before:
        row = {**before, 'node_id': node.id, 'due_at': NEVER, 'attempts': 0}
        connection.execute(sa.insert(tables.transitions).values(row))


def _clean_after(
    connection: sa.Connection, node: sa.Row, moment: datetime.datetime, changes: Values, author: history.Author
) -> None:
    """Remove the instance and its data from a node after undeploy, and start the cleaning."""
    connection.execute(sa.delete(tables.node_vifs).where(tables.node_vifs.c.node_uuid == node.uuid))
    changes |= {'instance_uuid': None, 'instance_name': None, 'instance_info': {}}
    changes |= {'driver_internal_info': {}, 'configdrive': None}
    if node.allocation_uuid:
        event = f'Allocation {node.allocation_uuid} ended, because the node was undeployed.'
        history.record(connection, author(node.uuid, moment, history.RESERVATION, event))
        changes = {**allocations.end(connection, node), **changes}
    if node.retired:
        changes['target_provision_state'] = states.MANAGEABLE
    changes.pop('reservation')
    replace(connection, node.id, 'clean', {}, moment)
    _move(connection, node, 'clean', moment, author, **changes)


def _give_up(
    connection: sa.Connection,
    node: sa.Row,
    claim: Claim | sa.Row,
    moment: datetime.datetime,
    error: base.WorkFailed,
    author: history.Author,
) -> None:
    reason = str(error)
    changes: Values = {'reservation': None, 'last_error': reason}
    if claim.action == 'power':
        _end_power(connection, node, moment)
        requested, target = claim.arguments['target'], node.target_power_state
        changes['last_error'] = f"Failed to change power state to '{target}' by '{requested}': {reason}"
        change(connection, node, {'target_power_state': None, **changes})
        history.record(connection, history.power(author, node, moment, reason, changes))
        return
    replace(connection, node.id, None, {}, moment)
    changes |= steps.NO_STEP
    if claim.action in _FAULTS and not isinstance(error, base.WorkRefused):
        changes |= {'maintenance': True, 'fault': _FAULTS[claim.action], 'maintenance_reason': reason}
    # A held clean or deploy does not fail: it can only be aborted.
    event = 'fail' if states.follow(node.provision_state, 'fail') else 'abort'
    _move(connection, node, event, moment, author, **changes)


def _move(
    connection: sa.Connection,
    node: sa.Row,
    event: str,
    moment: datetime.datetime,
    author: history.Author | None = None,
    **changes: Any,
) -> None:
    """Move a node to the state that follows an event.

    :param event: as for ``states.follow``.
    :param moment: time of the change, by the clock of the database.
    :param author: of the entry in the node's history; None for no entry: a driver that waits and resumes again and
        again would fill the history.
    :param changes: further columns to set.
    """
    state = states.follow(node.provision_state, event)
    values = {
        'provision_state': state,
        'target_provision_state': states.target(state, node.target_provision_state),
        'provision_updated_at': moment,
        **changes,
    }
    change(connection, node, values)
    if author:
        history.record(connection, history.transition(author, node, moment, values))
