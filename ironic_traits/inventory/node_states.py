"""What clients ask of a node's states.

What is asked for is checked, and the node leaves its state, in one transaction under the node's lock.  The work itself
is written down beside it (``transitions``) for a worker to carry out.
"""

from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits import failures
from ironic_traits.db.engine import retried
from ironic_traits.db.models import nodes
from ironic_traits.db.types import clock
from ironic_traits.deploy import states, steps, validate
from ironic_traits.inventory import node_providers, node_traits, reservations, secrets, transitions
from ironic_traits.inventory.lock_wait import waiting_for_lock
from ironic_traits.inventory.single_node import change, read, take

#: The interface that an event needs of a node's driver.
_INTERFACES = {'inspect': 'inspect', 'rescue': 'rescue', 'unrescue': 'rescue'}
#: All that drivers and hooks see of a node.
_WHOLE = (
    *(column for column in nodes.c if column.name != 'generation' and not secrets.is_mask(column)),
    node_traits.JOINED,
)
_NAMES = frozenset(column.name for column in _WHOLE)


@waiting_for_lock
@retried
def provision(context, ident, verb, arguments, configdrive=None, reservation_uuid=None):
    """Ask for a provision state.

    :param ident: uuid or name.
    :param verb: a key of ``states.VERBS``.
    :param arguments: what the driver is to know, a dict.
    :param configdrive: the config drive to keep for the instance; None to leave it.
    :param reservation_uuid: the reservation that a deploy shows; None for none.
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.NodeLocked: other work on the node goes on.
    :raises failures.InvalidTransition: the node's state does not know the verb.
    :raises failures.NodeInMaintenance: it is in maintenance, and was to be deployed.
    :raises failures.NodeProtected: it is protected, and was to lose its instance.
    :raises failures.NodeRetired: it is retired, and was to become available.
    :raises failures.InvalidInput: its driver has no interface for the verb.
    :raises failures.DeployRefused: a hook says no.
    :raises failures.NodeReserved: it is held for another instance, and was to be deployed.
    :raises failures.NodeAllocated: it is allocated to another consumer than its instance, and was to be deployed.
    :raises failures.ReservationUnknown: the reservation shown is not its own.
    :raises failures.InstanceAssociated: the reservation's instance is on another node by now.
    """
    event = states.VERBS[verb].event
    changes: dict[str, Any] = {}
    try:
        with context.write() as connection:
            taken = take(connection, ident, *_WHOLE)
            node = _whole(taken)
            state = _next(node, verb, event)
            _check_flags(node, event)
            _check_interface(node, event)
            if event in ('deploy', 'rebuild'):
                _ask_hooks(context, node, arguments.get('deploy_steps', ()))
            moment = connection.scalar(sa.select(clock()))
            changes = _changes(node, verb, state, moment)
            if event == 'deploy':
                changes |= reservations.use(connection, taken, reservation_uuid)
                holder = changes.get('instance_uuid', taken.instance_uuid)
                node_providers.check_allocation(connection, taken, holder)
            if configdrive is not None:
                changes['configdrive'] = configdrive
            action = states.VERBS[verb].action if state in states.WORKING else None
            transitions.replace(connection, node['id'], action, arguments, moment)
            changes['reservation'] = context.conf.host if action else None
            change(connection, taken, changes)
    except db_exception.DBDuplicateEntry as error:
        raise failures.InstanceAssociated(instance=changes['instance_uuid'], node=ident) from error
    context.wake_worker()


@waiting_for_lock
@retried
def power(context, ident, target, arguments):
    """Ask for a power state.

    :param ident: uuid or name.
    :param target: what was asked for, whether it is a key of ``states.POWER_TARGETS`` or not.
    :param arguments: what the driver is to know besides, a dict.
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.InvalidTransition: there is no such target, or the node is being cleaned.
    :raises failures.NodeLocked: other work on the node goes on.
    """
    columns = (nodes.c.power_state, nodes.c.provision_state, nodes.c.reservation)
    with context.write() as connection:
        node = take(connection, ident, *columns)
        if target not in states.POWER_TARGETS:
            raise failures.InvalidTransition(action=target, node=node.uuid, state=node.power_state)
        if node.provision_state in (states.CLEANING, states.CLEANWAIT):
            raise failures.InvalidTransition(action=target, node=node.uuid, state=node.provision_state)
        if node.reservation:
            raise failures.NodeLocked(node=node.uuid, host=node.reservation)
        if node.provision_state in states.WAITING:
            raise failures.NodeWaiting(node=node.uuid, host=context.conf.host)
        moment = connection.scalar(sa.select(clock()))
        transitions.replace(connection, node.id, 'power', arguments | {'target': target}, moment)
        changes = {'target_power_state': states.POWER_TARGETS[target], 'last_error': None}
        changes['reservation'] = context.conf.host
        change(connection, node, changes)
    context.wake_worker()


