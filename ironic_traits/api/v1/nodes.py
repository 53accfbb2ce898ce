"""/v1/nodes"""

from typing import Any

import sqlalchemy as sa
import wsme.types

from ironic_traits import failures
from ironic_traits.api import conditional, paging, types
from ironic_traits.api.expose import expose
from ironic_traits.api.patch import stated_fields
from ironic_traits.api.resource import Found, Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.v1 import access, changes, node_fields, node_filters, node_patch, node_types
from ironic_traits.api.v1.allocations import NodeAllocationController
from ironic_traits.api.v1.facets import absences
from ironic_traits.api.v1.node_actions import NodeActionsController
from ironic_traits.api.v1.node_children import NodeChildrenController
from ironic_traits.api.v1.node_history import NodeHistoryController
from ironic_traits.api.v1.node_inventory import NodeInventoryController
from ironic_traits.api.v1.node_lock import NodeLockController
from ironic_traits.api.v1.node_maintenance import NodeMaintenanceController
from ironic_traits.api.v1.node_management import NodeManagementController
from ironic_traits.api.v1.node_settings import NodeBiosController, NodeFirmwareController
from ironic_traits.api.v1.node_states import NodeStatesController
from ironic_traits.api.v1.node_traits import NodeTraitsController
from ironic_traits.api.v1.node_validate import NodesValidateController, NodeValidateController
from ironic_traits.api.v1.node_vifs import NodeVifsController
from ironic_traits.api.v1.node_vmedia import NodeVmediaController
from ironic_traits.api.v1.portgroups import MEMBERS_SINCE, PORTGROUPS
from ironic_traits.api.v1.ports import PORTS
from ironic_traits.api.v1.record_controllers import node_records
from ironic_traits.api.v1.volume import NodeVolumeController
from ironic_traits.context import Context, Grant
from ironic_traits.deploy import states
from ironic_traits.inventory.nodes import node_columns, nodes
from ironic_traits.resources.additions import ADDED
from ironic_traits.resources.nodes import NODES

FIELDS_QUERY = {'fields': [types.Names()]}
LIST_QUERY = node_filters.QUERY | {'changed-since': types.TEXT}


class NodesDetailController(Resource):
    """Nodes with all their fields."""

    @expose('baremetal:node:list', node_types.Nodes, query=LIST_QUERY, query_since={'changed-since': ADDED})
    def get_all(self, context: Context, grant: Grant, /, **query: Any) -> Response | dict[str, Any]:
        return list_page(context, grant, node_fields.all_fields(context), 'all', query)


class NodesController(Resource):
    """Nodes, and the resources below each of them."""

    children = {
        'actions': NodeActionsController(),
        'detail': NodesDetailController(),
        'validate': NodesValidateController(),
    }
    members = {
        'allocation': NodeAllocationController(),
        'bios': NodeBiosController(),
        'children': NodeChildrenController(),
        'firmware': NodeFirmwareController(),
        'history': NodeHistoryController(),
        'inventory': NodeInventoryController(),
        'lock': NodeLockController(),
        'maintenance': NodeMaintenanceController(),
        'management': NodeManagementController(),
        'states': NodeStatesController(),
        'traits': NodeTraitsController(),
        'validate': NodeValidateController(),
        'ports': node_records(PORTS),
        'portgroups': node_records(PORTGROUPS, MEMBERS_SINCE),
        'vifs': NodeVifsController(),
        'vmedia': NodeVmediaController(),
        'volume': NodeVolumeController(),
    }

    def find(self, segments: list[str], method: str, taken: list[str], path: str) -> Found:
        # In Ironic, "actions" may be the name of a node. No single node has the method POST.
        if segments[:1] == ['actions'] and (method != 'POST' or len(segments) > 1):
            return self.find_item(segments, method, taken, path)
        return super().find(segments, method, taken, path)

    @expose(
        'baremetal:node:list',
        node_types.Nodes,
        query=LIST_QUERY | FIELDS_QUERY | {'detail': types.BOOLEAN},
        query_since={'detail': NODES.detail_since, 'changed-since': ADDED},
    )
    def get_all(
        self, context: Context, grant: Grant, /, *, fields: Any = None, detail: Any = None, **query: Any
    ) -> Response | dict[str, Any]:
        if detail and fields is not None:
            raise failures.InvalidInput(reason='Can not specify ?detail=True and fields in the same request.')
        if detail:
            return list_page(context, grant, node_fields.all_fields(context), 'all', query)
        if fields is None:
            return list_page(context, grant, node_fields.listed_fields(context), 'node', query)
        return list_page(context, grant, node_fields.selected(context, fields), False, query)

    @expose('baremetal:node:get', node_types.Node, of=access.node, query=FIELDS_QUERY)
    def get_one(self, context: Context, grant: Grant, node_ident: str, /, *, fields: Any = None) -> dict[str, Any]:
        if fields is None:
            return _show(context, nodes.get(context, grant, node_fields.all_fields(context)))
        names = node_fields.selected(context, fields)
        return node_fields.presenter(context, names)(nodes.get(context, grant, names))

    @expose(
        ('baremetal:node:create', 'baremetal:node:create:self_owned_node'),
        node_types.Node,
        body=node_types.NodeBody,
        statuses=(201,),
    )
    def post(self, context: Context, /, *, body: Any) -> Response:
        values = new_values(context, body) | _owner(context, body)
        node = _show(context, nodes.create(context, values, node_fields.all_fields(context)))
        return Response(node, status=201, location=f'/v1/nodes/{node["uuid"]}')

    # Before the body is read, one of the rules of the fields must allow it; then all those of the fields in the body.
    @expose(
        node_patch.RULES,
        node_types.Node,
        of=access.node,
        query={'reset_interfaces': types.BOOLEAN},
        query_since={'reset_interfaces': 45},
        body=[types.PatchOperation],
    )
    def patch(
        self, context: Context, grant: Grant, node_ident: str, /, *, body: Any, reset_interfaces: bool | None = None
    ) -> dict[str, Any]:
        change = node_patch.changer(context, body, reset_interfaces)
        access.check_all(context, grant, node_patch.rules(body))
        return _show(context, nodes.update(context, node_ident, change, node_fields.all_fields(context)))

    @expose(('baremetal:node:delete', 'baremetal:node:delete:self_owned_node'), of=access.node)
    def delete(self, context: Context, node_ident: str, /) -> None:
        nodes.delete(context, node_ident)


