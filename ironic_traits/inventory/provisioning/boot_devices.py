"""The boot devices of nodes.

The driver is called in the request, and outside of transactions: a BMC may take seconds to respond.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Values
from ironic_traits.deploy.base import BOOT_DEVICE, Driver, WorkFailed, WorkRefused
from ironic_traits.inventory.core.lock_wait import waiting_for_lock
from ironic_traits.inventory.core.single_node import change, take
from ironic_traits.inventory.provisioning import node_states

_Result = TypeVar('_Result')


def supported(context: Context, ident: str) -> list[str]:
    """Return the boot devices that a node can have.

    :raises failures.NodeMirrored: the node is mirrored.
    :raises failures.NoValidHost: the driver of the node is not enabled.
    :raises failures.InvalidInput: the driver does not support boot devices.
    :raises failures.DriverFailed: the driver has failed.
    """
    driver, node = _read(context, ident)
    return _call(driver.boot_devices, node)


def current(context: Context, ident: str) -> dict[str, Any]:
    """Return the boot device of a node: {'boot_device': …, 'persistent': …}. Raise as ``supported`` does.

    :raises failures.NodeLocked: a worker holds the node's lock.
    """
    driver, node = _read_unlocked(context, ident)
    return _call(driver.boot_device, node)


def choose(context: Context, ident: str, device: str, persistent: bool) -> None:
    """Set the boot device of a node. Raise as ``current`` does.

    :param persistent: whether the node boots from it each time, and not only the next time.
    :raises failures.InvalidInput: the node cannot have this boot device.
    """
    driver, node = _read_unlocked(context, ident)
    devices = _call(driver.boot_devices, node)
    if device not in devices:
        text = f'Invalid boot device {device} specified. Supported are: {", ".join(devices)}.'
        raise failures.InvalidInput(reason=text)
    _call(driver.set_boot_device, node, device, persistent)
    if driver.simulates:
        _store(context, node['uuid'], {'boot_device': device, 'persistent': persistent})


def _read(context: Context, ident: str) -> tuple[Driver, Values]:
    """Return the driver of a node of this service, and the node as drivers see it."""
    node = node_states.own(context, ident)
    driver = context.service.drivers.get(node['driver'])
    if driver is None:
        raise failures.NoValidHost(driver=node['driver'], group=node['conductor_group'])
    return driver, node


@waiting_for_lock
def _read_unlocked(context: Context, ident: str) -> tuple[Driver, Values]:
    """Do the same for a node that no worker has locked."""
    driver, node = _read(context, ident)
    if node['reservation']:
        raise failures.NodeLocked(node=node['uuid'], host=node['reservation'])
    return driver, node


def _call(method: Callable[..., _Result], node: Values, *arguments: Any) -> _Result:
    """Call a method of a driver. Its failures become those of the request."""
    try:
        return method(node, *arguments)
    except WorkRefused as error:
        raise failures.InvalidInput(reason=str(error)) from error
    except WorkFailed as error:
        raise failures.DriverFailed(reason=str(error)) from error


@retried
def _store(context: Context, uuid: str, boot_device: Values) -> None:
    """Store the boot device of a node whose driver has no hardware to read it from."""
    with context.write() as connection:
        node = take(connection, uuid, tables.nodes.c.driver_internal_info)
        change(connection, node, {'driver_internal_info': node.driver_internal_info | {BOOT_DEVICE: boot_device}})
