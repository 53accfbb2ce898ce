"""Policy rules of ports."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import NODE_ADMIN, NODE_OWNER_ADMIN, NODE_READER, READER, READER_OF_ALL

RULES = [
    rule('baremetal:port:create', NODE_ADMIN, 'Create a port.', 'POST /v1/ports'),
    rule(
        'baremetal:port:list',
        READER,
        'List ports.',
        'GET /v1/ports',
        'GET /v1/ports/detail',
        'GET /v1/nodes/{node_ident}/ports',
        'GET /v1/nodes/{node_ident}/ports/detail',
        'GET /v1/portgroups/{portgroup_ident}/ports',
        'GET /v1/portgroups/{portgroup_ident}/ports/detail',
    ),
    rule(
        'baremetal:port:list_all',
        READER_OF_ALL,
        "See the ports of all nodes, not only of those that the caller's project owns or leases.",
        'GET /v1/ports',
        'GET /v1/ports/detail',
    ),
    rule('baremetal:port:get', NODE_READER, 'Show a port.', 'GET /v1/ports/{port_ident}'),
    rule('baremetal:port:update', NODE_OWNER_ADMIN, 'Change a port.', 'PATCH /v1/ports/{port_ident}'),
    rule('baremetal:port:delete', NODE_ADMIN, 'Delete a port.', 'DELETE /v1/ports/{port_ident}'),
]
