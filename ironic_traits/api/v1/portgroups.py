"""/v1/portgroups"""

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access, ports
from ironic_traits.api.v1.portgroup_fields import PORTGROUPS, Portgroup, PortgroupBody, Portgroups
from ironic_traits.api.v1.records import FIELDS_QUERY

#: Query parameters of the portgroups of one node.
NODE_QUERY = {name: kind for name, kind in PORTGROUPS.query.items() if name != 'node'}
QUERY = PORTGROUPS.query
#: Query parameters of the ports in one portgroup.
PORTS_QUERY = {name: kind for name, kind in ports.QUERY.items() if name != 'portgroup'}
#: The minor version that brought the resources below a portgroup, and portgroups below a node.
MEMBERS_SINCE = 24


def _check_members_version(context):
    if context.minor < MEMBERS_SINCE:
        raise failures.ResourceNotFound(hint=f' It needs API version 1.{MEMBERS_SINCE}.')


class NodePortgroupsDetailController(Resource):
    """The portgroups of a node, with all their fields."""

    detail = True

    @expose(Portgroups, query=NODE_QUERY)
    def get_all(self, context, node_ident, /, **query):
        access.visible_node(context, node_ident)
        context.can('baremetal:portgroup:list')
        _check_members_version(context)
        return PORTGROUPS.page(context, {**query, 'node': node_ident}, self.detail)


class NodePortgroupsController(NodePortgroupsDetailController):
    """The portgroups of a node."""

    detail = False
    children = {'detail': NodePortgroupsDetailController()}


class PortgroupPortsDetailController(Resource):
    """The ports in a portgroup, with all their fields."""

    detail = True

    @expose(ports.Ports, query=PORTS_QUERY)
    def get_all(self, context, portgroup_ident, /, **query):
        context.can('baremetal:port:list')
        _check_members_version(context)
        return ports.list_page(context, {**query, 'portgroup': portgroup_ident}, self.detail)


class PortgroupPortsController(PortgroupPortsDetailController):
    """The ports in a portgroup."""

    detail = False
    children = {'detail': PortgroupPortsDetailController()}


class PortgroupsDetailController(Resource):
    """Portgroups with all their fields."""

    detail = True

    @expose(Portgroups, query=QUERY)
    def get_all(self, context, /, **query):
        context.can('baremetal:portgroup:list')
        return PORTGROUPS.page(context, query, self.detail)


class PortgroupsController(PortgroupsDetailController):
    """Portgroups: bonded ports of a node."""

    since = PORTGROUPS.served_since
    detail = False
    children = {'detail': PortgroupsDetailController()}
    members = {'ports': PortgroupPortsController()}

    @expose(Portgroup, query=FIELDS_QUERY)
    def get_one(self, context, portgroup_ident, /, *, fields=None):
        context.limit_to('baremetal:portgroup:get')
        return PORTGROUPS.show(context, portgroup_ident, fields)

    @expose(Portgroup, body=PortgroupBody)
    def post(self, context, /, *, body):
        context.can('baremetal:portgroup:create')
        return PORTGROUPS.create(context, body)

    @expose(Portgroup, body=[types.PatchOperation])
    def patch(self, context, portgroup_ident, /, *, body):
        context.limit_to('baremetal:portgroup:update')
        return PORTGROUPS.change(context, portgroup_ident, body)

    @expose()
    def delete(self, context, portgroup_ident, /):
        context.limit_to('baremetal:portgroup:delete')
        return PORTGROUPS.delete(context, portgroup_ident)
