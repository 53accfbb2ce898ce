"""Rules of reservations."""

from ironic_traits.policies.base import ASKS, SEES, SERVICE, SYSTEM_MEMBER, USES, any_of, rule

RULES = [
    rule(
        'baremetal:reservation:create',
        any_of(SYSTEM_MEMBER, SERVICE, 'role:member'),
        'Reserve a node.',
        'POST /v1/reservations',
    ),
    rule('baremetal:reservation:list', ASKS, 'List reservations.', 'GET /v1/reservations'),
    rule('baremetal:reservation:get', SEES, 'Show a reservation.', 'GET /v1/reservations/{reservation_uuid}'),
    rule(
        'baremetal:reservation:renew',
        USES,
        'Say how long a reservation lasts.',
        'POST /v1/reservations/{reservation_uuid}/renew',
    ),
    rule('baremetal:reservation:delete', USES, 'Let a node go.', 'DELETE /v1/reservations/{reservation_uuid}'),
]
