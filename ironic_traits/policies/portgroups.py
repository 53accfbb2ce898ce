"""Rules of portgroups."""

from ironic_traits.policies.base import ADMIN, READER, rule

RULES = [
    rule('baremetal:portgroup:create', ADMIN, 'Create a portgroup.', 'POST /v1/portgroups'),
    rule(
        'baremetal:portgroup:list',
        READER,
        'List portgroups.',
        'GET /v1/portgroups',
        'GET /v1/portgroups/detail',
        'GET /v1/nodes/{node_ident}/portgroups',
        'GET /v1/nodes/{node_ident}/portgroups/detail',
    ),
    rule('baremetal:portgroup:get', READER, 'Show a portgroup.', 'GET /v1/portgroups/{portgroup_ident}'),
    rule('baremetal:portgroup:update', ADMIN, 'Change a portgroup.', 'PATCH /v1/portgroups/{portgroup_ident}'),
    rule('baremetal:portgroup:delete', ADMIN, 'Delete a portgroup.', 'DELETE /v1/portgroups/{portgroup_ident}'),
]
