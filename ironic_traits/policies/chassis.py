"""Policy rules of chassis."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import SYSTEM_ADMIN, SYSTEM_MEMBER, SYSTEM_READER, SYSTEM_SERVICE, any_of

RULES = [
    rule('baremetal:chassis:create', SYSTEM_ADMIN, 'Create a chassis.', 'POST /v1/chassis'),
    rule(
        'baremetal:chassis:get',
        any_of(SYSTEM_READER, SYSTEM_SERVICE),
        'List chassis, or show one.',
        'GET /v1/chassis',
        'GET /v1/chassis/detail',
        'GET /v1/chassis/{chassis_uuid}',
    ),
    rule(
        'baremetal:chassis:update',
        SYSTEM_MEMBER,
        'Change a chassis.',
        'PATCH /v1/chassis/{chassis_uuid}',
    ),
    rule('baremetal:chassis:delete', SYSTEM_ADMIN, 'Delete a chassis.', 'DELETE /v1/chassis/{chassis_uuid}'),
]
