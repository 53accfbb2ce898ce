"""Policy rules of reservations."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import NODE_READER, NODE_USER, READER, SERVICE, SYSTEM_MEMBER, any_of

RULES = rules(
    'baremetal:reservation',
    '/v1/reservations/{reservation_uuid}',
    ('create', any_of(SYSTEM_MEMBER, SERVICE, 'role:member'), 'Reserve a node.', 'POST /v1/reservations'),
    ('list', READER, 'List reservations.', 'GET /v1/reservations'),
    ('get', NODE_READER, 'Show a reservation.', 'GET'),
    ('renew', NODE_USER, 'Renew a reservation.', 'POST /renew'),
    ('delete', NODE_USER, 'Delete a reservation, which releases the node.', 'DELETE'),
)
