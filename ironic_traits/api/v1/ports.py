"""/v1/ports"""

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.api.v1.local_link import LocalLink, is_smart
from ironic_traits.api.v1.portgroup_fields import PORTGROUPS
from ironic_traits.api.v1.records import FIELDS_QUERY, Records
from ironic_traits.inventory.ports import PORTS as KIND


class PortBody(types.Base):
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
    name = types.TEXT
    description = types.TEXT_255
    vendor = types.Text(maximum=32)
    category = types.Text(maximum=80)
    available_for_dynamic_portgroup = types.BOOLEAN


class Port(PortBody):
    """A port in a response."""

    created_at = types.MOMENT
    updated_at = types.MOMENT
    internal_info = types.OBJECT
    links = types.LINKS


class Ports(types.Base):
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

#: Filters that select nodes.
_NODE_FILTERS = ('node', 'node_uuid', 'shard', 'conductor_groups')
#: Query parameters of the ports of one node.
NODE_QUERY = {name: kind for name, kind in PORTS.query.items() if name not in _NODE_FILTERS}
QUERY = PORTS.query


def list_page(context, grant, query, detail):
    """Return a page of ports.

    :param grant: ironic_traits.context.Grant.
    :param query: {query parameter: value}.
    :param detail: whether to show all fields.
    """
    PORTS.check_filters(context, query)
    if 'portgroup' in query:
        query['portgroup'] = (PORTGROUPS.kind, PORTGROUPS.ident(context, query['portgroup']))
    if 'node_uuid' in query:
        # Both parameters are the same filter: a node that does not exist is a 404.
        query['node'] = query.pop('node_uuid')
    return PORTS.page(context, grant, query, detail)


class NodePortsDetailController(Resource):
    """The ports of a node, with all their fields."""

    detail = True

    @expose('baremetal:port:list', Ports, within=access.visible_node, query=NODE_QUERY)
    def get_all(self, context, grant, node_ident, /, **query):
        return list_page(context, grant, {**query, 'node': node_ident}, self.detail)


class NodePortsController(NodePortsDetailController):
    """The ports of a node."""

    detail = False
    children = {'detail': NodePortsDetailController()}


class PortsDetailController(Resource):
    """Ports with all their fields."""

    detail = True

    @expose('baremetal:port:list', Ports, query=QUERY)
    def get_all(self, context, grant, /, **query):
        return list_page(context, grant, query, self.detail)


class PortsController(PortsDetailController):
    """Ports: the NICs of nodes."""

    detail = False
    children = {'detail': PortsDetailController()}

    @expose('baremetal:port:get', Port, of=PORTS.allowed, query=FIELDS_QUERY)
    def get_one(self, context, grant, port_ident, /, *, fields=None):
        return PORTS.show(context, grant, fields)

    @expose('baremetal:port:create', Port, body=PortBody)
    def post(self, context, grant, /, *, body):
        return PORTS.create(context, grant, body)

    @expose('baremetal:port:update', Port, of=PORTS.allowed, body=[types.PatchOperation])
    def patch(self, context, grant, port_ident, /, *, body):
        return PORTS.change(context, grant, body)

    @expose('baremetal:port:delete', of=PORTS.allowed)
    def delete(self, context, grant, port_ident, /):
        return PORTS.delete(context, grant)
