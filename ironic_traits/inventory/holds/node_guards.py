"""Checks whether the state and the holders of a node allow an update or a deletion."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.deploy import states
from ironic_traits.inventory.core import node_consumers
from ironic_traits.inventory.holds import reservations
from ironic_traits.resources.nodes import INTERFACES


def check_update(node: sa.Row, changes: Mapping[str, Any]) -> None:
    """Raise a failure unless the node's state allows the changes.

    :param node: a row with the settable fields before the change, ``provision_state``, ``target_provision_state`` and
        ``reservation``.
    :param changes: {field: new value}.
    :raises failures.InvalidState: the node's state does not allow the changes.
    :raises failures.NodeLocked: a worker holds the node's lock.
    :raises failures.InvalidInput: ``protected_reason`` or ``retired_reason`` is set, and the flag is not.
    """
    _check_at_rest(node, changes)
    _check_configuration(node, changes)
    if changes.get('protected') and node.provision_state not in states.PROTECTABLE:
        raise failures.InvalidState(
            reason=f"Node {node.uuid} can only be made protected in provision states 'active' or 'rescue', "
            f"the current state is '{node.provision_state}'"
        )
    if changes.get('retired') and node.provision_state == states.AVAILABLE:
        raise failures.InvalidState(
            reason=f"Node {node.uuid} can not have 'retired' set in provision state 'available', "
            f"the current state is '{node.provision_state}'"
        )
    for flag in ('protected', 'retired'):
        # As in Ironic, a reason that comes with the end of its flag is dropped.
        if changes.get(f'{flag}_reason') and flag not in changes and not getattr(node, flag):
            raise failures.InvalidInput(reason=f'The {flag}_reason field can only be set when {flag} is True')


def check_delete(node: sa.Row, available_too: bool) -> None:
    """Raise a failure unless the node's state allows its deletion.

    :param node: a row with ``uuid``, ``protected``, ``reservation``, ``maintenance``, ``instance_uuid`` and
        ``provision_state``.
    :param available_too: whether an available node may be deleted.
    :raises failures.NodeProtected: the node is protected.
    :raises failures.NodeLocked: a worker holds the node's lock.
    :raises failures.NodeAssociated: the node has an instance.
    :raises failures.InvalidState: the node's provision state does not allow the deletion.
    """
    if node.reservation:
        # Checked first, because the worker may change all other fields.
        raise failures.NodeLocked(node=node.uuid, host=node.reservation)
    if node.protected:
        raise failures.NodeProtected(node=node.uuid)
    if not node.maintenance:
        if node.instance_uuid:
            raise failures.NodeAssociated(node=node.uuid, instance=node.instance_uuid)
        allowed = (*states.DELETABLE, states.AVAILABLE) if available_too else states.DELETABLE
        if node.provision_state not in allowed:
            raise failures.InvalidState(
                reason=f'Can not delete node "{node.uuid}" while it is in provision state "{node.provision_state}". '
                f'Valid provision states to perform deletion are: {", ".join(allowed)}; or set the node into '
                'maintenance mode.'
            )


def _check_at_rest(node: sa.Row, changes: Mapping[str, Any]) -> None:
    if node.provision_state == states.INSPECTING:
        raise failures.InvalidState(reason=f'Cannot update node "{node.uuid}" while it is in state "inspecting".')
    if node.target_provision_state and node.provision_state not in states.UPDATABLE:
        # The instance can be removed from a node that is stuck in a transition, if the node is in maintenance. A node
        # that a worker has locked is not stuck.
        if node.maintenance and changes == {'instance_uuid': None}:
            if node.reservation:
                raise failures.NodeLocked(node=node.uuid, host=node.reservation)
            return
        raise failures.InvalidState(
            reason=f'Node {node.uuid} can not be updated while a state transition is in progress.'
        )


def _check_configuration(node: sa.Row, changes: Mapping[str, Any]) -> None:
    if node.provision_state in states.RECONFIGURABLE:
        return
    requirement = f"({', '.join(states.RECONFIGURABLE)}) states{{more}}. Current state is '{node.provision_state}'."
    for interface in INTERFACES:
        # A node that is older than the interface has no value yet. Setting the default does not change its
        # configuration.
        had_one = getattr(node, f'{interface}_interface') is not None
        if had_one and f'{interface}_interface' in changes and not node.maintenance:
            raise failures.InvalidState(
                reason=f'Node {node.uuid} can not have {interface}_interface updated unless it is in one of allowed '
                + requirement.format(more=' or in maintenance mode')
            )
    if 'resource_class' in changes and node.resource_class:
        raise failures.InvalidState(
            reason=f'Node {node.uuid} can not have resource_class updated unless it is in one of allowed '
            + requirement.format(more='')
        )


def check_reservation(connection: sa.Connection, uuid: str, instance: str | None = None) -> None:
    """Raise NodeReserved if a node has a live reservation for another instance."""
    reservation = reservations.node_reservation(connection, uuid)
    if reservation and reservation.instance_uuid != instance:
        raise reservations.reserved(uuid, reservation)


def check_free(connection: sa.Connection, node: sa.Row) -> None:
    """Raise a failure if an instance, a reservation or a consumer holds a node. Then its class must not change.

    :raises failures.NodeAssociated: the node has an instance.
    :raises failures.NodeReserved: the node has a live reservation.
    :raises failures.NodeAllocated: the node is allocated to a consumer.
    """
    if node.instance_uuid:
        raise failures.NodeAssociated(node=node.uuid, instance=node.instance_uuid)
    check_reservation(connection, node.uuid)
    node_consumers.check_allocation(connection, node)
