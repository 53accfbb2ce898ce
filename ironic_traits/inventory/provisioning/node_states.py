"""Requests to change a node's provision state or power state.

One transaction, under the node's lock, checks the request, moves the node to the next state, and stores a transition
(``transitions``). A worker performs the transition.
"""

import datetime
import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits import failures, masks, spelling
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import Reader, Writer, retried
from ironic_traits.db.statements.annotations import Values
from ironic_traits.db.statements.types import read_clock
from ironic_traits.deploy import states, steps, validate
from ironic_traits.inventory.core import (
    history,
    mismatches,
    node_consumers,
    origins,
    secrets,
    trait_filters,
)
from ironic_traits.inventory.core.lock_wait import waiting_for_lock
from ironic_traits.inventory.core.single_node import change, read, take
from ironic_traits.inventory.holds import promise_claims, reservations
from ironic_traits.inventory.provisioning import transitions, workers
from ironic_traits.inventory.records import deploy_templates, runbooks

#: {event: the driver interface that it needs}.
_INTERFACES = {'inspect': 'inspect', 'rescue': 'rescue', 'unrescue': 'rescue'}
#: The columns of a node that drivers and hooks see.
VISIBLE = (
    *(column for column in tables.nodes.c if column.name != 'generation' and not secrets.is_mask(column)),
    trait_filters.JOINED,
)
_NAMES = frozenset(column.name for column in VISIBLE)
_POWERED = tuple(
    tables.nodes.c[name]
    for name in ('power_state', 'provision_state', 'reservation', 'disable_power_off', 'driver', 'conductor_group')
)
_PLACED = tuple(tables.nodes.c[name] for name in ('retired', 'provision_state', 'provision_updated_at', 'power_state'))


class _Request(NamedTuple):
    """A client's request, with the arguments of ``provision``."""

    verb: str
    arguments: dict[str, Any]
    instance: Mapping[str, Any] = MappingProxyType({})
    reservation_uuid: str | None = None

    @property
    def event(self) -> str:
        """The event of the state machine."""
        return states.VERBS[self.verb].event


@promise_claims.beginning_again
@waiting_for_lock
@retried
def provision(
    context: Context,
    ident: str,
    verb: str,
    arguments: dict[str, Any],
    instance: Mapping[str, Any] = MappingProxyType({}),
    reservation_uuid: str | None = None,
) -> None:
    """Start the transition of a node to another provision state.

    :param verb: a key of ``states.VERBS``.
    :param arguments: {name: value} for the driver. It may have ``runbook``, a uuid or name, instead of steps.
    :param instance: {key: value} that are added to the node's ``instance_info``. It may have ``configdrive``, a text.
    :param reservation_uuid: the reservation that the request names for a deploy; None if it names no reservation.
    :raises failures.NodeLocked: a worker holds the node's lock.
    :raises failures.InvalidTransition: the verb is not allowed in the node's state.
    :raises failures.NodeInMaintenance: the node is in maintenance, and the verb is not allowed then.
    :raises failures.InvalidState: abort of a failed service of a node in maintenance.
    :raises failures.NodeProtected: rebuild or undeploy of a protected node.
    :raises failures.NodeRetired: provide of a retired node.
    :raises failures.InvalidInput: the driver has no interface for the verb, or the runbook is not for the node.
    :raises failures.DeployRefused: a hook, or the check of the deploy steps, refuses a deploy or rebuild.
    :raises failures.NodeReserved: deploy of a node that is reserved for another instance.
    :raises failures.NodeAllocated: deploy of a node that is allocated to a consumer other than its instance.
    :raises failures.ReservationUnknown: the node's live reservation is not ``reservation_uuid``.
    :raises failures.InstanceAssociated: the reservation's instance is on another node.
    :raises failures.CapacityPromised: deploy of a free node that capacity reservations need.
    """
    request = _Request(verb, arguments, instance, reservation_uuid)
    changes: Values = {}
    try:
        with context.write() as connection:
            locked_node = take(connection, ident, *VISIBLE)
            origins.check_own(connection, locked_node)
            node = _as_dict(locked_node)
            state = _next_state(context, connection, node, request)
            moment = read_clock(connection)
            changes = _state_changes(node, verb, state, moment)
            changes |= _instance_changes(context, connection, locked_node, request, moment)
            changes['reservation'] = _store_work(context, connection, node, request, state, moment)
            change(connection, locked_node, changes)
            history.record(connection, history.transition(_author(context, verb), locked_node, moment, changes))
    except db_exception.DBDuplicateEntry as error:
        raise failures.InstanceAssociated(instance=changes['instance_uuid'], node=ident) from error
    context.service.wake_worker()


