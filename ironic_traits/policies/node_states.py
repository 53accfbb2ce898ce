"""Policy rules of the states of nodes, and of their boot devices."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import NODE_OPERATOR, NODE_OWNER_ADMIN, NODE_READER, NODE_USER

RULES = rules(
    'baremetal:node',
    '/v1/nodes/{node_ident}/states',
    ('get_states', NODE_READER, 'Show the states of a node.', 'GET'),
    (
        'set_provision_state',
        NODE_OPERATOR,
        'Change the provision state of a node.',
        'PUT /provision',
        'POST /v1/nodes/actions',
    ),
    *(
        (
            f'set_provision_state:{kind}_steps',
            NODE_OPERATOR,
            f'Choose the {kind} steps that run on a node.',
            'PUT /provision',
        )
        for kind in ('clean', 'service')
    ),
    ('set_power_state', NODE_USER, 'Change the power state of a node.', 'PUT /power'),
    (
        'get_boot_device',
        NODE_OWNER_ADMIN,
        'Show the boot device of a node, and those that it can have.',
        'GET /v1/nodes/{node_ident}/management/boot_device',
        'GET /v1/nodes/{node_ident}/management/boot_device/supported',
    ),
    (
        'set_boot_device',
        NODE_OWNER_ADMIN,
        'Change the boot device of a node.',
        'PUT /v1/nodes/{node_ident}/management/boot_device',
    ),
)
