"""/v1/ports"""

import wsme.types

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.api.v1.local_link import LocalLink, is_smart
from ironic_traits.api.v1.portgroup_fields import PORTGROUPS
from ironic_traits.api.v1.records import FIELDS_QUERY, Records
from ironic_traits.inventory.ports import PORTS as KIND


class PortBody(wsme.types.Base):
    """The fields of a port that clients may set."""

    uuid = types.UUID
    node_uuid = types.UUID
    address = types.Mac()
    portgroup_uuid = types.UUID
    pxe_enabled = types.BOOLEAN
    is_smartnic = types.BOOLEAN
    physical_network = types.Text(minimum=1, maximum=64)
    local_link_connection = LocalLink()
    extra = types.OBJECT


class Port(PortBody):
    """A port in a response."""

    created_at = types.MOMENT
    updated_at = types.MOMENT
    internal_info = types.OBJECT
    links = types.LINKS


class Ports(wsme.types.Base):
    """A page of ports."""

    ports = [Port]
    next = str


def _check(context, old, new):
    link = new['local_link_connection']
    if 'network_type' in link and old.get('local_link_connection') != link:
        context.needs(64, "'network_type' in local_link_connection")
    if new['is_smartnic'] and not is_smart(link):
        raise failures.InvalidInput(reason='Smart NIC port must have port_id and hostname in local_link_connection')


PORTS = Records(kind=KIND, body=PortBody, check=_check)

#: Query parameters of the ports of one node.
NODE_QUERY = {name: kind for name, kind in PORTS.query.items() if name not in ('node', 'node_uuid', 'shard')}
QUERY = PORTS.query


def list_page(context, query, detail):
    """Return a page of ports.

    :param query: {query parameter: value}.
    :param detail: whether to show all fields.
    """
    PORTS.check_filters(context, query)
    if 'portgroup' in query:
        query['portgroup'] = (PORTGROUPS.kind, PORTGROUPS.ident(context, query['portgroup']))
    if 'node_uuid' in query:
        # Both parameters are the same filter: a node that does not exist is a 404.
        query['node'] = query.pop('node_uuid')
    return PORTS.page(context, query, detail)


class NodePortsDetailController(Resource):
    """The ports of a node, with all their fields."""

    detail = True

    @expose(Ports, query=NODE_QUERY)
    def get_all(self, context, node_ident, /, **query):
        access.visible_node(context, node_ident)
        context.can('baremetal:port:list')
        return list_page(context, {**query, 'node': node_ident}, self.detail)


class NodePortsController(NodePortsDetailController):
    """The ports of a node."""

    detail = False
    children = {'detail': NodePortsDetailController()}


class PortsDetailController(Resource):
    """Ports with all their fields."""

    detail = True

    @expose(Ports, query=QUERY)
    def get_all(self, context, /, **query):
        context.can('baremetal:port:list')
        return list_page(context, query, self.detail)


class PortsController(PortsDetailController):
    """Ports: the NICs of nodes."""

    detail = False
    children = {'detail': PortsDetailController()}

    @expose(Port, query=FIELDS_QUERY)
    def get_one(self, context, port_ident, /, *, fields=None):
        context.limit_to('baremetal:port:get')
        return PORTS.show(context, port_ident, fields)

    @expose(Port, body=PortBody)
    def post(self, context, /, *, body):
        context.can('baremetal:port:create')
        return PORTS.create(context, body)

    @expose(Port, body=[types.PatchOperation])
    def patch(self, context, port_ident, /, *, body):
        context.limit_to('baremetal:port:update')
        return PORTS.change(context, port_ident, body)

    @expose()
    def delete(self, context, port_ident, /):
        context.limit_to('baremetal:port:delete')
        return PORTS.delete(context, port_ident)
