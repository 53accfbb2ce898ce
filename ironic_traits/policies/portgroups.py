"""Policy rules of portgroups."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import NODE_ADMIN, NODE_OWNER_ADMIN, NODE_READER, READER, READER_OF_ALL

RULES = rules(
    'baremetal:portgroup',
    '/v1/portgroups',
    ('create', NODE_ADMIN, 'Create a portgroup.', 'POST'),
    (
        'list',
        READER,
        'List portgroups.',
        'GET /v1/portgroups /detail /v1/nodes/{node_ident}/portgroups /v1/nodes/{node_ident}/portgroups/detail',
    ),
    (
        'list_all',
        READER_OF_ALL,
        "See the portgroups of all nodes, not only of those that the caller's project owns or leases.",
        'GET /v1/portgroups /detail',
    ),
    ('get', NODE_READER, 'Show a portgroup.', 'GET /{portgroup_ident}'),
    ('update', NODE_OWNER_ADMIN, 'Change a portgroup.', 'PATCH /{portgroup_ident}'),
    ('delete', NODE_ADMIN, 'Delete a portgroup.', 'DELETE /{portgroup_ident}'),
)
