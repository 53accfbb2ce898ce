"""Rules of the traits of nodes."""

from ironic_traits.policies.base import DECIDES, SEES, rule

RULES = [
    rule('baremetal:node:traits:list', SEES, 'List the traits of a node.', 'GET /v1/nodes/{node_ident}/traits'),
    rule(
        'baremetal:node:traits:set',
        DECIDES,
        'Replace the traits of a node, or add one.',
        'PUT /v1/nodes/{node_ident}/traits',
        'PUT /v1/nodes/{node_ident}/traits/{trait}',
    ),
    rule(
        'baremetal:node:traits:delete',
        DECIDES,
        'Remove all traits of a node, or one.',
        'DELETE /v1/nodes/{node_ident}/traits',
        'DELETE /v1/nodes/{node_ident}/traits/{trait}',
    ),
]
