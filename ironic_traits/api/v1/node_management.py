"""/v1/nodes/{node}/management"""

from typing import Any

import wsme.types

from ironic_traits import failures
from ironic_traits.api import preconditions, types
from ironic_traits.api.expose import Body, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.context import Context
from ironic_traits.inventory.provisioning import boot_devices


class BootDevice(types.Base):
    """The boot device of a node. Both are null if they are not known."""

    boot_device = types.TEXT
    persistent = types.BOOLEAN


class SupportedBootDevices(types.Base):
    """The boot devices that a node can have."""

    supported_boot_devices = [str]


class SupportedBootDevicesController(Resource):
    """The boot devices that a node can have."""

    @expose('baremetal:node:get_boot_device', SupportedBootDevices, of=access.node)
    def get_all(self, context: Context, node_ident: str, /) -> dict[str, Any]:
        return {'supported_boot_devices': boot_devices.supported(context, node_ident)}


class BootDeviceController(Resource):
    """The boot device of a node."""

    children = {'supported': SupportedBootDevicesController()}

    @expose('baremetal:node:get_boot_device', BootDevice, of=access.node)
    def get_all(self, context: Context, node_ident: str, /) -> dict[str, Any]:
        return boot_devices.current(context, node_ident)

    @expose('baremetal:node:set_boot_device', of=access.node, body=Body(BootDevice, optional=True))
    def put(self, context: Context, node_ident: str, /, *, body: Any) -> None:
        # The device is changed outside of transactions, so it cannot depend on an ETag.
        preconditions.refuse(context)
        if body is None or not body.boot_device:
            raise failures.InvalidInput(reason='Missing mandatory parameter: boot_device')
        persistent = body.persistent is not wsme.types.Unset and bool(body.persistent)
        boot_devices.choose(context, node_ident, body.boot_device, persistent)


class NodeManagementController(Resource):
    """What only the management interface of a node does."""

    children = {'boot_device': BootDeviceController()}
