"""Failures about nodes: their state, their locks and their provider."""

from typing import Any

from ironic_traits.failures.base import Failure, Outdated


class InvalidTransition(Failure):
    """A verb that is not allowed in the provision state of the node."""

    status = 400
    code = 'baremetal.node.invalid_transition'
    text = 'The requested action "{action}" can not be performed on node "{node}" while it is in state "{state}".{hint}'

    def __init__(self, hint: str = '', **facts: Any) -> None:
        super().__init__(hint=hint, **facts)


class ActionOutdated(Outdated):
    """The nodes that an action selects, or their states, are not those of the preview."""

    code = 'baremetal.node.action_outdated'
    text = (
        'The selected nodes, their states or the action have changed since the preview. Nothing changed. Check a new '
        'preview: its digest is {digest}.'
    )


class NodeChanged(Failure):
    """The node is in another state than at the preview, or the request has lost the lock of the node."""

    status = 409
    code = 'baremetal.node.changed'
    text = 'Node {node} has changed {since}. {result}'


class NodeInMaintenance(Failure):
    """A verb that is not allowed while the node is in maintenance."""

    status = 400
    code = 'baremetal.node.in_maintenance'
    text = "The {operation} operation can't be performed on node {node} because it's in maintenance mode."


class NodeRetired(Failure):
    """The node is retired, and cannot become available."""

    status = 400
    code = 'baremetal.node.retired'
    text = "The providing operation can't be performed on node {node} because it is retired."


class DeployRefused(Failure):
    """A deploy-validate hook refused the deployment."""

    status = 400
    code = 'baremetal.node.deploy_refused'
    text = 'Failed to validate deploy or power info for node {node}: {reason}'


class NodeProtected(Failure):
    """The node is protected."""

    status = 403
    code = 'baremetal.node.protected'
    text = 'Node {node} is protected and cannot be undeployed, rebuilt or deleted'


class DriverFailed(Failure):
    """The driver of the node has failed, or its hardware has."""

    status = 502
    code = 'baremetal.node.driver_failed'


class NodeNotFound(Failure):
    """No such node that the caller may see."""

    status = 404
    code = 'baremetal.node.not_found'
    text = 'Node {node} could not be found.'


class HistoryNotFound(Failure):
    """The history has no such entry."""

    status = 404
    code = 'baremetal.history.not_found'
    text = 'Node history record {history} could not be found.'


class InventoryNotFound(Failure):
    """The node has no data of an inspection."""

    status = 404
    code = 'baremetal.node.no_inventory'
    text = 'Node inventory record for node {node} could not be found.'


class SettingNotFound(Failure):
    """The node does not have the BIOS setting."""

    status = 404
    code = 'baremetal.setting.not_found'
    text = "Node {node} doesn't have a BIOS setting '{setting}'"


class DriverNotFound(Failure):
    """The driver is not enabled."""

    status = 404
    code = 'baremetal.driver.not_found'
    text = 'Could not find the following driver(s) or hardware type(s): {driver}.'


class ConductorNotFound(Failure):
    """No worker ran on a host of this name within the last day."""

    status = 404
    code = 'baremetal.conductor.not_found'
    text = 'Conductor {conductor} could not be found.'


class NoValidHost(Failure):
    """Workers are alive, but none has the driver and the conductor group of the node."""

    status = 404
    code = 'baremetal.conductor.none'
    text = (
        'No valid host was found. Reason: No conductor service registered which supports driver {driver} for conductor '
        'group "{group}". Ensure the driver is valid and enabled.'
    )


class NodeExists(Failure):
    """Another node has the same uuid or name."""

    status = 409
    code = 'baremetal.node.duplicate'
    text = 'A node with {what} {value} already exists.'


class NodeAssociated(Failure):
    """The node is associated with an instance."""

    status = 409
    code = 'baremetal.node.associated'
    text = 'Node {node} is associated with instance {instance}.'


class NodeLocked(Failure):
    """The node is locked by work in progress, or another request changed it first."""

    status = 409
    code = 'baremetal.node.locked'
    text = 'Node {node} is locked by host {host}, please retry after the current operation is completed.'
    #: Whether the lock is likely to be released soon, so that waiting for it makes sense.
    is_short = True


class NodeWaiting(NodeLocked):
    """The node is not locked, but is in a state that lasts until work ends, which may take long."""

    is_short = False


class NodeMirrored(Failure):
    """The node is one of another Ironic, which must do what was requested."""

    status = 409
    code = 'baremetal.node.mirrored'
    text = 'Node {node} is managed by the Ironic of cloud {cloud}. Send the request to its endpoint: {endpoint}.'


class NodeNotLocked(Failure):
    """A request to break the lock of a node that is not locked."""

    status = 409
    code = 'baremetal.node.not_locked'
    text = 'Node {node} is not locked: no work on it is in progress.'


class ProviderTaken(Failure):
    """An existing resource provider prevents the node from becoming one."""

    status = 409
    code = 'baremetal.node.provider_taken'
    text = (
        'Node {node} cannot become a resource provider because of provider {provider}: its name is the uuid of the '
        'node, it has a parent, or it has allocations.'
    )


class ProviderInUse(Failure):
    """The resource provider of the node cannot be deleted, or change its resource class."""

    status = 409
    code = 'baremetal.node.provider_in_use'
    text = 'The resource provider of node {node} cannot be changed: {reason}.'


class InvalidState(Failure):
    """The provision state of the node does not allow the change."""

    status = 409
    code = 'baremetal.node.invalid_state'


class PowerOffDisabled(Failure):
    """The node must not be powered off: its disable_power_off is set."""

    status = 409
    code = 'baremetal.node.power_off_disabled'
    text = 'Failed to set node power state to {target}.'
