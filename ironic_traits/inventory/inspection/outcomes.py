"""Ends claims of transitions: stores the result of a driver, or the reason why the work has failed.

``transitions`` describes transitions.
"""

import dataclasses
import datetime
import functools

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Values
from ironic_traits.db.statements.types import read_clock
from ironic_traits.deploy import base, states, step_runs, steps, time_limits
from ironic_traits.inventory.core import history, origins
from ironic_traits.inventory.core.single_node import change, take
from ironic_traits.inventory.holds import allocations
from ironic_traits.inventory.inspection import inspections
from ironic_traits.inventory.provisioning.transitions import NEVER, REQUEST, Lease, end_claim, move, replace
from ironic_traits.inventory.traits import reclaim

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
#: {action: fault of a node after the action has failed}.
_FAULTS = {'clean': 'clean failure', 'service': 'service failure'}


Outcome = base.Done | base.Later | step_runs.StepHeld | base.WorkFailed


def settle(context: Context, claim: Lease, outcome: Outcome) -> bool:
    """Store the outcome of a claimed transition.

    :param outcome: base.Done or Later, step_runs.StepHeld, or the WorkFailed that the driver raised.
    :returns: whether the claim was still valid. If not, nothing is changed.
    """
    try:
        return _settle(context, claim, outcome)
    except base.WorkFailed as failure:
        # The data of the inspection cannot be used. The transaction was rolled back.
        return _settle(context, claim, failure)


@retried
def _settle(context: Context, claim: Lease, outcome: Outcome) -> bool:
    with context.write() as connection:
        node = take(connection, claim.node, *_SETTLED)
        same_claim = tables.transitions.c.node_id == node.id, tables.transitions.c.lease == claim.lease
        row = connection.execute(sa.select(tables.transitions).where(*same_claim)).first()
        if row is None:
            return False
        moment = read_clock(connection)
        author = functools.partial(history.entry, None, conductor=context.conf.host)
        if isinstance(outcome, base.Done) and base.DATA_RECEIVED in row.arguments:
            inspections.finish(context, connection, node, moment, author)
            node = take(connection, claim.node, *_SETTLED)
        if isinstance(outcome, base.Done) and outcome.facts:
            inspections.finish_bmc(context, connection, node, outcome.facts, moment, author)
            node = take(connection, claim.node, *_SETTLED)
        if isinstance(outcome, base.Later):
            seconds = _within_limit(context, claim, outcome.seconds)
            _postpone(connection, node, claim, moment, dataclasses.replace(outcome, seconds=seconds))
        elif isinstance(outcome, step_runs.StepHeld):
            move(connection, node, 'hold', moment, author, reservation=None)
            end_claim(connection, node, NEVER, phase=claim.phase + 1)
        elif isinstance(outcome, base.Done) and row.steps and row.step_index + 1 < len(row.steps):
            _continue(connection, node, row, moment, outcome)
        elif isinstance(outcome, base.Done):
            _finish(connection, node, claim, moment, outcome, author)
            # Steps of the flow clean nothing.
            cleans = claim.action == 'clean' and any(each['step'] not in steps.FLOW for each in row.steps or ())
            if claim.action == 'undeploy' or cleans:
                reclaim.write(context, connection, node, moment, author, is_clean=claim.action == 'clean')
        else:
            _give_up(connection, node, claim, moment, outcome, author)
        return True


@retried
def give_up(context: Context, ident: str, reason: str) -> str | None:
    """End the transition of a node as if it had failed, and release the node's lock.

    The worker that has claimed the transition can no longer settle it.

    :param reason: text for ``last_error``.
    :returns: the action that was ended; None if the node had a lock without a transition.
    :raises failures.NodeNotLocked: the node has neither a transition nor a lock.
    """
    with context.write() as connection:
        node = take(connection, ident, *_SETTLED, tables.nodes.c.reservation)
        origins.check_own(connection, node)
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


