"""/v1/allocations"""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.api import arguments, paging, patch, types
from ironic_traits.api.expose import expose
from ironic_traits.api.holder import holder
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.v1 import access, node_ident
from ironic_traits.api.v1.record_controllers import RecordsController
from ironic_traits.api.v1.records import FIELDS_QUERY, Records
from ironic_traits.conf.mirror import claims_any_nodes
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.holds import allocate, allocations
from ironic_traits.inventory.holds.allocations import KIND
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.matching import requests

SINCE, PATCH_SINCE, BACKFILL_SINCE = 52, 57, 58
_CREATE = ('baremetal:allocation:create', 'baremetal:allocation:create_restricted')
#: The fields of an allocation before its node is chosen, as Ironic responds.
_UNDECIDED = {'state': allocations.ALLOCATING, 'node_uuid': None, 'last_error': None, 'updated_at': None}
_LIST = ('baremetal:allocation:list_all', 'baremetal:allocation:list')


class AllocationChanges(types.Base):
    """The fields of an allocation that a PATCH changes."""

    _resource = KIND.resource

    name = types.TEXT
    extra = types.OBJECT


class AllocationFields(AllocationChanges):
    """The fields of an allocation that clients may set."""

    uuid = types.UUID
    resource_class = types.Text(maximum=80)
    traits = [types.Trait()]
    candidate_nodes = [types.TEXT]
    owner = types.TEXT_255


class AllocationBody(AllocationFields):
    """A request for an allocation: of a node that is chosen, or of an active node."""

    _since = {'node': BACKFILL_SINCE}

    node = types.TEXT


class Allocation(types.Stored, AllocationFields):
    """An allocation in a response."""

    node_uuid = types.UUID
    state = str
    last_error = str


class _Allocations(Records):
    """Allocations, which belong to projects, and not to nodes, as other records do."""

    @property
    def query(self) -> dict[str, Any]:
        return {**paging.QUERY, **FIELDS_QUERY, **arguments.query(self.resource)}

    def allowed(self, context: Context, grant: Grant, text: str) -> Grant:
        ident = self.ident(context, text)
        if grant.rules:
            missing = failures.RecordNotFound(what='Allocation', ident=ident)
            _check_owner(context, grant, allocations.owner(context, ident), missing)
        return grant.of(ident)

    def find(self, context: Context, grant: Grant, fields: Any, filters: Any, page: Any) -> Any:
        return allocations.find(context, access.listed_project(context, _LIST[0]), fields, filters, page)

    def created(
        self, context: Context, create: Callable[[tuple[str, ...]], sa.Row], before: dict[str, Any] | None = None
    ) -> Response:
        """Return the response with a new allocation.

        :param create: function of the names of the fields that creates it, and returns its row.
        :param before: {field: value} to show instead of the values after the decision; None to show these.
        """
        names = self._all(context)
        row = create(self._columns(names))
        allocation = self._presenter(context, names)(row) | (before or {})
        return Response(allocation, status=201, location=f'/v1/allocations/{row.uuid}')

    def check_fields(self, context: Context, body: Any) -> None:
        """Raise VersionTooLow unless the version of the request has all fields of a body."""
        for name in patch.stated_fields(body):
            self._check_field(context, name)

    def _listed(self, context: Context, selection: dict[str, Any], detail: bool) -> tuple[str, ...]:
        return super()._listed(context, selection, detail or not selection)


def _check_changes(context: Context, old: dict[str, Any], new: dict[str, Any]) -> None:
    if new['name'] and new['name'] != old['name'] and not node_ident.is_name(context, new['name']):
        raise failures.InvalidInput(reason=f"Cannot update allocation with invalid name '{new['name']}'")


ALLOCATIONS = _Allocations(
    kind=KIND,
    rule='baremetal:allocation',
    returns=Allocation,
    body=AllocationChanges,
    before=405,
    check=_check_changes,
)


def _check_owner(context: Context, grant: Grant, owner: str | None, missing: failures.Failure) -> None:
    """Raise unless one of the rules of a grant allows the request for an allocation.

    :param owner: the project that owns the allocation; None if it has no owner.
    :param missing: the failure to raise if the caller may not see the allocation.
    """
    access.check_target(context, grant, {'allocation.owner': owner}, 'baremetal:allocation:get', missing)


def _of_node(context: Context, grant: Grant, text: str) -> Grant:
    """Return the grant for the allocation of a node, if policy allows the request for it."""
    row = allocations.node_allocation(context, node_ident.ident(context, text))
    if grant.rules:
        _check_owner(context, grant, row.owner, context.forbidden(grant.rules[0]))
    return grant.of(row.uuid)


def _of_existing_node(context: Context, grant: Grant, text: str) -> Grant:
    """Return the grant as ``_of_node`` does. For a node that does not exist, the response is 400, as in Ironic."""
    try:
        return _of_node(context, grant, text)
    except failures.NodeNotFound as error:
        raise failures.InvalidInput(reason=str(error)) from error


class NodeAllocationController(Resource):
    """The allocation that holds a node."""

    since = SINCE

    @expose(
        'baremetal:allocation:get',
        Allocation,
        of=_of_existing_node,
        within=access.visible_node,
        since=SINCE,
        query=FIELDS_QUERY,
    )
    def get_all(self, context: Context, grant: Grant, node_ident: str, /, *, fields: Any = None) -> dict[str, Any]:
        return ALLOCATIONS.show(context, grant, fields)

    @expose('baremetal:allocation:delete', of=_of_node, within=access.visible_node, since=SINCE)
    def delete_all(self, context: Context, node_ident: str, /) -> None:
        holder(context.conf).release(context, allocations.delete(context, node_ident))


