"""/v1/nodes/{node}/inventory"""

from typing import Any

import orjson

from ironic_traits.api import types
from ironic_traits.api.expose import Body, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.v1 import access
from ironic_traits.api.v1.inspection_types import CLIENT_DATA, NodeInventory
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.inspection import inspections, refreshes
from ironic_traits.resources.additions import Addition

#: The minor version that brought the inventory of a node.
SINCE = 81
_ADDED = Addition(SINCE)


class NodeInventoryRefreshController(Resource):
    """Another reading of the BMC of a node, in any state. It changes facts, traits and mismatches only."""

    @expose('baremetal:node:inventory:refresh', of=access.node, since=_ADDED, statuses=(202,))
    def post(self, context: Context, node_ident: str, /) -> Response:
        refreshes.request(context, node_ident)
        return Response(status=202, location=f'/v1/nodes/{node_ident}/inventory')


class NodeInventoryController(Resource):
    """The data of the last inspection of a node."""

    children = {'refresh': NodeInventoryRefreshController()}

    @expose(
        'baremetal:node:inventory:get',
        NodeInventory,
        of=access.node,
        since=SINCE,
        query={'previous': types.BOOLEAN},
        query_since={'previous': _ADDED},
    )
    def get_all(self, context: Context, grant: Grant, node_ident: str, /, *, previous: bool = False) -> orjson.Fragment:
        return orjson.Fragment(inspections.get(context, grant, previous).json)

    @expose(
        'baremetal:node:inventory:set',
        NodeInventory,
        of=access.node,
        since=_ADDED,
        body=Body(CLIENT_DATA, max_size=lambda conf: conf.inspection.max_data_size),
    )
    def put(self, context: Context, node_ident: str, /, *, body: Any) -> orjson.Fragment:
        return orjson.Fragment(inspections.put(context, node_ident, body).json)
