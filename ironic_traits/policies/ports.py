"""Rules of ports."""

from ironic_traits.policies.base import ASKS, BUILDS, DECIDES, SEES, SEES_ALL, rule

RULES = [
    rule('baremetal:port:create', BUILDS, 'Create a port.', 'POST /v1/ports'),
    rule(
        'baremetal:port:list',
        ASKS,
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
        SEES_ALL,
        'See the ports of the nodes of all projects, and not only of those that the own project owns or leases.',
        'GET /v1/ports',
        'GET /v1/ports/detail',
    ),
    rule('baremetal:port:get', SEES, 'Show a port.', 'GET /v1/ports/{port_ident}'),
    rule('baremetal:port:update', DECIDES, 'Change a port.', 'PATCH /v1/ports/{port_ident}'),
    rule('baremetal:port:delete', BUILDS, 'Delete a port.', 'DELETE /v1/ports/{port_ident}'),
]
