"""What the state of a node forbids."""

from ironic_traits import failures
from ironic_traits.db.models import INTERFACES
from ironic_traits.deploy import states


def check_update(node, changes):
    """Do nothing when a node may be changed so.

    :param node: a row with the settable fields as they were, ``provision_state``, ``target_provision_state`` and
        ``reservation``.
    :param changes: {field: new value}.
    :raises failures.InvalidState: its state forbids it.
    :raises failures.NodeLocked: work on it goes on.
    :raises failures.InvalidInput: a reason for nothing.
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
        if changes.get(f'{flag}_reason') and not changes.get(flag, getattr(node, flag)):
            raise failures.InvalidInput(reason=f'The {flag}_reason field can only be set when {flag} is True')


def check_delete(node, available_too):
    """Do nothing when a node may be deleted.

    :param node: a row with ``protected``, ``reservation``, ``maintenance``, ``instance_uuid``, ``provision_state``.
    :param available_too: whether an available node may be.
    :raises failures.NodeProtected: it is protected.
    :raises failures.NodeLocked: work on it goes on.
    :raises failures.NodeAssociated: an instance holds it.
    :raises failures.InvalidState: its state forbids it.
    """
    if node.reservation:
        # First of all: what the work leaves behind decides.
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


def _check_at_rest(node, changes):
    if node.provision_state == states.INSPECTING:
        raise failures.InvalidState(reason=f'Cannot update node "{node.uuid}" while it is in state "inspecting".')
    if node.target_provision_state and node.provision_state not in states.UPDATABLE:
        # A node that is stuck can be taken from an instance that is gone; one that is being worked on is not stuck.
        if node.maintenance and changes == {'instance_uuid': None}:
            if node.reservation:
                raise failures.NodeLocked(node=node.uuid, host=node.reservation)
            return
        raise failures.InvalidState(
            reason=f'Node {node.uuid} can not be updated while a state transition is in progress.'
        )


def _check_configuration(node, changes):
    if node.provision_state in states.RECONFIGURABLE:
        return
    told = f"({', '.join(states.RECONFIGURABLE)}) states{{more}}. Current state is '{node.provision_state}'."
    for interface in INTERFACES:
        if f'{interface}_interface' in changes and not node.maintenance:
            raise failures.InvalidState(
                reason=f'Node {node.uuid} can not have {interface}_interface updated unless it is in one of allowed '
                + told.format(more=' or in maintenance mode')
            )
    if 'resource_class' in changes and node.resource_class:
        raise failures.InvalidState(
            reason=f'Node {node.uuid} can not have resource_class updated unless it is in one of allowed '
            + told.format(more='')
        )