class AllocationsController(RecordsController):
    """Allocations, which hold nodes."""

    records = ALLOCATIONS

    @expose(_LIST, ALLOCATIONS.page_type, since=SINCE, query=ALLOCATIONS.query)
    def get_all(self, context: Context, grant: Grant, /, **query: Any) -> Any:
        project = access.listed_project(context, _LIST[0])
        if project and query.get('owner', project) != project:
            raise context.forbidden(_LIST[0])
        return super().get_all(context, grant, **query)

    @expose(_CREATE, Allocation, since=SINCE, before=405, body=AllocationBody, statuses=(201,))
    def post(self, context: Context, grant: Grant, /, *, body: Any) -> Response:
        ALLOCATIONS.check_fields(context, body)
        values = _values(context, body)
        node = body.node or None
        if node and context.minor < BACKFILL_SINCE:
            raise failures.InvalidInput(reason='Cannot set node when creating an allocation in this API version')
        if not node and not values['resource_class']:
            raise failures.InvalidInput(reason='The resource_class field is mandatory when not backfilling')
        request = requests.understand(required=values['traits'])
        values['candidate_nodes'] = _candidates(context, values['candidate_nodes'])
        if node:
            return ALLOCATIONS.created(context, lambda fields: _backfill(context, values, node, fields))
        idents = tuple(values['candidate_nodes']) or None
        node_request = NodeRequest(grant, request, _filters(context, values), idents, project=values['owner'])
        node_request = node_request.without_exclusive(context.service)
        before = _UNDECIDED if context.conf.api.allocations_answer == allocations.ALLOCATING else None
        return ALLOCATIONS.created(
            context, lambda fields: holder(context.conf).allocate(context, values, node_request, fields), before
        )

    @expose(
        'baremetal:allocation:update',
        Allocation,
        of=ALLOCATIONS.allowed,
        since=PATCH_SINCE,
        before=405,
        body=[types.PatchOperation],
    )
    def patch(self, context: Context, grant: Grant, allocation_ident: str, /, *, body: Any) -> dict[str, Any]:
        return ALLOCATIONS.change(context, grant, body)

    def delete(self, context: Context, grant: Grant, ident: str, /) -> None:
        holder(context.conf).release(context, allocations.delete(context, grant.ident))


def _values(context: Context, body: Any) -> dict[str, Any]:
    """Return the values of a new allocation, as ``allocate.create`` takes them.

    :raises failures.InvalidInput: the name is invalid.
    :raises failures.Forbidden: the caller may not choose the owner.
    """
    stated = patch.given_fields(body)
    values = {
        **{name: stated.get(name) or None for name in ('uuid', 'name', 'resource_class')},
        **{name: stated.get(name, []) for name in ('traits', 'candidate_nodes')},
        'extra': stated.get('extra', {}),
        'owner': _owner(context, stated.get('owner')),
    }
    if values['name'] and not node_ident.is_name(context, values['name']):
        raise failures.InvalidInput(reason=f"Cannot create allocation with invalid name '{values['name']}'")
    return values


def _owner(context: Context, owner: str | None) -> str | None:
    """Return the project that will own a new allocation: the caller's, unless policy lets the caller choose."""
    if owner in (None, '', context.project_id):
        return context.project_id
    if not context.may('baremetal:allocation:create_restricted'):
        raise context.forbidden('baremetal:allocation:create_restricted')
    return owner


def _candidates(context: Context, idents: list[str]) -> list[str]:
    """Return the uuids of the candidates in a request.

    :raises failures.InvalidInput: there are too many, or one of them is not a node that the caller may use.
    """
    limit = context.conf.reservations.max_nodes
    if len(idents) > limit:
        raise failures.InvalidInput(reason=f"'candidate_nodes' lists {len(idents)} nodes. At most {limit} are allowed.")
    if not idents:
        return []
    for ident in idents:
        if not ident or not node_ident.is_ident(ident):
            raise failures.InvalidInput(reason=f'Expected UUID or name for node: {ident}')
    project = None if context.may('baremetal:allocation:create_restricted') else context.project_id
    return allocate.candidates(context, [node_ident.ident(context, ident) for ident in idents], project)


def _filters(context: Context, values: dict[str, Any]) -> dict[str, Any]:
    """Return the filters of nodes for a new allocation. Its owner is a project that owns or leases the node.

    Without claims, a mirrored node is not chosen: only the Ironic that it is of can set its ``instance_uuid``.
    """
    filters = {'resource_class': values['resource_class']}
    filters |= {} if claims_any_nodes(context.conf) else {'origin': ''}
    return filters | ({'project': values['owner']} if values['owner'] else {})


def _backfill(context: Context, values: dict[str, Any], node: str, fields: tuple[str, ...]) -> sa.Row:
    """Create an allocation for an active node. The response is 400 if the caller may not see it, as in Ironic."""
    try:
        access.visible_node(context, node)
        return allocate.backfill(context, values, node_ident.ident(context, node), fields)
    except (failures.InvalidIdent, failures.NodeNotFound) as error:
        raise failures.InvalidInput(reason=str(error)) from error
