"""Policy rules of the VIFs of nodes."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import NODE_OPERATOR, NODE_READER

RULES = rules(
    'baremetal:node:vif',
    '/v1/nodes/{node_ident}/vifs',
    ('list', NODE_READER, 'List the VIFs of a node.', 'GET'),
    ('attach', NODE_OPERATOR, 'Attach a VIF to a node.', 'POST'),
    ('detach', NODE_OPERATOR, 'Detach a VIF from a node.', 'DELETE /{vif_ident}'),
)
