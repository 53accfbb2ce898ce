"""Policy rules of ports."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import NODE_ADMIN, NODE_OWNER_ADMIN, NODE_READER, READER, READER_OF_ALL

RULES = rules(
    'baremetal:port',
    '/v1/ports',
    ('create', NODE_ADMIN, 'Create a port.', 'POST'),
    (
        'list',
        READER,
        'List ports.',
        'GET /v1/ports /detail /v1/nodes/{node_ident}/ports /v1/nodes/{node_ident}/ports/detail',
        'GET /v1/portgroups/{portgroup_ident}/ports /v1/portgroups/{portgroup_ident}/ports/detail',
    ),
    (
        'list_all',
        READER_OF_ALL,
        "See the ports of all nodes, not only of those that the caller's project owns or leases.",
        'GET /v1/ports /detail',
    ),
    ('get', NODE_READER, 'Show a port.', 'GET /{port_ident}'),
    ('update', NODE_OWNER_ADMIN, 'Change a port.', 'PATCH /{port_ident}'),
    ('delete', NODE_ADMIN, 'Delete a port.', 'DELETE /{port_ident}'),
)