def _within_limit(context: Context, claim: Lease, seconds: float) -> float:
    limit = time_limits.seconds(context.conf.deploy, claim.action, claim.arguments)
    # The driver has to be called when the limit is reached at the latest, so that the timeout is detected.
    return min(seconds, max(limit - claim.seconds, 0)) if limit else seconds


def _postpone(
    connection: sa.Connection, node: sa.Row, claim: Lease, moment: datetime.datetime, later: base.Later
) -> None:
    if claim.action != 'power' and states.follow(node.provision_state, 'wait'):
        # The lock is released while the node waits, so that it can be aborted or deleted.
        move(connection, node, 'wait', moment, reservation=None)
    phase = claim.phase + 1 if later.phase is None else later.phase
    end_claim(connection, node, moment + datetime.timedelta(seconds=later.seconds), phase=phase)


def _continue(connection: sa.Connection, node: sa.Row, row: sa.Row, moment: datetime.datetime, done: base.Done) -> None:
    """Let a worker perform the next step.

    :param row: row of the transition.
    :param done: outcome of the previous step.
    """
    following = row.step_index + 1
    change(connection, node, _facts(node, done) | steps.shown(row.action, row.steps[following]))
    end_claim(connection, node, moment, phase=0, step_index=following)


def _facts(node: sa.Row, done: base.Done) -> Values:
    changes: Values = {**done.boot}
    if done.power_state:
        changes['power_state'] = done.power_state
    if done.properties:
        changes['properties'] = node.properties | done.properties
    return changes


def _finish(
    connection: sa.Connection,
    node: sa.Row,
    claim: Lease,
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
    if claim.action == REQUEST:
        replace(connection, node.id, None, {}, moment)
        change(connection, node, changes)
        event = 'A request that had locked the node did not end in time.'
        history.record(connection, author(node.uuid, moment, history.PROVISIONING, event, severity=history.ERROR))
        return
    changes |= steps.NO_STEP
    if claim.action == 'undeploy':
        _clean_after(connection, node, moment, changes, author)
    else:
        replace(connection, node.id, None, {}, moment)
        by_hand = node.provision_state == states.CLEANING and node.target_provision_state == states.MANAGEABLE
        move(connection, node, 'manage' if by_hand else 'done', moment, author, **changes)


def _end_power(connection: sa.Connection, node: sa.Row, moment: datetime.datetime) -> None:
    """Delete the transition of a power action. If the node was held before, store its work again."""
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
    move(connection, node, 'clean', moment, author, **changes)


def _give_up(
    connection: sa.Connection,
    node: sa.Row,
    claim: Lease | sa.Row,
    moment: datetime.datetime,
    error: base.WorkFailed,
    author: history.Author,
) -> None:
    reason = str(error)
    changes: Values = {'reservation': None, 'last_error': reason}
    if error.done:
        changes |= _facts(node, error.done)
    if claim.action == 'power':
        _end_power(connection, node, moment)
        requested, target = claim.arguments['target'], node.target_power_state
        changes['last_error'] = f"Failed to change power state to '{target}' by '{requested}': {reason}"
        change(connection, node, {'target_power_state': None, **changes})
        history.record(connection, history.power(author, node, moment, reason, changes))
        return
    replace(connection, node.id, None, {}, moment)
    if claim.action == REQUEST:
        change(connection, node, changes)
        history.record(connection, author(node.uuid, moment, history.PROVISIONING, reason, severity=history.ERROR))
        return
    changes |= steps.NO_STEP
    if claim.action in _FAULTS and not isinstance(error, base.WorkRefused):
        changes |= {'maintenance': True, 'fault': _FAULTS[claim.action], 'maintenance_reason': reason}
    # A held clean or deploy does not fail: it can only be aborted.
    event = 'fail' if states.follow(node.provision_state, 'fail') else 'abort'
    move(connection, node, event, moment, author, **changes)
