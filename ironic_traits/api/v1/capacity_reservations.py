"""/v1/capacity_reservations: promises of a number of nodes to a project."""

from typing import Any

import sqlalchemy as sa
import wsme.types

from ironic_traits import failures
from ironic_traits.api import paging, types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.v1 import access, match_types, node_ident
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.holds import capacity_reservations
from ironic_traits.inventory.holds.capacity_reservations import Kept, NewPromise
from ironic_traits.inventory.holds.promise_claims import PROJECT, VISIBLE
from ironic_traits.matching.topology import AFFINITY, Policy
from ironic_traits.resources.additions import ADDED

#: Maximum number of nodes in a capacity reservation.
MAX_COUNT = 100_000
_RULE = 'baremetal:capacity_reservation'
_STORED = ('uuid', 'name', 'project', 'created_at', 'expires_at')


class CapacityReservationBody(match_types.RequestBody):
    """A number of nodes, the project that they are for, and a request that they match, as for /v1/matches."""

    name = types.Text(minimum=1, maximum=255)
    project = types.Text(minimum=1, maximum=255)
    count = types.PositiveInteger(maximum=MAX_COUNT)
    expires_at = types.Moment()


class CapacityReservation(types.Base):
    """A capacity reservation in a response: what was requested, and how far it is used and can be kept now."""

    uuid = types.UUID
    name = str
    project = str
    count = int
    used = int
    left = int
    free = int
    short = int
    request = types.OBJECT
    groups = {str: str}
    created_at = types.MOMENT
    expires_at = types.MOMENT


class NewCapacityReservation(CapacityReservation):
    """The response to a POST."""

    warnings = [str]


class CapacityReservations(types.Base):
    """A page of capacity reservations. The last page has no ``next``."""

    capacity_reservations = [CapacityReservation]
    next = str


def _allowed(context: Context, grant: Grant, text: str) -> Grant:
    """Return the grant for a capacity reservation, if policy allows the request for it."""
    row = capacity_reservations.get(context, text)
    if grant.rules:
        missing = failures.CapacityReservationNotFound(ident=text)
        access.check_target(context, grant, {PROJECT: row.project}, VISIBLE, missing)
    return grant.of(row.uuid)


def uuid_to_use(context: Context, ident: str) -> str:
    """Return the uuid of the capacity reservation that a request for nodes names.

    :param ident: its uuid or name.
    :raises failures.CapacityReservationNotFound: there is none, or the caller may not use it.
    """
    return _allowed(context, context.limit_to(f'{_RULE}:use'), ident).ident


class CapacityReservationsController(Resource):
    """Capacity reservations."""

    since = ADDED

    @expose(f'{_RULE}:list', CapacityReservations, since=ADDED, query=paging.QUERY)
    def get_all(self, context: Context, /, **query: Any) -> dict[str, Any]:
        page = paging.page(context, query, (*_STORED, 'id'), lambda context, name: None)
        project = access.listed_project(context, f'{_RULE}:list_all')
        found = capacity_reservations.find(context, project, page)
        kept = capacity_reservations.kept(context)
        return paging.document(context, page, found, 'capacity_reservations', lambda row: _show(row, kept))

    @expose(f'{_RULE}:get', CapacityReservation, of=_allowed, since=ADDED)
    def get_one(self, context: Context, grant: Grant, capacity_reservation_ident: str, /) -> dict[str, Any]:
        row = capacity_reservations.get(context, grant.ident)
        return _show(row, capacity_reservations.kept(context))

    @expose(f'{_RULE}:create', NewCapacityReservation, since=ADDED, body=CapacityReservationBody, statuses=(201,))
    def post(self, context: Context, /, *, body: Any) -> Response:
        name, project, count = (value or None for value in (body.name, body.project, body.count))
        if not (name and project and count):
            raise failures.InvalidInput(reason="The request needs 'name', 'project' and 'count'.")
        node_ident.check_name(context, name, 'a capacity reservation')
        if project != project.strip() or not project.isprintable():
            # No token has such a project, so no user could claim the nodes.
            raise failures.InvalidInput(
                reason=f"'{project}' is not a project: it has spaces around it, or control characters."
            )
        # It is not the filter of that name.
        body.project = wsme.types.Unset
        node_request, requirements = match_types.read_documents(context, Grant(()), body)
        if any(policy.relative_to for policy in node_request.topology):
            raise failures.InvalidInput(reason="A capacity reservation cannot have 'relative_to'.")
        if any(policy != Policy(policy.key, AFFINITY) for policy in node_request.topology):
            raise failures.InvalidInput(
                reason="The 'topology' of a capacity reservation may have a 'key' and the 'policy' 'affinity' only."
            )
        if 'conductor' in node_request.filters:
            # The nodes of a host change without a change of the nodes.
            raise failures.InvalidInput(reason='A capacity reservation cannot have a conductor.')
        keys = tuple(dict.fromkeys(policy.key for policy in node_request.topology))
        expires_at = body.expires_at or None
        promise = NewPromise(name, project, count, expires_at, requirements, node_request.filters, keys)
        row = capacity_reservations.create(context, promise)
        warnings = match_types.warnings(context, node_request)
        shown = _show(row, capacity_reservations.kept(context)) | ({'warnings': warnings} if warnings else {})
        return Response(shown, status=201, location=f'/v1/capacity_reservations/{row.uuid}')

    @expose(f'{_RULE}:delete', of=_allowed, since=ADDED)
    def delete(self, context: Context, capacity_reservation_ident: str, /) -> None:
        capacity_reservations.delete(context, capacity_reservation_ident)


def _show(row: sa.Row, kept: dict[str, Kept]) -> dict[str, Any]:
    """Return a capacity reservation.

    :param kept: the result of ``capacity_reservations.kept``. It may have ended, or have been created, in between.
    """
    numbers = kept.get(row.uuid) or Kept(row.name, 0, row.number, 0, 0)
    return {
        **{name: getattr(row, name) for name in _STORED},
        'count': row.number,
        **numbers._asdict(),
        'request': capacity_reservations.document(row),
        'groups': capacity_reservations.groups(row),
    }
