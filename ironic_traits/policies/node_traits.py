"""Policy rules of the traits of nodes."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import NODE_OWNER_ADMIN, NODE_READER

RULES = rules(
    'baremetal:node:traits',
    '/v1/nodes/{node_ident}/traits',
    ('list', NODE_READER, 'List the traits of a node.', 'GET'),
    (
        'set',
        NODE_OWNER_ADMIN,
        'Replace all traits of a node, or add one.',
        'PUT /v1/nodes/{node_ident}/traits /{trait}',
        'DELETE /{trait}/veto',
    ),
    (
        'delete',
        NODE_OWNER_ADMIN,
        'Remove all traits of a node, or one of them.',
        'DELETE /v1/nodes/{node_ident}/traits /{trait}',
    ),
)
