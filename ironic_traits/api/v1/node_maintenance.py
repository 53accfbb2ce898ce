"""/v1/nodes/{node}/maintenance"""

from typing import Any

import wsme.types

from ironic_traits.api import types
from ironic_traits.api.expose import Body, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.context import Context
from ironic_traits.inventory.nodes import nodes


class MaintenanceBody(types.Base):
    """The reason of the maintenance of a node."""

    reason = types.TEXT


class NodeMaintenanceController(Resource):
    """The maintenance mode of a node."""

    @expose(
        'baremetal:node:set_maintenance',
        of=access.node,
        query={'reason': types.TEXT},
        body=Body(MaintenanceBody, optional=True),
        statuses=(202,),
    )
    def put(self, context: Context, node_ident: str, /, *, body: Any, reason: str | None = None) -> None:
        if body is not None and body.reason is not wsme.types.Unset:
            reason = body.reason
        nodes.set_maintenance(context, node_ident, True, reason)

    @expose('baremetal:node:clear_maintenance', of=access.node, statuses=(202,))
    def delete(self, context: Context, node_ident: str, /) -> None:
        nodes.set_maintenance(context, node_ident, False)
