"""/v1/chassis"""

from typing import Any

from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.v1 import node_fields, node_filters, node_types, nodes
from ironic_traits.api.v1.record_controllers import RecordsController
from ironic_traits.api.v1.records import Records
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.records.chassis import CHASSIS as KIND


class ChassisBody(types.Base):
    """The fields of a chassis that clients may set."""

    _resource = KIND.resource

    uuid = types.UUID
    description = types.TEXT_255
    extra = types.OBJECT


class Chassis(types.Stored, ChassisBody):
    """A chassis in a response."""

    nodes = types.LINKS


CHASSIS = Records(kind=KIND, rule='baremetal:chassis', returns=Chassis, body=ChassisBody, list_action='get')


class ChassisNodesDetailController(Resource):
    """The nodes in a chassis, with all their fields."""

    @expose('baremetal:node:list', node_types.Nodes, query=node_filters.QUERY)
    def get_all(self, context: Context, grant: Grant, chassis_uuid: str, /, **query: Any) -> Response | dict[str, Any]:
        query['chassis_uuid'] = CHASSIS.ident(context, chassis_uuid)
        return nodes.list_page(context, grant, node_fields.all_fields(context), 'all', query)


class ChassisNodesController(Resource):
    """The nodes in a chassis."""

    children = {'detail': ChassisNodesDetailController()}

    @expose('baremetal:node:list', node_types.Nodes, query=node_filters.QUERY | nodes.FIELDS_QUERY)
    def get_all(
        self, context: Context, grant: Grant, chassis_uuid: str, /, *, fields: Any = None, **query: Any
    ) -> Response | dict[str, Any]:
        query['chassis_uuid'] = CHASSIS.ident(context, chassis_uuid)
        if fields is None:
            return nodes.list_page(context, grant, node_fields.listed_fields(context), 'node', query)
        return nodes.list_page(context, grant, node_fields.selected(context, fields), False, query)


class ChassisController(RecordsController):
    """Chassis, which contain nodes."""

    records = CHASSIS
    members = {'nodes': ChassisNodesController()}
