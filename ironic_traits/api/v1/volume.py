"""/v1/volume"""

from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.api.v1.volume_connectors import SINCE, ConnectorsController, NodeConnectorsController
from ironic_traits.api.v1.volume_targets import NodeTargetsController, TargetsController
from ironic_traits.inventory.nodes import nodes


class Volume(types.Base):
    """Links to the volume resources."""

    links = types.LINKS
    connectors = types.LINKS
    targets = types.LINKS


class NodeVolumeController(Resource):
    """The volume resources of a node."""

    children = {'connectors': NodeConnectorsController(), 'targets': NodeTargetsController()}

    @expose('baremetal:volume:get', Volume, of=access.node, since=SINCE)
    def get_all(self, context, grant, node_ident, /):
        nodes.get(context, grant, ('uuid',))
        return _links(context, 'nodes', node_ident, 'volume')


class VolumeController(Resource):
    """Volume resources: connectors and targets."""

    since = SINCE
    children = {'connectors': ConnectorsController(), 'targets': TargetsController()}

    @expose('baremetal:volume:get', Volume, since=SINCE)
    def get_all(self, context, grant, /):
        # The links are the same for every grant.
        return _links(context, 'volume')


def _links(context, *path):
    return {
        'links': context.links(*path, ''),
        'connectors': context.links(*path, 'connectors'),
        'targets': context.links(*path, 'targets'),
    }
