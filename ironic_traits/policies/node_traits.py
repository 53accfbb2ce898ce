"""Rules of the traits of nodes."""

from ironic_traits.policies.base import ADMIN, READER, rule

RULES = [
    rule('baremetal:node:traits:list', READER, 'List the traits of a node.', 'GET /v1/nodes/{node_ident}/traits'),
    rule(
        'baremetal:node:traits:set',
        ADMIN,
        'Replace the traits of a node, or add one.',
        'PUT /v1/nodes/{node_ident}/traits',
        'PUT /v1/nodes/{node_ident}/traits/{trait}',
    ),
    rule(
        'baremetal:node:traits:delete',
        ADMIN,
        'Remove all traits of a node, or one.',
        'DELETE /v1/nodes/{node_ident}/traits',
        'DELETE /v1/nodes/{node_ident}/traits/{trait}',
    ),
]
