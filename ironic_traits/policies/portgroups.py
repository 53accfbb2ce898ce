"""Policy rules of portgroups."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import NODE_ADMIN, NODE_OWNER_ADMIN, NODE_READER, READER, READER_OF_ALL

RULES = [
    rule('baremetal:portgroup:create', NODE_ADMIN, 'Create a portgroup.', 'POST /v1/portgroups'),
    rule(
        'baremetal:portgroup:list',
        READER,
        'List portgroups.',
        'GET /v1/portgroups',
        'GET /v1/portgroups/detail',
        'GET /v1/nodes/{node_ident}/portgroups',
        'GET /v1/nodes/{node_ident}/portgroups/detail',
    ),
    rule(
        'baremetal:portgroup:list_all',
        READER_OF_ALL,
        "See the portgroups of all nodes, not only of those that the caller's project owns or leases.",
        'GET /v1/portgroups',
        'GET /v1/portgroups/detail',
    ),
    rule('baremetal:portgroup:get', NODE_READER, 'Show a portgroup.', 'GET /v1/portgroups/{portgroup_ident}'),
    rule(
        'baremetal:portgroup:update', NODE_OWNER_ADMIN, 'Change a portgroup.', 'PATCH /v1/portgroups/{portgroup_ident}'
    ),
    rule('baremetal:portgroup:delete', NODE_ADMIN, 'Delete a portgroup.', 'DELETE /v1/portgroups/{portgroup_ident}'),
]
