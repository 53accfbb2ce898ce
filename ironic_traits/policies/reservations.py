"""Rules of reservations."""

from ironic_traits.policies.base import ADMIN, READER, rule

RULES = [
    rule('baremetal:reservation:create', ADMIN, 'Reserve a node.', 'POST /v1/reservations'),
    rule('baremetal:reservation:list', READER, 'List reservations.', 'GET /v1/reservations'),
    rule('baremetal:reservation:get', READER, 'Show a reservation.', 'GET /v1/reservations/{reservation_uuid}'),
    rule(
        'baremetal:reservation:renew',
        ADMIN,
        'Say how long a reservation lasts.',
        'POST /v1/reservations/{reservation_uuid}/renew',
    ),
    rule('baremetal:reservation:delete', ADMIN, 'Let a node go.', 'DELETE /v1/reservations/{reservation_uuid}'),
]
