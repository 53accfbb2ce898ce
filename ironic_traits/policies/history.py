"""Policy rules of the history of nodes."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import OWNER_READER, OWNER_SERVICE, READER, SERVICE, SYSTEM_READER, any_of

RULES = rules(
    'baremetal',
    '/v1/nodes/{node_ident}/history',
    (
        'node:history:get',
        any_of(SYSTEM_READER, SERVICE, OWNER_READER, OWNER_SERVICE),
        'See the history of a node.',
        'GET /v1/nodes/{node_ident}/history /{event_uuid} /v1/history',
    ),
    ('history:list', READER, 'List the history of several nodes.', 'GET /v1/history'),
)
