"""Rules of chassis."""

from ironic_traits.policies.base import ADMIN, READER, rule

RULES = [
    rule('baremetal:chassis:create', ADMIN, 'Create a chassis.', 'POST /v1/chassis'),
    rule(
        'baremetal:chassis:get',
        READER,
        'List chassis, or show one.',
        'GET /v1/chassis',
        'GET /v1/chassis/detail',
        'GET /v1/chassis/{chassis_uuid}',
    ),
    rule('baremetal:chassis:update', ADMIN, 'Change a chassis.', 'PATCH /v1/chassis/{chassis_uuid}'),
    rule('baremetal:chassis:delete', ADMIN, 'Delete a chassis.', 'DELETE /v1/chassis/{chassis_uuid}'),
]
