"""Policy rules of the VIFs of nodes."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import NODE_OPERATOR, NODE_READER

RULES = [
    rule('baremetal:node:vif:list', NODE_READER, 'List the VIFs of a node.', 'GET /v1/nodes/{node_ident}/vifs'),
    rule('baremetal:node:vif:attach', NODE_OPERATOR, 'Attach a VIF to a node.', 'POST /v1/nodes/{node_ident}/vifs'),
    rule(
        'baremetal:node:vif:detach',
        NODE_OPERATOR,
        'Detach a VIF from a node.',
        'DELETE /v1/nodes/{node_ident}/vifs/{vif_ident}',
    ),
]
