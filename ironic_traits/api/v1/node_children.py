"""/v1/nodes/{node}/children"""

from typing import Any

from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.api.v1.records import parse_node
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.nodes import node_parents

#: The minor version that brought children.
SINCE = 83


class Children(types.Base):
    """The uuids of the children of a node, and a link to them. The link is one object, not a list as elsewhere."""

    children = [str]
    links = types.Link


class NodeChildrenController(Resource):
    """The children of a node."""

    @expose('baremetal:node:list', Children, within=access.visible_node, since=SINCE)
    def get_all(self, context: Context, grant: Grant, node_ident: str, /) -> dict[str, Any]:
        parent, children = node_parents.children(context, grant, parse_node(context, node_ident))
        link = {'href': context.url(f'/v1/nodes?parent_node={parent}'), 'rel': 'children'}
        return {'children': children, 'links': link}