def check(context: Context, connection: sa.Connection, row: sa.Row, verb: str) -> None:
    """Raise what ``provision`` would raise without arguments, except for a deploy. Nothing is locked.

    :param row: a node with the columns VISIBLE.
    """
    origins.check_own(connection, row)
    node = _as_dict(row)
    state = _next_state(context, connection, node, _Request(verb, {}))
    _action(context, connection, node, verb, state)


@waiting_for_lock
@retried
def power(context: Context, ident: str, target: str, arguments: dict[str, Any]) -> None:
    """Start the transition of a node to another power state.

    :param target: a key of ``states.POWER_TARGETS``. Other values of the client are refused.
    :param arguments: {name: value} for the driver, besides the target.
    :raises failures.InvalidTransition: there is no such target, or the node is being cleaned.
    :raises failures.NodeLocked: a worker holds the node's lock.
    :raises failures.NodeWaiting: the node is in a wait state.
    :raises failures.PowerOffDisabled: the target is off, and the node has ``disable_power_off``.
    """
    with context.write() as connection:
        node = take(connection, ident, *_POWERED)
        origins.check_own(connection, node)
        if target not in states.POWER_TARGETS:
            hint = spelling.hint(target or '', states.POWER_TARGETS)
            raise failures.InvalidTransition(action=target, node=node.uuid, state=node.power_state, hint=hint)
        if node.provision_state in (states.CLEANING, states.CLEANWAIT):
            raise failures.InvalidTransition(action=target, node=node.uuid, state=node.provision_state)
        if node.disable_power_off and states.POWER_TARGETS[target] == states.POWER_OFF:
            raise failures.PowerOffDisabled(target=target)
        if node.reservation:
            raise failures.NodeLocked(node=node.uuid, host=node.reservation)
        if node.provision_state in states.WAITING:
            raise failures.NodeWaiting(node=node.uuid, host=context.conf.host)
        workers.check_host(connection, context.conf.deploy, dict(node._mapping))
        moment = read_clock(connection)
        work = transitions.held(connection, node.id) if node.provision_state in states.HELD else {}
        transitions.replace(connection, node.id, 'power', arguments | {'target': target} | work, moment)
        changes: Values = {'target_power_state': states.POWER_TARGETS[target], 'last_error': None}
        changes['reservation'] = context.conf.host
        change(connection, node, changes)
        event = f'The target power state is "{changes["target_power_state"]}".'
        history.record(connection, history.power(_author(context, target), node, moment, event, changes))
    context.service.wake_worker()


@retried
def place(context: Writer, ident: str, provision_state: str = states.ENROLL, power_state: str | None = None) -> None:
    """Set the states of an imported node, without calling its driver.

    :param provision_state: a state in which no transition is in progress.
    :param power_state: None for the usual power state of the provision state.
    :raises failures.NodeRetired: the node is retired, and the state is available.
    """
    with context.write() as connection:
        node = take(connection, ident, *_PLACED)
        origins.check_own(connection, node)
        moment = read_clock(connection)
        changes = placed(node._mapping, moment, provision_state, power_state)
        change(connection, node, changes)
        author = functools.partial(history.entry, None)
        history.record(connection, history.transition(author, node, moment, changes))


def placed(
    node: sa.RowMapping | Values,
    moment: datetime.datetime,
    provision_state: str = states.ENROLL,
    power_state: str | None = None,
) -> Values:
    """Return the columns with the states of an imported node. The parameters are those of ``place``.

    :param node: a mapping with ``uuid`` and ``retired``.
    :param moment: time of the change, by the database's clock.
    :returns: {column: value}.
    :raises failures.NodeRetired: the node is retired, and the state is available.
    """
    if provision_state == states.AVAILABLE and node['retired']:
        raise failures.NodeRetired(node=node['uuid'])
    return {
        'provision_state': provision_state,
        'target_provision_state': states.target(provision_state, None),
        'provision_updated_at': moment,
        'power_state': power_state or states.USUAL_POWER.get(provision_state, states.POWER_OFF),
    }


