"""Rules of the VIFs of nodes."""

from ironic_traits.policies.base import SEES, WORKS, rule

RULES = [
    rule('baremetal:node:vif:list', SEES, 'List the VIFs of a node.', 'GET /v1/nodes/{node_ident}/vifs'),
    rule('baremetal:node:vif:attach', WORKS, 'Attach a VIF to a node.', 'POST /v1/nodes/{node_ident}/vifs'),
    rule(
        'baremetal:node:vif:detach',
        WORKS,
        'Detach a VIF from a node.',
        'DELETE /v1/nodes/{node_ident}/vifs/{vif_ident}',
    ),
]