def new_values(context: Context, body: Any) -> dict[str, Any]:
    """Return the values of a new node, as ``inventory.nodes.nodes.create`` takes them.

    :raises failures.Failure: a field is invalid, cannot be set on a new node, or needs a later version.
    """
    fields = stated_fields(body)
    for name in fields:
        node_fields.check(context, name)
    if not fields.keys().isdisjoint(NODES.later):
        raise failures.InvalidInput(reason='A node can be protected only when it is active.')
    return node_patch.settable(context, body, {}) | _initial_states(context)


def _initial_states(context: Context) -> dict[str, Any]:
    """Return the states of a new node: {field: value}."""
    if context.minor >= 11:
        return {'provision_state': states.ENROLL}
    # Before 1.11, a new node is available at once, and an available node needs a power state.
    return {'provision_state': states.AVAILABLE, 'power_state': states.POWER_OFF}


def _owner(context: Context, body: Any) -> dict[str, str]:
    """Return the owner of a new node: {'owner': project}, or {} if policy lets the caller choose it.

    A caller who may only create nodes of their own project cannot choose: that project becomes the owner.

    :raises failures.Forbidden: the caller has no project, or the request names another owner.
    """
    if context.may('baremetal:node:create'):
        return {}
    if not context.project_id:
        raise context.forbidden('baremetal:node:create')
    if body.owner not in (None, wsme.types.Unset, context.project_id):
        raise context.forbidden('baremetal:node:create')
    return {'owner': context.project_id}


def _show(context: Context, row: sa.Row) -> dict[str, Any]:
    return node_fields.presenter(context, node_fields.all_fields(context), 'all')(row)


def list_page(
    context: Context, grant: Grant, fields: tuple[str, ...], links: bool | str, query: dict[str, Any]
) -> Response | dict[str, Any]:
    """Return the response with a page of nodes, and a link to the next page.

    :param fields: names of the fields to show.
    :param links: as ``node_fields.presenter`` takes it.
    :param query: {query parameter: value}, with filters.
    """
    if 'changed_since' in query:
        return _changed(context, grant, fields, links, query)
    headers: dict[str, str] = {}

    def read() -> dict[str, Any]:
        document = _read_page(context, grant, fields, links, query)
        if not document['nodes']:
            headers.update(absences(context, grant, query))
        return document

    # The list of a chassis depends on the existence of the chassis, which is not in the change feed.
    body = read() if 'chassis_uuid' in query else conditional.nodes(context, read)
    return Response(body, headers=headers)


def _read_page(
    context: Context, grant: Grant, fields: tuple[str, ...], links: bool | str, query: dict[str, Any]
) -> dict[str, Any]:
    page = paging.page(context, query, node_columns.SORTABLE, node_fields.check)
    filters, traits = node_filters.parse(context, query)
    found = nodes.find(context, grant, ('uuid', *fields), filters, traits, page)
    show = node_fields.presenter(context, fields, links)
    return paging.document(context, page, found, 'nodes', lambda row: show(row[1:]))


def _changed(
    context: Context, grant: Grant, fields: tuple[str, ...], links: bool | str, query: dict[str, Any]
) -> dict[str, Any]:
    """Return the nodes that have changed since a token; parameters as for ``list_page``."""
    filters, traits = node_filters.parse(context, query)
    rows, ending = changes.changed_nodes(context, grant, ('uuid', *fields), filters, traits, query)
    show = node_fields.presenter(context, fields, links)
    return {'nodes': [show(row[1:]) for row in rows]} | ending
