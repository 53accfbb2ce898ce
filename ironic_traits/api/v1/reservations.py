"""/v1/reservations"""

import pecan
import wsme.types
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.api import paging, types
from ironic_traits.api.expose import Answer, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access, match_types, node_ident
from ironic_traits.api.v1.records import FIELDS_QUERY, parse_node
from ironic_traits.inventory import reservations, reserve
from ironic_traits.inventory.reservations import FIELDS, Expiry

SINCE = 38


class RenewBody(wsme.types.Base):
    """Until when a reservation shall last: one of the two, or none for the default."""

    expires_at = types.Moment()
    expires_in = types.PositiveInteger(maximum=10**9)


class ReservationBody(match_types.RequestBody):
    """Which nodes one instance, or several, would have: a list, the best first, or what they must be, or both."""

    instance_uuid = types.UUID
    instance_uuids = [types.UUID]
    node_uuid = types.Any()
    expires_at = types.Moment()
    expires_in = types.PositiveInteger(maximum=10**9)


class Reservation(wsme.types.Base):
    """A reservation in an answer."""

    uuid = types.UUID
    node_uuid = types.UUID
    instance_uuid = types.UUID
    created_at = types.MOMENT
    updated_at = types.MOMENT
    expires_at = types.MOMENT


class OneReservation(wsme.types.Base):
    """One reservation in an answer."""

    reservation = Reservation


class Made(OneReservation):
    """What was made: for one instance, or for several; and what of the request was ignored, if anything."""

    reservations = [Reservation]
    warnings = [str]


class Reservations(wsme.types.Base):
    """A page of reservations; ``next`` is missing on the last one."""

    reservations = [Reservation]
    next = str


class ReservationRenewController(Resource):
    """How long a reservation lasts."""

    @expose(OneReservation, body=RenewBody, optional_body=True)
    def post(self, context, reservation_uuid, /, *, body):
        context.limit_to('baremetal:reservation:renew')
        _served(context)
        return _one(reservations.renew(context, _allowed(context, reservation_uuid), _expiry(body)))


class ReservationsController(Resource):
    """Reservations: nodes that are held for instances."""

    since = SINCE
    members = {'renew': ReservationRenewController()}

    @expose(Reservations, query=paging.QUERY | FIELDS_QUERY | {'node': types.TEXT, 'instance_uuid': types.UUID})
    def get_all(self, context, /, *, fields=None, **query):
        context.can('baremetal:reservation:list')
        _served(context)
        names = FIELDS if fields is None else _selected(fields)
        page = paging.page(context, query, (*FIELDS, 'id'), lambda context, name: None)
        filters = {name: query[name] for name in ('node', 'instance_uuid') if name in query}
        if 'node' in filters:
            filters['node'] = parse_node(context, filters['node'])
        rows, more = reservations.find(context, ('uuid', *names), filters, page)
        answer = {'reservations': [dict(zip(names, row[1:], strict=True)) for row in rows]}
        if more:
            answer['next'] = paging.next_link(context, pecan.request, page, rows[-1].uuid)
        return answer

    @expose(OneReservation)
    def get_one(self, context, reservation_uuid, /):
        context.limit_to('baremetal:reservation:get')
        _served(context)
        return _one(reservations.get(context, _allowed(context, reservation_uuid)))

    @expose(Made, body=ReservationBody)
    def post(self, context, /, *, body):
        context.can('baremetal:reservation:create')
        _served(context)
        instances = _instances(context, body)
        wanted = match_types.wanted(context, body, _idents(context, body))
        rows, new = reserve.reserve(context, instances, wanted, _expiry(body))
        status = 201 if new else 200
        warned = {'warnings': wanted.request.warnings} if wanted.request.warnings else {}
        if body.instance_uuids:
            return Answer({'reservations': [_shown(row) for row in rows], **warned}, status=status)
        return Answer(_one(rows[0]) | warned, status=status, location=f'/v1/reservations/{rows[0].uuid}')

    @expose()
    def delete(self, context, reservation_uuid, /):
        context.limit_to('baremetal:reservation:delete')
        _served(context)
        reservations.delete(context, _allowed(context, reservation_uuid))
        return Answer(status=204)


def _served(context):
    if context.minor < SINCE:
        raise failures.ResourceNotFound(hint=f' Reservations need API version 1.{SINCE}.')


def _one(row):
    return {'reservation': _shown(row)}


def _shown(row):
    return {name: getattr(row, name) for name in FIELDS}


def _allowed(context, text):
    """Give the uuid of a reservation that the caller may do it to."""
    if not uuidutils.is_uuid_like(text):
        raise failures.InvalidInput(reason=f'Expected UUID for reservation: {text}')
    uuid = str(uuidutils.uuid.UUID(text))
    if context.limited_to:
        access.check(context, reservations.owner(context, uuid), failures.ReservationNotFound(reservation=uuid))
    return uuid


def _selected(given):
    names = tuple(dict.fromkeys(name for names in given for name in names))
    for name in names:
        if name not in FIELDS:
            raise failures.InvalidInput(reason=f'Field {name} is not a valid field.')
    if not names:
        raise failures.InvalidInput(reason="The argument 'fields' names no field.")
    return names


def _instances(context, body):
    """Give the uuids of the instances that nodes are to be held for."""
    several = body.instance_uuids or None
    if bool(body.instance_uuid) == bool(several):
        raise failures.InvalidInput(
            reason="'instance_uuid' is the uuid of an instance, or 'instance_uuids' lists several: one of the two."
        )
    if several is None:
        return [body.instance_uuid]
    limit = context.conf.reservations.max_nodes
    if len(several) > limit or None in several or len(set(several)) < len(several):
        raise failures.InvalidInput(
            reason=f"'instance_uuids' lists the uuids of instances, each once, {limit} of them at most."
        )
    return several


def _idents(context, body):
    """Give the uuids and names of the nodes that it may be, None for any that is such as is asked for."""
    if body.node_uuid in (None, wsme.types.Unset) and match_types.is_stated(body):
        return None
    # A string is a list of one.
    wanted = [body.node_uuid] if isinstance(body.node_uuid, str) else body.node_uuid
    limit = context.conf.reservations.max_nodes
    if not isinstance(wanted, list) or not wanted or not all(isinstance(ident, str) for ident in wanted):
        raise failures.InvalidInput(
            reason="'node_uuid' is the uuid of a node, or a list of them, one at least; or the request says what the "
            "node must be: 'required', 'flavor', …"
        )
    if len(wanted) > limit:
        raise failures.InvalidInput(reason=f"'node_uuid' lists {len(wanted)} nodes; {limit} are allowed.")
    return tuple(node_ident.ident(context, ident) for ident in wanted)


def _expiry(body):
    if body is None:
        return Expiry()
    at, seconds = (value or None for value in (body.expires_at, body.expires_in))
    if at and seconds:
        raise failures.InvalidInput(reason="'expires_at' or 'expires_in' is said, not both.")
    return Expiry(at, seconds)
