"""Policy rules of capacity reservations."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import READER, READER_OF_ALL, SERVICE, SYSTEM_ADMIN, SYSTEM_MEMBER, any_of

_PROJECT = 'project_id:%(capacity_reservation.project)s'

RULES = rules(
    'baremetal:capacity_reservation',
    '/v1/capacity_reservations',
    ('create', SYSTEM_ADMIN, 'Promise a number of nodes to a project.', 'POST'),
    ('list', READER, 'List the capacity reservations of the own project.', 'GET'),
    ('list_all', READER_OF_ALL, 'List the capacity reservations of all projects.', 'GET'),
    (
        'get',
        any_of(READER_OF_ALL, f'(({READER}) and {_PROJECT})'),
        'Show a capacity reservation.',
        'GET /{capacity_reservation_ident}',
    ),
    (
        'use',
        any_of(SYSTEM_MEMBER, SERVICE, f'(role:member and {_PROJECT})'),
        'Name a capacity reservation in a request to reserve nodes.',
        'POST /v1/reservations',
    ),
    ('delete', SYSTEM_ADMIN, 'Delete a capacity reservation.', 'DELETE /{capacity_reservation_ident}'),
)
