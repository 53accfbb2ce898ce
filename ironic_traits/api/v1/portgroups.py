"""/v1/portgroups"""

from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access, ports
from ironic_traits.api.v1.portgroup_fields import PORTGROUPS, Portgroup, PortgroupBody, Portgroups
from ironic_traits.api.v1.records import FIELDS_QUERY

#: Query parameters of the portgroups of one node.
NODE_QUERY = {
    name: kind for name, kind in PORTGROUPS.query.items() if name not in ('node', 'shard', 'conductor_groups')
}
QUERY = PORTGROUPS.query
#: Query parameters of the ports in one portgroup.
PORTS_QUERY = {name: kind for name, kind in ports.QUERY.items() if name != 'portgroup'}
#: The minor version that brought the resources below a portgroup, and portgroups below a node.
MEMBERS_SINCE = 24
SINCE = PORTGROUPS.served_since


class NodePortgroupsDetailController(Resource):
    """The portgroups of a node, with all their fields."""

    detail = True

    @expose('baremetal:portgroup:list', Portgroups, within=access.visible_node, since=MEMBERS_SINCE, query=NODE_QUERY)
    def get_all(self, context, grant, node_ident, /, **query):
        return PORTGROUPS.page(context, grant, {**query, 'node': node_ident}, self.detail)


class NodePortgroupsController(NodePortgroupsDetailController):
    """The portgroups of a node."""

    detail = False
    children = {'detail': NodePortgroupsDetailController()}


class PortgroupPortsDetailController(Resource):
    """The ports in a portgroup, with all their fields."""

    detail = True

    @expose('baremetal:port:list', ports.Ports, since=MEMBERS_SINCE, query=PORTS_QUERY)
    def get_all(self, context, grant, portgroup_ident, /, **query):
        return ports.list_page(context, grant, {**query, 'portgroup': portgroup_ident}, self.detail)


class PortgroupPortsController(PortgroupPortsDetailController):
    """The ports in a portgroup."""

    detail = False
    children = {'detail': PortgroupPortsDetailController()}


class PortgroupsDetailController(Resource):
    """Portgroups with all their fields."""

    detail = True

    @expose('baremetal:portgroup:list', Portgroups, since=SINCE, query=QUERY)
    def get_all(self, context, grant, /, **query):
        return PORTGROUPS.page(context, grant, query, self.detail)


class PortgroupsController(PortgroupsDetailController):
    """Portgroups: bonded ports of a node."""

    since = SINCE
    detail = False
    children = {'detail': PortgroupsDetailController()}
    members = {'ports': PortgroupPortsController()}

    @expose('baremetal:portgroup:get', Portgroup, of=PORTGROUPS.allowed, since=SINCE, query=FIELDS_QUERY)
    def get_one(self, context, grant, portgroup_ident, /, *, fields=None):
        return PORTGROUPS.show(context, grant, fields)

    @expose('baremetal:portgroup:create', Portgroup, since=SINCE, body=PortgroupBody, statuses=(201,))
    def post(self, context, grant, /, *, body):
        return PORTGROUPS.create(context, grant, body)

    @expose('baremetal:portgroup:update', Portgroup, of=PORTGROUPS.allowed, since=SINCE, body=[types.PatchOperation])
    def patch(self, context, grant, portgroup_ident, /, *, body):
        return PORTGROUPS.change(context, grant, body)

    @expose('baremetal:portgroup:delete', of=PORTGROUPS.allowed, since=SINCE)
    def delete(self, context, grant, portgroup_ident, /):
        return PORTGROUPS.delete(context, grant)
