"""Policy rules of the states of nodes."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import NODE_OPERATOR, NODE_READER, NODE_USER

RULES = rules(
    'baremetal:node',
    '/v1/nodes/{node_ident}/states',
    ('get_states', NODE_READER, 'Show the states of a node.', 'GET'),
    ('set_provision_state', NODE_OPERATOR, 'Change the provision state of a node.', 'PUT /provision'),
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
)
