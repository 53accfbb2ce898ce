"""/v1/chassis"""

import wsme.types

from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import node_fields, node_filters, node_types, nodes
from ironic_traits.api.v1.records import FIELDS_QUERY, LIST_QUERY, Records
from ironic_traits.inventory.chassis import CHASSIS as KIND


class ChassisBody(wsme.types.Base):
    """The fields of a chassis that clients may set."""

    uuid = types.UUID
    description = types.TEXT_255
    extra = types.OBJECT


class Chassis(ChassisBody):
    """A chassis in a response."""

    created_at = types.MOMENT
    updated_at = types.MOMENT
    links = types.LINKS
    nodes = types.LINKS


class ChassisList(wsme.types.Base):
    """A page of chassis."""

    chassis = [Chassis]
    next = str


CHASSIS = Records(kind=KIND, body=ChassisBody)


class ChassisNodesDetailController(Resource):
    """The nodes in a chassis, with all their fields."""

    @expose(node_types.Nodes, query=node_filters.QUERY)
    def get_all(self, context, chassis_uuid, /, **query):
        context.can('baremetal:node:list')
        query['chassis_uuid'] = CHASSIS.ident(context, chassis_uuid)
        return nodes.list_page(context, node_fields.all_fields(context), 'all', query)


class ChassisNodesController(Resource):
    """The nodes in a chassis."""

    children = {'detail': ChassisNodesDetailController()}

    @expose(node_types.Nodes, query=node_filters.QUERY | nodes.FIELDS_QUERY)
    def get_all(self, context, chassis_uuid, /, *, fields=None, **query):
        context.can('baremetal:node:list')
        query['chassis_uuid'] = CHASSIS.ident(context, chassis_uuid)
        if fields is None:
            return nodes.list_page(context, node_fields.listed_fields(context), 'node', query)
        return nodes.list_page(context, node_fields.selected(context, fields), False, query)


class ChassisDetailController(Resource):
    """Chassis with all their fields."""

    detail = True

    @expose(ChassisList, query=LIST_QUERY)
    def get_all(self, context, /, **query):
        context.can('baremetal:chassis:get')
        return CHASSIS.page(context, query, self.detail)


class ChassisController(ChassisDetailController):
    """Chassis, which contain nodes."""

    detail = False
    children = {'detail': ChassisDetailController()}
    members = {'nodes': ChassisNodesController()}

    @expose(Chassis, query=FIELDS_QUERY)
    def get_one(self, context, chassis_uuid, /, *, fields=None):
        context.can('baremetal:chassis:get')
        return CHASSIS.show(context, chassis_uuid, fields)

    @expose(Chassis, body=ChassisBody)
    def post(self, context, /, *, body):
        context.can('baremetal:chassis:create')
        return CHASSIS.create(context, body)

    @expose(Chassis, body=[types.PatchOperation])
    def patch(self, context, chassis_uuid, /, *, body):
        context.can('baremetal:chassis:update')
        return CHASSIS.change(context, chassis_uuid, body)

    @expose()
    def delete(self, context, chassis_uuid, /):
        context.can('baremetal:chassis:delete')
        return CHASSIS.delete(context, chassis_uuid)
