"""Rules of portgroups."""

from ironic_traits.policies.base import ASKS, BUILDS, DECIDES, SEES, SEES_ALL, rule

RULES = [
    rule('baremetal:portgroup:create', BUILDS, 'Create a portgroup.', 'POST /v1/portgroups'),
    rule(
        'baremetal:portgroup:list',
        ASKS,
        'List portgroups.',
        'GET /v1/portgroups',
        'GET /v1/portgroups/detail',
        'GET /v1/nodes/{node_ident}/portgroups',
        'GET /v1/nodes/{node_ident}/portgroups/detail',
    ),
    rule(
        'baremetal:portgroup:list_all',
        SEES_ALL,
        'See the portgroups of the nodes of all projects, and not only of those that the own project owns or leases.',
        'GET /v1/portgroups',
        'GET /v1/portgroups/detail',
    ),
    rule('baremetal:portgroup:get', SEES, 'Show a portgroup.', 'GET /v1/portgroups/{portgroup_ident}'),
    rule('baremetal:portgroup:update', DECIDES, 'Change a portgroup.', 'PATCH /v1/portgroups/{portgroup_ident}'),
    rule('baremetal:portgroup:delete', BUILDS, 'Delete a portgroup.', 'DELETE /v1/portgroups/{portgroup_ident}'),
]
