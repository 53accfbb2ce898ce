"""Policy rules of the states of nodes."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import NODE_OPERATOR, NODE_READER, NODE_USER

RULES = [
    rule('baremetal:node:get_states', NODE_READER, 'Show the states of a node.', 'GET /v1/nodes/{node_ident}/states'),
    rule(
        'baremetal:node:set_provision_state',
        NODE_OPERATOR,
        'Change the provision state of a node.',
        'PUT /v1/nodes/{node_ident}/states/provision',
    ),
    *(
        rule(
            f'baremetal:node:set_provision_state:{kind}_steps',
            NODE_OPERATOR,
            f'Choose the {kind} steps that run on a node.',
            'PUT /v1/nodes/{node_ident}/states/provision',
        )
        for kind in ('clean', 'service')
    ),
    rule(
        'baremetal:node:set_power_state',
        NODE_USER,
        'Change the power state of a node.',
        'PUT /v1/nodes/{node_ident}/states/power',
    ),
]
