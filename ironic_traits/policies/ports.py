"""Rules of ports."""

from ironic_traits.policies.base import ADMIN, READER, rule

RULES = [
    rule('baremetal:port:create', ADMIN, 'Create a port.', 'POST /v1/ports'),
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
    rule('baremetal:port:get', READER, 'Show a port.', 'GET /v1/ports/{port_ident}'),
    rule('baremetal:port:update', ADMIN, 'Change a port.', 'PATCH /v1/ports/{port_ident}'),
    rule('baremetal:port:delete', ADMIN, 'Delete a port.', 'DELETE /v1/ports/{port_ident}'),
]
