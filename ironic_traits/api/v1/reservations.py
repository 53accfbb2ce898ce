"""/v1/reservations"""

import dataclasses
from typing import Any

import sqlalchemy as sa
import wsme.types
from oslo_utils import uuidutils

from ironic_traits import failures, spelling
from ironic_traits.api import paging, types
from ironic_traits.api.expose import Body, expose
from ironic_traits.api.holder import holder
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.v1 import access, capacity_reservations, match_types, node_ident
from ironic_traits.api.v1.records import FIELDS_QUERY, parse_node
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.holds import reservations
from ironic_traits.inventory.holds.reservations import FIELDS, Expiry
from ironic_traits.inventory.search import group_search
from ironic_traits.matching.topology import Policy
from ironic_traits.resources.additions import ADDED
from ironic_traits.uuids import canonical


class RenewBody(types.Base):
    """The new expiry of a reservation: one of the two fields, or neither for the default."""

    expires_at = types.Moment()
    expires_in = types.PositiveInteger(maximum=10**9)


class ReservationBody(match_types.RequestBody):
    """A request to reserve nodes for one or more instances: a list of nodes (the best first), requirements, or both."""

    instance_uuid = types.UUID
    instance_uuids = [types.UUID]
    node_uuid = types.Any()
    expires_at = types.Moment()
    expires_in = types.PositiveInteger(maximum=10**9)
    capacity_reservation = types.Text(minimum=1, maximum=255)


class Reservation(types.Base):
    """A reservation in a response."""

    uuid = types.UUID
    node_uuid = types.UUID
    instance_uuid = types.UUID
    created_at = types.MOMENT
    updated_at = types.MOMENT
    expires_at = types.MOMENT


class OneReservation(types.Base):
    """The response with one reservation."""

    reservation = Reservation


class NewReservation(Reservation):
    """A reservation in the response to a POST, with the groups of the node for each key of the topology."""

    groups = {str: str}


class NewReservations(types.Base):
    """The response to a POST: the reservation or reservations, and warnings of ignored parts of the request."""

    reservation = NewReservation
    reservations = [NewReservation]
    topology = [match_types.PolicyReport]
    warnings = [str]


class Reservations(types.Base):
    """A page of reservations. The last page has no ``next``."""

    reservations = [Reservation]
    next = str


def _allowed(context: Context, grant: Grant, text: str) -> Grant:
    """Return the grant for a reservation, if policy allows the request for it."""
    if not uuidutils.is_uuid_like(text):
        raise failures.InvalidInput(reason=f'Expected UUID for reservation: {text}')
    uuid = canonical(text)
    if grant.rules:
        access.check(context, grant, reservations.owner(context, uuid), failures.ReservationNotFound(reservation=uuid))
    return grant.of(uuid)


class ReservationRenewController(Resource):
    """The renewal of a reservation."""

    @expose(
        'baremetal:reservation:renew', OneReservation, of=_allowed, since=ADDED, body=Body(RenewBody, optional=True)
    )
    def post(self, context: Context, reservation_uuid: str, /, *, body: Any) -> dict[str, Any]:
        return _one(reservations.renew(context, reservation_uuid, _expiry(body)))


class ReservationsController(Resource):
    """Reservations, which hold nodes for instances."""

    since = ADDED
    members = {'renew': ReservationRenewController()}

    @expose(
        'baremetal:reservation:list',
        Reservations,
        since=ADDED,
        query=paging.QUERY | FIELDS_QUERY | {'node': types.TEXT, 'instance_uuid': types.UUID},
    )
    def get_all(self, context: Context, grant: Grant, /, *, fields: Any = None, **query: Any) -> dict[str, Any]:
        names = FIELDS if fields is None else _selected(fields)
        page = paging.page(context, query, (*FIELDS, 'id'), lambda context, name: None)
        filters: dict[str, str] = {name: query[name] for name in ('node', 'instance_uuid') if name in query}
        if 'node' in filters:
            filters['node'] = parse_node(context, filters['node'])
        found = reservations.find(context, grant, ('uuid', *names), filters, page)
        return paging.document(context, page, found, 'reservations', lambda row: dict(zip(names, row[1:], strict=True)))

    @expose('baremetal:reservation:get', OneReservation, of=_allowed, since=ADDED)
    def get_one(self, context: Context, grant: Grant, reservation_uuid: str, /) -> dict[str, Any]:
        return _one(reservations.get(context, grant))

    @expose('baremetal:reservation:create', NewReservations, since=ADDED, body=ReservationBody, statuses=(200, 201))
    def post(self, context: Context, grant: Grant, /, *, body: Any) -> Response:
        instances = _instances(context, body)
        node_request = match_types.read_request(context, grant, body, _idents(context, body))
        if body.capacity_reservation:
            # Its own request decides about exclusive traits.
            uuid = capacity_reservations.uuid_to_use(context, body.capacity_reservation)
            node_request = dataclasses.replace(node_request.with_exclusive(), capacity_reservation=uuid)
        sentences = match_types.warnings(context, node_request)
        rows, new = holder(context.conf).reserve(context, instances, node_request, _expiry(body))
        status = 201 if new else 200
        shown, more = [_show(row) for row in rows], {'warnings': sentences} if sentences else {}
        if node_request.topology:
            more |= _add_groups(context, node_request.topology, shown)
        if body.instance_uuids:
            return Response({'reservations': shown, **more}, status=status)
        return Response({'reservation': shown[0], **more}, status=status, location=f'/v1/reservations/{rows[0].uuid}')

    @expose('baremetal:reservation:delete', of=_allowed, since=ADDED)
    def delete(self, context: Context, reservation_uuid: str, /) -> None:
        reservations.delete(context, reservation_uuid)
        holder(context.conf).release(context, reservation_uuid)


