"""/v1/volume, and its connectors and targets"""

from typing import Any

from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.api.v1.record_controllers import RecordsController, node_records
from ironic_traits.api.v1.records import Records
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.nodes import nodes
from ironic_traits.inventory.records import volume


class ConnectorBody(types.Base):
    """The fields of a volume connector that clients may set."""

    _resource = volume.CONNECTORS.resource

    uuid = types.UUID
    node_uuid = types.UUID
    type = types.TEXT_255
    connector_id = types.TEXT_255
    extra = types.OBJECT


class Connector(types.Stored, ConnectorBody):
    """A volume connector in a response."""


class TargetBody(types.Base):
    """The fields of a volume target that clients may set."""

    _resource = volume.TARGETS.resource

    uuid = types.UUID
    node_uuid = types.UUID
    volume_type = types.TEXT_255
    boot_index = types.Integer()
    volume_id = types.TEXT_255
    properties = types.OBJECT
    extra = types.OBJECT


class Target(types.Stored, TargetBody):
    """A volume target in a response."""


_RULE = 'baremetal:volume'
CONNECTORS = Records(kind=volume.CONNECTORS, rule=_RULE, returns=Connector, body=ConnectorBody)
TARGETS = Records(kind=volume.TARGETS, rule=_RULE, returns=Target, body=TargetBody)
SINCE = CONNECTORS.served_since


class ConnectorsController(RecordsController):
    """Volume connectors, through which nodes access remote volumes."""

    records = CONNECTORS


class TargetsController(RecordsController):
    """Volume targets: the remote volumes of nodes."""

    records = TARGETS


class Volume(types.Base):
    """Links to the volume resources."""

    links = types.LINKS
    connectors = types.LINKS
    targets = types.LINKS


class NodeVolumeController(Resource):
    """The volume resources of a node."""

    children = {'connectors': node_records(CONNECTORS), 'targets': node_records(TARGETS)}

    @expose('baremetal:volume:get', Volume, of=access.node, since=SINCE)
    def get_all(self, context: Context, grant: Grant, node_ident: str, /) -> dict[str, Any]:
        nodes.get(context, grant, ('uuid',))
        return _links(context, 'nodes', node_ident, 'volume')


class VolumeController(Resource):
    """Volume resources: connectors and targets."""

    since = SINCE
    children = {'connectors': ConnectorsController(), 'targets': TargetsController()}

    @expose('baremetal:volume:get', Volume, since=SINCE)
    def get_all(self, context: Context, grant: Grant, /) -> dict[str, Any]:
        # The links are the same for every grant.
        return _links(context, 'volume')


def _links(context: Context, *path: str) -> dict[str, Any]:
    return {
        'links': context.links(*path, ''),
        'connectors': context.links(*path, 'connectors'),
        'targets': context.links(*path, 'targets'),
    }
