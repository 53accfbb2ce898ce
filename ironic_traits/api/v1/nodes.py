"""/v1/nodes"""

import pecan
import wsme.types

from ironic_traits import failures
from ironic_traits.api import paging, types
from ironic_traits.api.expose import Answer, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access, node_fields, node_filters, node_patch, node_types
from ironic_traits.api.v1.node_lock import NodeLockController
from ironic_traits.api.v1.node_maintenance import NodeMaintenanceController
from ironic_traits.api.v1.node_states import NodeStatesController
from ironic_traits.api.v1.node_traits import NodeTraitsController
from ironic_traits.api.v1.node_validate import NodesValidateController, NodeValidateController
from ironic_traits.api.v1.node_vifs import NodeVifsController
from ironic_traits.api.v1.portgroups import NodePortgroupsController
from ironic_traits.api.v1.ports import NodePortsController
from ironic_traits.api.v1.volume import NodeVolumeController
from ironic_traits.deploy import states
from ironic_traits.inventory import nodes

FIELDS_QUERY = {'fields': [types.Names()]}


class NodesDetailController(Resource):
    """Nodes with all their fields."""

    @expose(node_types.Nodes, query=node_filters.QUERY)
    def get_all(self, context, /, **query):
        context.can('baremetal:node:list')
        return list_page(context, node_fields.all_fields(context), 'all', query)


class NodesController(Resource):
    """Nodes, and what belongs to each of them."""

    children = {'detail': NodesDetailController(), 'validate': NodesValidateController()}
    members = {
        'lock': NodeLockController(),
        'maintenance': NodeMaintenanceController(),
        'states': NodeStatesController(),
        'traits': NodeTraitsController(),
        'validate': NodeValidateController(),
        'ports': NodePortsController(),
        'portgroups': NodePortgroupsController(),
        'vifs': NodeVifsController(),
        'volume': NodeVolumeController(),
    }

    @expose(node_types.Nodes, query=node_filters.QUERY | FIELDS_QUERY | {'detail': types.BOOLEAN})
    def get_all(self, context, /, *, fields=None, detail=None, **query):
        context.can('baremetal:node:list')
        if detail is not None:
            context.needs(43, "the argument 'detail'")
        if detail and fields is not None:
            raise failures.InvalidInput(reason='Can not specify ?detail=True and fields in the same request.')
        if detail:
            return list_page(context, node_fields.all_fields(context), 'all', query)
        if fields is None:
            return list_page(context, node_fields.listed_fields(context), 'node', query)
        return list_page(context, node_fields.selected(context, fields), False, query)

    @expose(node_types.Node, query=FIELDS_QUERY)
    def get_one(self, context, node_ident, /, *, fields=None):
        context.limit_to('baremetal:node:get')
        ident = access.node(context, node_ident)
        if fields is None:
            return _show(context, nodes.get(context, ident, node_fields.all_fields(context)))
        names = node_fields.selected(context, fields)
        return node_fields.presenter(context, names)(nodes.get(context, ident, names))

    @expose(node_types.Node, body=node_types.NodeBody)
    def post(self, context, /, *, body):
        context.can('baremetal:node:create', 'baremetal:node:create:self_owned_node')
        values = new_values(context, body) | _owner(context, body)
        node = _show(context, nodes.create(context, values, node_fields.all_fields(context)))
        return Answer(node, status=201, location=f'/v1/nodes/{node["uuid"]}')

    @expose(node_types.Node, query={'reset_interfaces': types.BOOLEAN}, body=[types.PatchOperation])
    def patch(self, context, node_ident, /, *, body, reset_interfaces=None):
        if reset_interfaces is not None:
            context.needs(45, "the argument 'reset_interfaces'")
        change = node_patch.changer(context, body, reset_interfaces)
        ident = access.node_by_all(context, node_ident, node_patch.rules(body))
        return _show(context, nodes.update(context, ident, change, node_fields.all_fields(context)))

    @expose()
    def delete(self, context, node_ident, /):
        context.limit_to('baremetal:node:delete', 'baremetal:node:delete:self_owned_node')
        nodes.delete(context, access.node(context, node_ident))
        return Answer(status=204)


def new_values(context, body):
    """Return what a body says of a node that is new, as ``inventory.nodes.create`` takes it.

    :param body: node_types.NodeBody.
    :raises failures.Failure: it cannot be said of a node that is new, or at this version.
    """
    for name in node_patch.given(body):
        node_fields.check(context, name)
    if not {'protected', 'protected_reason'}.isdisjoint(node_patch.given(body)):
        raise failures.InvalidInput(reason='A node can be protected only when it is active.')
    return node_patch.settable(context, body, {}) | _beginning(context)


def _beginning(context):
    """Give the states of a node that is new."""
    if context.minor >= 11:
        return {'provision_state': states.ENROLL}
    # Before there was a state to begin in; nothing that is to be used is without a power state.
    return {'provision_state': states.AVAILABLE, 'power_state': states.POWER_OFF}


def _owner(context, body):
    """Return the owner of a new node whose creator may only create nodes for the own project.

    :raises failures.Forbidden: there is no such project, or the request names another one.
    """
    if context.may('baremetal:node:create'):
        return {}
    if not context.project_id:
        raise failures.Forbidden(rule='baremetal:node:create')
    if body.owner not in (None, wsme.types.Unset, context.project_id):
        raise failures.Forbidden(rule='baremetal:node:create')
    return {'owner': context.project_id}


def _show(context, row):
    return node_fields.presenter(context, node_fields.all_fields(context), 'all')(row)


def list_page(context, fields, links, query):
    """Answer a list: the page, and where the next one is."""
    page = paging.page(context, query, nodes.SORTABLE, node_fields.check)
    filters, traits = node_filters.parse(context, query)
    rows, more = nodes.find(context, ('uuid', *fields), filters, traits, page)
    show = node_fields.presenter(context, fields, links)
    answer = {'nodes': [show(row[1:]) for row in rows]}
    if more:
        answer['next'] = paging.next_link(context, pecan.request, page, rows[-1].uuid)
    return answer
