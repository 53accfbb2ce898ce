"""/v1/nodes/{node}/states"""

from typing import Any

from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access, node_fields
from ironic_traits.api.v1.node_boot_mode import BootModeController, SecureBootController
from ironic_traits.api.v1.node_power import NodePowerController
from ironic_traits.api.v1.node_provision import NodeProvisionController
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.nodes import nodes
from ironic_traits.resources.nodes import NODES

_FIELDS = (
    'console_enabled',
    'last_error',
    'power_state',
    'provision_state',
    'target_power_state',
    'target_provision_state',
    'provision_updated_at',
    'raid_config',
    'target_raid_config',
    'boot_mode',
    'secure_boot',
)


class NodeStates(types.Base):
    """The states of a node in a response."""

    _resource = NODES

    console_enabled = types.BOOLEAN
    last_error = str
    power_state = str
    provision_state = str
    target_power_state = str
    target_provision_state = str
    provision_updated_at = types.MOMENT
    raid_config = types.OBJECT
    target_raid_config = types.OBJECT
    boot_mode = str
    secure_boot = types.BOOLEAN


class NodeStatesController(Resource):
    """The states of a node."""

    children = {
        'boot_mode': BootModeController(),
        'power': NodePowerController(),
        'provision': NodeProvisionController(),
        'secure_boot': SecureBootController(),
    }

    @expose('baremetal:node:get_states', NodeStates, of=access.node)
    def get_all(self, context: Context, grant: Grant, node_ident: str, /) -> dict[str, Any]:
        names = tuple(name for name in _FIELDS if context.has(NODES[name].since))
        row = nodes.get(context, grant, names)
        return node_fields.presenter(context, names)(row)
