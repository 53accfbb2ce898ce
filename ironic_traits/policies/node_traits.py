"""Policy rules of the traits of nodes."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import NODE_OWNER_ADMIN, NODE_READER

RULES = [
    rule('baremetal:node:traits:list', NODE_READER, 'List the traits of a node.', 'GET /v1/nodes/{node_ident}/traits'),
    rule(
        'baremetal:node:traits:set',
        NODE_OWNER_ADMIN,
        'Replace all traits of a node, or add one.',
        'PUT /v1/nodes/{node_ident}/traits',
        'PUT /v1/nodes/{node_ident}/traits/{trait}',
        'DELETE /v1/nodes/{node_ident}/traits/{trait}/veto',
    ),
    rule(
        'baremetal:node:traits:delete',
        NODE_OWNER_ADMIN,
        'Remove all traits of a node, or one of them.',
        'DELETE /v1/nodes/{node_ident}/traits',
        'DELETE /v1/nodes/{node_ident}/traits/{trait}',
    ),
]
