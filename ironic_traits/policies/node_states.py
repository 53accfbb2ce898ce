"""Rules of the states of nodes."""

from ironic_traits.policies.base import SEES, USES, WORKS, rule

RULES = [
    rule('baremetal:node:get_states', SEES, 'Show the states of a node.', 'GET /v1/nodes/{node_ident}/states'),
    rule(
        'baremetal:node:set_provision_state',
        WORKS,
        'Change the provision state of a node.',
        'PUT /v1/nodes/{node_ident}/states/provision',
    ),
    rule(
        'baremetal:node:set_power_state',
        USES,
        'Change the power state of a node.',
        'PUT /v1/nodes/{node_ident}/states/power',
    ),
]