def _one(row: sa.Row) -> dict[str, Any]:
    return {'reservation': _show(row)}


def _show(row: sa.Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in FIELDS}


def _add_groups(context: Context, policies: tuple[Policy, ...], shown: list[dict[str, Any]]) -> dict[str, Any]:
    """Add the groups of the nodes to reservations. Return {'topology': how far the nodes fulfil the policies}."""
    choice = group_search.of_nodes(context, policies, [reservation['node_uuid'] for reservation in shown])
    keys = [policy.key for policy in policies]
    groups = {node.uuid: dict(zip(keys, node.cell, strict=True)) for node in choice.nodes}
    for reservation in shown:
        # A node that was deleted in the meantime has no groups.
        reservation['groups'] = groups.get(reservation['node_uuid'], {})
    return {'topology': match_types.reports(choice.reports)}


def _selected(lists: list[list[str]]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name for names in lists for name in names))
    for name in names:
        if name not in FIELDS:
            raise failures.InvalidInput(reason=f'Field {name} is not a valid field.{spelling.hint(name, FIELDS)}')
    if not names:
        raise failures.InvalidInput(reason="The argument 'fields' does not name any field.")
    return names


def _instances(context: Context, body: Any) -> list[str]:
    """Return the uuids of the instances in a request."""
    uuids = body.instance_uuids or None
    if bool(body.instance_uuid) == bool(uuids):
        raise failures.InvalidInput(
            reason="The request needs either 'instance_uuid' (a uuid) or 'instance_uuids' (a list of uuids)."
        )
    if uuids is None:
        return [body.instance_uuid]
    limit = context.conf.reservations.max_nodes
    if len(uuids) > limit or None in uuids or len(set(uuids)) < len(uuids):
        raise failures.InvalidInput(
            reason=f"'instance_uuids' must be a list of at most {limit} uuids, without null and without duplicates."
        )
    return uuids


def _idents(context: Context, body: Any) -> tuple[str, ...] | None:
    """Return the uuids and names of the candidates in a request; None if it has only requirements."""
    is_request = match_types.has_requirements(body) or bool(body.capacity_reservation)
    if body.node_uuid in (None, wsme.types.Unset) and is_request:
        return None
    # A string is the same as a list with one item.
    idents = [body.node_uuid] if isinstance(body.node_uuid, str) else body.node_uuid
    limit = context.conf.reservations.max_nodes
    if not isinstance(idents, list) or not idents or not all(isinstance(ident, str) for ident in idents):
        raise failures.InvalidInput(
            reason="The request needs 'node_uuid' (the uuid of a node, or a list of at least one), or requirements "
            "for the nodes: 'required', 'flavor', …"
        )
    if len(idents) > limit:
        raise failures.InvalidInput(reason=f"'node_uuid' lists {len(idents)} nodes. At most {limit} are allowed.")
    return tuple(node_ident.ident(context, ident) for ident in idents)


def _expiry(body: Any) -> Expiry:
    if body is None:
        return Expiry()
    at, seconds = (value or None for value in (body.expires_at, body.expires_in))
    if at and seconds:
        raise failures.InvalidInput(reason="'expires_at' and 'expires_in' cannot be combined.")
    return Expiry(at, seconds)
