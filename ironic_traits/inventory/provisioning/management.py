"""What the drivers of nodes do in requests (``deploy.management``).

The driver is called outside of transactions: a BMC may take seconds to respond.
"""

from typing import Any

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Values
from ironic_traits.deploy.base import Driver
from ironic_traits.deploy.management import WorkFailed, WorkRefused
from ironic_traits.inventory.core.lock_wait import waiting_for_lock
from ironic_traits.inventory.core.single_node import change, take
from ironic_traits.inventory.provisioning import node_states, request_locks

#: Changes that a deploy makes, too.
_OF_STABLE_NODES = ('attach_media', 'detach_media')


def ask(context: Context, ident: str, method: str, *arguments: Any) -> Any:
    """Return what a method of the driver of a node returns.

    :param method: one of ``deploy.management.Management``.
    :param arguments: those after the node.
    :raises failures.NodeMirrored: the node is mirrored.
    :raises failures.NoValidHost: the driver of the node is not enabled.
    :raises failures.InvalidInput: the driver does not support it.
    :raises failures.DriverFailed: the driver has failed.
    """
    return _call(*_read(context, ident), method, *arguments)


def ask_unlocked(context: Context, ident: str, method: str, *arguments: Any) -> Any:
    """Do the same as ``ask``.

    :raises failures.NodeLocked: a worker holds the node's lock.
    """
    return _call(*_read_unlocked(context, ident), method, *arguments)


def perform(context: Context, ident: str, method: str, *arguments: Any) -> None:
    """Let the driver of a node change something. Raise as ``ask_unlocked`` does.

    :raises failures.InvalidState: the node is changing, and the change would be in the way.
    :raises failures.NodeChanged: the lock of the node was lost meanwhile. The change may have been made.
    """
    if method in _OF_STABLE_NODES:
        _perform_locked(context, ident, method, *arguments)
        return
    driver, node = _read_unlocked(context, ident)
    _store(context, node['uuid'], _call(driver, node, method, *arguments))


def set_boot_device(context: Context, ident: str, device: str, persistent: bool) -> None:
    """Set the boot device of a node. Raise as ``perform`` does.

    :param persistent: whether the node boots from it each time, and not only the next time.
    :raises failures.InvalidInput: the node cannot have this boot device.
    """
    # Not under the lock, because both together may take longer than it lasts.
    devices = _call(*_read_unlocked(context, ident, is_stable=True), 'boot_devices')
    if device not in devices:
        text = f'Invalid boot device {device} specified. Supported are: {", ".join(devices)}.'
        raise failures.InvalidInput(reason=text)
    _perform_locked(context, ident, 'set_boot_device', device, persistent)


def set_column(context: Context, ident: str, column: str, value: Any) -> None:
    """Set the boot mode or the secure boot of a node. Raise as ``perform`` does.

    :param column: ``boot_mode`` or ``secure_boot``.
    """
    _perform_locked(context, ident, f'set_{column}', value, columns={column: value})


def _perform_locked(context: Context, ident: str, method: str, *arguments: Any, columns: Values | None = None) -> None:
    """Do the same as ``perform``. While a BMC is asked, the node is locked, so that no deploy begins.

    :param columns: columns of the node to store afterwards.
    """
    driver, node = _read_unlocked(context, ident, is_stable=True)
    if driver.simulates:
        _store(context, node['uuid'], _call(driver, node, method, *arguments), columns)
        return
    lock = request_locks.acquire(context, node['uuid'])
    try:
        kept = _call(*_read(context, lock.node), method, *arguments)
    except BaseException:
        request_locks.abandon(context, lock)
        raise
    request_locks.release(context, lock, kept, columns)


def _read(context: Context, ident: str) -> tuple[Driver, Values]:
    """Return the driver of a node of this service, and the node as drivers see it."""
    node = node_states.own(context, ident)
    driver = context.service.drivers.get(node['driver'])
    if driver is None:
        raise failures.NoValidHost(driver=node['driver'], group=node['conductor_group'])
    return driver, node


@waiting_for_lock
def _read_unlocked(context: Context, ident: str, is_stable: bool = False) -> tuple[Driver, Values]:
    """Do the same for a node that no worker has locked.

    :param is_stable: whether its provision state must be one that changes only on request.
    """
    driver, node = _read(context, ident)
    if is_stable:
        request_locks.check_state(node['uuid'], node['provision_state'])
    if node['reservation']:
        raise failures.NodeLocked(node=node['uuid'], host=node['reservation'])
    return driver, node


def _call(driver: Driver, node: Values, method: str, *arguments: Any) -> Any:
    """Call a method of a driver. Its failures become those of the request."""
    try:
        return getattr(driver, method)(node, *arguments)
    except WorkRefused as error:
        raise failures.InvalidInput(reason=str(error)) from error
    except WorkFailed as error:
        raise failures.DriverFailed(reason=str(error)) from error


@retried
def _store(context: Context, uuid: str, kept: Values | None, columns: Values | None = None) -> None:
    """Store what a driver keeps, and columns of the node.

    :param kept: as ``deploy.management.Kept``.
    """
    if not kept and not columns:
        return
    with context.write() as connection:
        node = take(connection, uuid, tables.nodes.c.driver_internal_info)
        change(connection, node, request_locks.changes(node, kept, columns))
