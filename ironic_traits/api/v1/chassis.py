"""/v1/chassis"""

from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import node_fields, node_filters, node_types, nodes
from ironic_traits.api.v1.records import FIELDS_QUERY, LIST_QUERY, Records
from ironic_traits.inventory.records.chassis import CHASSIS as KIND


class ChassisBody(types.Base):
    """The fields of a chassis that clients may set."""

    _resource = KIND.resource

    uuid = types.UUID
    description = types.TEXT_255
    extra = types.OBJECT


class Chassis(ChassisBody):
    """A chassis in a response."""

    created_at = types.MOMENT
    updated_at = types.MOMENT
    links = types.LINKS
    nodes = types.LINKS


class ChassisList(types.Base):
    """A page of chassis."""

    chassis = [Chassis]
    next = str


CHASSIS = Records(kind=KIND, body=ChassisBody)


class ChassisNodesDetailController(Resource):
    """The nodes in a chassis, with all their fields."""

    @expose('baremetal:node:list', node_types.Nodes, query=node_filters.QUERY)
    def get_all(self, context, grant, chassis_uuid, /, **query):
        query['chassis_uuid'] = CHASSIS.ident(context, chassis_uuid)
        return nodes.list_page(context, grant, node_fields.all_fields(context), 'all', query)


class ChassisNodesController(Resource):
    """The nodes in a chassis."""

    children = {'detail': ChassisNodesDetailController()}

    @expose('baremetal:node:list', node_types.Nodes, query=node_filters.QUERY | nodes.FIELDS_QUERY)
    def get_all(self, context, grant, chassis_uuid, /, *, fields=None, **query):
        query['chassis_uuid'] = CHASSIS.ident(context, chassis_uuid)
        if fields is None:
            return nodes.list_page(context, grant, node_fields.listed_fields(context), 'node', query)
        return nodes.list_page(context, grant, node_fields.selected(context, fields), False, query)


class ChassisDetailController(Resource):
    """Chassis with all their fields."""

    detail = True

    @expose('baremetal:chassis:get', ChassisList, query=LIST_QUERY)
    def get_all(self, context, grant, /, **query):
        return CHASSIS.page(context, grant, query, self.detail)


class ChassisController(ChassisDetailController):
    """Chassis, which contain nodes."""

    detail = False
    children = {'detail': ChassisDetailController()}
    members = {'nodes': ChassisNodesController()}

    @expose('baremetal:chassis:get', Chassis, of=CHASSIS.allowed, query=FIELDS_QUERY)
    def get_one(self, context, grant, chassis_uuid, /, *, fields=None):
        return CHASSIS.show(context, grant, fields)

    @expose('baremetal:chassis:create', Chassis, body=ChassisBody, statuses=(201,))
    def post(self, context, grant, /, *, body):
        return CHASSIS.create(context, grant, body)

    @expose('baremetal:chassis:update', Chassis, of=CHASSIS.allowed, body=[types.PatchOperation])
    def patch(self, context, grant, chassis_uuid, /, *, body):
        return CHASSIS.change(context, grant, body)

    @expose('baremetal:chassis:delete', of=CHASSIS.allowed)
    def delete(self, context, grant, chassis_uuid, /):
        return CHASSIS.delete(context, grant)
