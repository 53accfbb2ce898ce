"""Rules of nodes."""

from ironic_traits.policies.base import ADMIN, READER, rule

RULES = [
    rule('baremetal:node:create', ADMIN, 'Create a node.', 'POST /v1/nodes'),
    rule(
        'baremetal:node:list',
        READER,
        'List nodes.',
        'GET /v1/nodes',
        'GET /v1/nodes/detail',
        'GET /v1/chassis/{chassis_uuid}/nodes',
        'GET /v1/chassis/{chassis_uuid}/nodes/detail',
    ),
    rule(
        'baremetal:node:list_all',
        READER,
        'See the nodes of all projects, and not only those that the own project owns or leases.',
        'GET /v1/nodes',
        'GET /v1/nodes/detail',
        'POST /v1/matches',
        'POST /v1/reservations',
    ),
    rule('baremetal:node:get', READER, 'Show a node.', 'GET /v1/nodes/{node_ident}'),
    rule('baremetal:node:update', ADMIN, 'Change a node.', 'PATCH /v1/nodes/{node_ident}'),
    rule('baremetal:node:delete', ADMIN, 'Delete a node.', 'DELETE /v1/nodes/{node_ident}'),
    rule(
        'baremetal:node:validate',
        READER,
        'Ask whether a node can be deployed.',
        'GET /v1/nodes/{node_ident}/validate',
        'GET /v1/nodes/validate',
    ),
    rule(
        'baremetal:node:set_maintenance',
        ADMIN,
        'Put a node into maintenance.',
        'PUT /v1/nodes/{node_ident}/maintenance',
    ),
    rule(
        'baremetal:node:clear_maintenance',
        ADMIN,
        'Take a node out of maintenance.',
        'DELETE /v1/nodes/{node_ident}/maintenance',
    ),
]
