"""/v1/nodes/{node}/inventory"""

from typing import Any

import orjson

from ironic_traits.api import types
from ironic_traits.api.expose import Body, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.api.v1.inspection_types import CLIENT_DATA, NodeInventory
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.inspection import inspections

#: The minor version that brought the inventory of a node.
SINCE = 81


class NodeInventoryController(Resource):
    """The data of the last inspection of a node."""

    @expose(
        'baremetal:node:inventory:get',
        NodeInventory,
        of=access.node,
        since=SINCE,
        query={'previous': types.BOOLEAN},
    )
    def get_all(self, context: Context, grant: Grant, node_ident: str, /, *, previous: bool = False) -> orjson.Fragment:
        return orjson.Fragment(inspections.get(context, grant, previous).json)

    @expose(
        'baremetal:node:inventory:set',
        NodeInventory,
        of=access.node,
        since=SINCE,
        body=Body(CLIENT_DATA, max_size=lambda conf: conf.inspection.max_data_size),
    )
    def put(self, context: Context, node_ident: str, /, *, body: Any) -> orjson.Fragment:
        return orjson.Fragment(inspections.put(context, node_ident, body).json)
