"""/v1/volume/connectors"""

import wsme.types

from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.api.v1.records import FIELDS_QUERY, LIST_QUERY, Records
from ironic_traits.inventory.volume import CONNECTORS as KIND


class ConnectorBody(wsme.types.Base):
    """The fields of a volume connector that clients may set."""

    uuid = types.UUID
    node_uuid = types.UUID
    type = types.TEXT_255
    connector_id = types.TEXT_255
    extra = types.OBJECT


class Connector(ConnectorBody):
    """A volume connector in a response."""

    created_at = types.MOMENT
    updated_at = types.MOMENT
    links = types.LINKS


class Connectors(wsme.types.Base):
    """A page of volume connectors."""

    connectors = [Connector]
    next = str


CONNECTORS = Records(kind=KIND, body=ConnectorBody)


class NodeConnectorsController(Resource):
    """The volume connectors of a node."""

    @expose(Connectors, query=LIST_QUERY)
    def get_all(self, context, node_ident, /, **query):
        access.visible_node(context, node_ident)
        context.can('baremetal:volume:list')
        return CONNECTORS.page(context, {**query, 'node': node_ident})


class ConnectorsController(Resource):
    """Volume connectors, through which nodes access remote volumes."""

    @expose(Connectors, query={**LIST_QUERY, 'node': types.TEXT})
    def get_all(self, context, /, **query):
        context.can('baremetal:volume:list')
        return CONNECTORS.page(context, query)

    @expose(Connector, query=FIELDS_QUERY)
    def get_one(self, context, connector_uuid, /, *, fields=None):
        context.limit_to('baremetal:volume:get')
        return CONNECTORS.show(context, connector_uuid, fields)

    @expose(Connector, body=ConnectorBody)
    def post(self, context, /, *, body):
        context.can('baremetal:volume:create')
        return CONNECTORS.create(context, body)

    @expose(Connector, body=[types.PatchOperation])
    def patch(self, context, connector_uuid, /, *, body):
        context.limit_to('baremetal:volume:update')
        return CONNECTORS.change(context, connector_uuid, body)

    @expose()
    def delete(self, context, connector_uuid, /):
        context.limit_to('baremetal:volume:delete')
        return CONNECTORS.delete(context, connector_uuid)
