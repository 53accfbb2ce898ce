"""Policy rules of reservations."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import NODE_READER, NODE_USER, READER, SERVICE, SYSTEM_MEMBER, any_of

RULES = [
    rule(
        'baremetal:reservation:create',
        any_of(SYSTEM_MEMBER, SERVICE, 'role:member'),
        'Reserve a node.',
        'POST /v1/reservations',
    ),
    rule('baremetal:reservation:list', READER, 'List reservations.', 'GET /v1/reservations'),
    rule('baremetal:reservation:get', NODE_READER, 'Show a reservation.', 'GET /v1/reservations/{reservation_uuid}'),
    rule(
        'baremetal:reservation:renew',
        NODE_USER,
        'Renew a reservation.',
        'POST /v1/reservations/{reservation_uuid}/renew',
    ),
    rule(
        'baremetal:reservation:delete',
        NODE_USER,
        'Delete a reservation, which releases the node.',
        'DELETE /v1/reservations/{reservation_uuid}',
    ),
]