def get(context: Reader, ident: str) -> Values:
    """Return a node with the columns that drivers and hooks see.

    :returns: {column: value}, with ``traits`` as a sorted list.
    """
    with context.read() as connection:
        return _as_dict(read(connection, ident, VISIBLE))


def own(context: Reader, ident: str) -> Values:
    """Return a node as ``get`` does.

    :raises failures.NodeMirrored: the node is mirrored.
    """
    with context.read() as connection:
        row = read(connection, ident, VISIBLE)
        origins.check_own(connection, row)
        return _as_dict(row)


def validate_node(context: Context, ident: str) -> dict[str, str | None]:
    """Run the checks before a deploy.

    :returns: {interface: why it is invalid, None if it is valid}, for each of ``validate.INTERFACES``.
    """
    with context.read() as connection:
        return _invalid_interfaces(context, connection, _as_dict(read(connection, ident, VISIBLE)))


def _author(context: Context, verb: str) -> history.Author:
    """Return the author of the history entry of a request. The entry's text names the verb, unless it is an error."""

    def author(node_uuid: str, moment: datetime.datetime, event_type: str, event: str, **columns: Any) -> Values:
        event = event if columns['severity'] == history.ERROR else f'Requested: {verb}. {event}'
        return history.entry(context, node_uuid, moment, event_type, event, **columns)

    return author


def _as_dict(row: sa.Row) -> Values:
    return {name: value for name, value in row._mapping.items() if name in _NAMES}


def _next_state(context: Context, connection: sa.Connection, node: Values, request: _Request) -> str:
    """Return the node's next provision state.

    :raises failures.Failure: the request is not allowed for the node.
    """
    if node['reservation']:
        raise failures.NodeLocked(node=node['uuid'], host=node['reservation'])
    state = states.follow(node['provision_state'], request.event)
    if state is None:
        raise failures.InvalidTransition(action=request.verb, node=node['uuid'], state=node['provision_state'])
    _check_flags(node, request.event)
    unsupported = request.event in _INTERFACES and validate.unsupported(node, _INTERFACES[request.event])
    if unsupported:
        raise failures.InvalidInput(reason=unsupported)
    if request.event in ('deploy', 'rebuild'):
        _check_deploy(context, connection, node | _instance_columns(node, request), request.arguments)
    return state


def _instance_changes(
    context: Context, connection: sa.Connection, locked_node: sa.Row, request: _Request, moment: datetime.datetime
) -> Values:
    """Check the holders of the node. Return the changes of the node for its instance, {column: value}."""
    changes: Values = {}
    if request.event == 'deploy':
        changes |= reservations.use(context, connection, locked_node, request.reservation_uuid, moment)
        holder = changes.get('instance_uuid', locked_node.instance_uuid)
        node_consumers.check_allocation(connection, locked_node, holder)
        if holder is None:
            # It uses no promise up: nothing shows how long a node without an instance is in use.
            promise_claims.take_named(context, connection, locked_node.id, None)
    return changes | _instance_columns(locked_node._mapping, request)


def _instance_columns(node: Any, request: _Request) -> Values:
    """Return {column: value} of what a request says about the instance."""
    if not request.instance:
        return {}
    info, columns = {**node['instance_info'], **request.instance}, {}
    if 'configdrive' in request.instance:
        drive = columns['configdrive'] = info.pop('configdrive')
        # As in Ironic, which masks it there.
        info |= {} if drive is None else {'configdrive': masks.MASK}
    return {**columns, 'instance_info': info}


def _store_work(
    context: Context,
    connection: sa.Connection,
    node: Values,
    request: _Request,
    state: str,
    moment: datetime.datetime,
) -> str | None:
    """Store the work for a worker.

    :param state: the node's next provision state.
    :returns: the new holder of the node's lock; None if the node is not locked.
    """
    action = _action(context, connection, node, request.verb, state)
    if request.event == 'unhold':
        transitions.release(connection, node['id'], moment)
    else:
        work = runbooks.expanded(connection, context.minor, node, request.verb, request.arguments)
        transitions.replace(connection, node['id'], action, work, moment)
    return context.conf.host if action else None


