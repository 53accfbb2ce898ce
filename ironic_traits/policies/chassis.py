"""Policy rules of chassis."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import SYSTEM_ADMIN, SYSTEM_MEMBER, SYSTEM_READER, SYSTEM_SERVICE, any_of

RULES = rules(
    'baremetal:chassis',
    '/v1/chassis/{chassis_uuid}',
    ('create', SYSTEM_ADMIN, 'Create a chassis.', 'POST /v1/chassis'),
    (
        'get',
        any_of(SYSTEM_READER, SYSTEM_SERVICE),
        'List chassis, or show one.',
        'GET /v1/chassis /v1/chassis/detail /v1/chassis/{chassis_uuid}',
    ),
    ('update', SYSTEM_MEMBER, 'Change a chassis.', 'PATCH'),
    ('delete', SYSTEM_ADMIN, 'Delete a chassis.', 'DELETE'),
)
