"""/v1/volume/connectors"""

from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.api.v1.records import FIELDS_QUERY, LIST_QUERY, Records
from ironic_traits.inventory.records.volume import CONNECTORS as KIND


class ConnectorBody(types.Base):
    """The fields of a volume connector that clients may set."""

    _resource = KIND.resource

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


class Connectors(types.Base):
    """A page of volume connectors."""

    connectors = [Connector]
    next = str


CONNECTORS = Records(kind=KIND, body=ConnectorBody)
SINCE = CONNECTORS.served_since


class NodeConnectorsController(Resource):
    """The volume connectors of a node."""

    @expose('baremetal:volume:list', Connectors, within=access.visible_node, since=SINCE, query=LIST_QUERY)
    def get_all(self, context, grant, node_ident, /, **query):
        return CONNECTORS.page(context, grant, {**query, 'node': node_ident})


class ConnectorsController(Resource):
    """Volume connectors, through which nodes access remote volumes."""

    @expose('baremetal:volume:list', Connectors, since=SINCE, query={**LIST_QUERY, 'node': types.TEXT})
    def get_all(self, context, grant, /, **query):
        return CONNECTORS.page(context, grant, query)

    @expose('baremetal:volume:get', Connector, of=CONNECTORS.allowed, since=SINCE, query=FIELDS_QUERY)
    def get_one(self, context, grant, connector_uuid, /, *, fields=None):
        return CONNECTORS.show(context, grant, fields)

    @expose('baremetal:volume:create', Connector, since=SINCE, body=ConnectorBody, statuses=(201,))
    def post(self, context, grant, /, *, body):
        return CONNECTORS.create(context, grant, body)

    @expose('baremetal:volume:update', Connector, of=CONNECTORS.allowed, since=SINCE, body=[types.PatchOperation])
    def patch(self, context, grant, connector_uuid, /, *, body):
        return CONNECTORS.change(context, grant, body)

    @expose('baremetal:volume:delete', of=CONNECTORS.allowed, since=SINCE)
    def delete(self, context, grant, connector_uuid, /):
        return CONNECTORS.delete(context, grant)