@retried
def place(context, ident, provision_state=states.ENROLL, power_state=None):
    """Say in which states a node is that comes from elsewhere, without a word to its driver.

    :param ident: uuid or name.
    :param provision_state: one at rest.
    :param power_state: None for the usual one of the provision state.
    :raises failures.NodeNotFound: there is no such node.
    :raises failures.NodeRetired: it is retired, and was to be available.
    """
    with context.write() as connection:
        node = take(connection, ident, nodes.c.retired)
        moment = connection.scalar(sa.select(clock()))
        change(connection, node, placed(node._mapping, moment, provision_state, power_state))


def placed(node, moment, provision_state=states.ENROLL, power_state=None):
    """Return the columns of a node that comes from elsewhere which say in which states it is; as ``place``.

    :param node: a mapping with ``uuid`` and ``retired``.
    :param moment: since when, by the clock of the database.
    """
    if provision_state == states.AVAILABLE and node['retired']:
        raise failures.NodeRetired(node=node['uuid'])
    return {
        'provision_state': provision_state,
        'target_provision_state': states.target(provision_state, None),
        'provision_updated_at': moment,
        'power_state': power_state or states.USUAL_POWER.get(provision_state, states.POWER_OFF),
    }


def get(context, ident):
    """Give a node as drivers and hooks see it.

    :param ident: uuid or name.
    :returns: a dict of all its columns, with ``traits`` as a sorted list.
    :raises failures.NodeNotFound: there is no such node.
    """
    with context.read() as connection:
        return _whole(read(connection, ident, _WHOLE))


def _whole(row):
    node = {name: value for name, value in row._mapping.items() if name in _NAMES}
    node['traits'] = node_traits.split(node['traits'])
    return node


def _next(node, verb, event):
    if node['reservation']:
        raise failures.NodeLocked(node=node['uuid'], host=node['reservation'])
    state = states.follow(node['provision_state'], event)
    if state is None:
        raise failures.InvalidTransition(action=verb, node=node['uuid'], state=node['provision_state'])
    return state


def _check_flags(node, event):
    if event in ('deploy', 'rebuild') and node['maintenance']:
        raise failures.NodeInMaintenance(node=node['uuid'])
    if event in ('rebuild', 'delete') and node['protected']:
        raise failures.NodeProtected(node=node['uuid'])
    if event == 'provide' and node['retired']:
        raise failures.NodeRetired(node=node['uuid'])


def _check_interface(node, event):
    reason = event in _INTERFACES and validate.unsupported(node, _INTERFACES[event])
    if reason:
        raise failures.InvalidInput(reason=reason)


def _ask_hooks(context, node, deploy_steps):
    reasons = validate.reasons(context.hooks, node)
    found = [reasons[interface] for interface in validate.NEEDED if reasons[interface]]
    wrong_steps = steps.deploy_error(context.drivers.get(node['driver']), deploy_steps)
    if wrong_steps:
        found.append(wrong_steps)
    if found:
        raise failures.DeployRefused(node=node['uuid'], reason=' '.join(found))


def _changes(node, verb, state, moment):
    changes = {
        'provision_state': state,
        'target_provision_state': _target(node, verb, state),
        'provision_updated_at': moment,
        'last_error': None,
    }
    if verb == 'abort':
        changes['last_error'] = f'By request, the node left "{node["provision_state"]}" before its end.'
    if state == states.INSPECTING:
        changes['inspection_started_at'] = moment
    return changes


def _target(node, verb, state):
    if verb == 'abort':
        return states.target(state, node['target_provision_state'])
    return states.target(state, states.MANAGEABLE if verb == 'clean' else None)