def _action(context: Context, connection: sa.Connection, node: Values, verb: str, state: str) -> str | None:
    """Return the action that a verb makes a worker perform; None for none.

    :param state: the node's next provision state.
    :raises failures.NoValidHost: no worker has the node's driver and conductor group.
    """
    action = states.VERBS[verb].action if state in states.WORKING else None
    if action:
        workers.check_host(connection, context.conf.deploy, node)
    return action


def _check_flags(node: Values, event: str) -> None:
    if node['maintenance'] and event in states.NOT_IN_MAINTENANCE:
        raise failures.NodeInMaintenance(node=node['uuid'], operation=states.NOT_IN_MAINTENANCE[event])
    if event == 'abort' and node['provision_state'] == states.SERVICEFAIL and node['maintenance']:
        raise failures.InvalidState(
            reason=f'Can not abort service on node "{node["uuid"]}" while it is in maintenance mode. Please remove the '
            'node from maintenance prior to issuing the request to abort the service operation.'
        )
    if event in ('rebuild', 'delete') and node['protected']:
        raise failures.NodeProtected(node=node['uuid'])
    if event == 'provide' and node['retired']:
        raise failures.NodeRetired(node=node['uuid'])


def _invalid_interfaces(context: Context, connection: sa.Connection, node: Values) -> dict[str, str | None]:
    """Return {interface: why it is invalid, None if it is valid}, for each of ``validate.INTERFACES``."""
    driver = context.service.drivers.get(node['driver'])
    reasons = validate.reasons(context.service.hooks, node, driver.validate(node) if driver else {})
    unmet = mismatches.read_all(connection, [node['id']]).get(node['id'], {})
    problems = [reasons['inspect'], *(mismatches.text(*each) for each in unmet.items())]
    reasons['inspect'] = ' '.join(filter(None, problems)) or None
    if not reasons['deploy']:
        templates = deploy_templates.node_templates(connection, node)
        reasons['deploy'] = deploy_templates.errors(context, node, templates) or None
    return reasons


def _check_deploy(context: Context, connection: sa.Connection, node: Values, arguments: Mapping[str, Any]) -> None:
    reasons = _invalid_interfaces(context, connection, node)
    problems = [reason for interface in validate.NEEDED if (reason := reasons[interface])]
    step_errors = steps.errors(
        context.service.drivers.get(node['driver']), node, 'deploy', arguments.get('deploy_steps', ())
    )
    if step_errors:
        # Ironic's message has no space after the first sentence.
        problems.append(f'Validation of deploy steps from "deploy steps" argument failed.{step_errors}')
    if problems:
        raise failures.DeployRefused(node=node['uuid'], reason=' '.join(problems))


def _state_changes(node: Values, verb: str, state: str, moment: datetime.datetime) -> Values:
    changes = {
        'provision_state': state,
        'target_provision_state': _target_state(node, verb, state),
        'provision_updated_at': moment,
        'last_error': None,
        **({} if verb == 'unhold' else steps.NO_STEP),
        **states.inspection_times(node['provision_state'], state, moment),
    }
    if verb == 'abort':
        changes['last_error'] = _abort_text(node)
    return changes


def _abort_text(node: Values) -> str:
    if node['provision_state'] == states.INSPECTWAIT:
        return 'Inspection was aborted by request.'
    if node['provision_state'] not in (states.SERVICEWAIT, states.SERVICEHOLD, states.SERVICEFAIL):
        return f'The provision state "{node["provision_state"]}" was aborted by request.'
    step = node['service_step']
    during = f' during or after the completion of step "{steps.label(step)}"' if step else ''
    return f'By request, the service operation was aborted{during}'


def _target_state(node: Values, verb: str, state: str) -> str | None:
    if verb in ('abort', 'unhold'):
        return states.target(state, node['target_provision_state'])
    return states.target(state, states.MANAGEABLE if verb == 'clean' else None)
