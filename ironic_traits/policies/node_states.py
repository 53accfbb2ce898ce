"""Policy rules of the states of nodes, and of what their drivers do in requests."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import NODE_OPERATOR, NODE_OWNER, NODE_OWNER_ADMIN, NODE_READER, NODE_USER

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
    ('set_boot_mode', NODE_USER, 'Change the boot mode of a node.', 'PUT /boot_mode'),
    ('set_secure_boot', NODE_USER, 'Change the secure boot of a node.', 'PUT /secure_boot'),
) + rules(
    'baremetal:node',
    '/v1/nodes/{node_ident}/management',
    (
        'get_boot_device',
        NODE_OWNER_ADMIN,
        'Show the boot device of a node, and those that it can have.',
        'GET /boot_device /boot_device/supported',
    ),
    ('set_boot_device', NODE_OWNER_ADMIN, 'Change the boot device of a node.', 'PUT /boot_device'),
    ('inject_nmi', NODE_OWNER_ADMIN, 'Send a non-maskable interrupt to a node.', 'PUT /inject_nmi'),
    (
        'get_indicator_state',
        NODE_READER,
        'Show the indicators of a node.',
        'GET /indicators /indicators/{indicator} /indicators/{indicator}/{indicator_name}',
    ),
    (
        'set_indicator_state',
        NODE_OWNER,
        'Change an indicator of a node.',
        'PUT /indicators/{indicator} /indicators/{indicator}/{indicator_name}',
    ),
    ('vmedia:attach', NODE_USER, 'Attach virtual media to a node.', 'POST /v1/nodes/{node_ident}/vmedia'),
    ('vmedia:detach', NODE_USER, 'Detach virtual media from a node.', 'DELETE /v1/nodes/{node_ident}/vmedia'),
    ('vmedia:get', NODE_READER, 'Show the virtual media of a node.', 'GET /v1/nodes/{node_ident}/vmedia'),
)
