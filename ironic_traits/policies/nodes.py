"""Policy rules of nodes."""

from oslo_policy import policy

from ironic_traits.policies.base import of_fields, rules
from ironic_traits.resources.nodes import NODES
from ironic_traits.resources.roles import (
    NODE_OPERATOR,
    NODE_READER,
    NODE_USER,
    READER,
    READER_OF_ALL,
    SYSTEM_ADMIN,
    SYSTEM_SERVICE,
    any_of,
)

RULES = [
    policy.RuleDefault('show_password', '!', description='See the passwords in driver_info, instead of a mask.'),
    policy.RuleDefault(
        'show_instance_secrets', '!', description='See the secrets in instance_info, instead of a mask.'
    ),
    *rules(
        'baremetal:node',
        '/v1/nodes/{node_ident}',
        ('create', any_of(SYSTEM_ADMIN, SYSTEM_SERVICE), 'Create a node.', 'POST /v1/nodes'),
        (
            'create:self_owned_node',
            'role:admin or role:service',
            "Create a node that the caller's project owns.",
            'POST /v1/nodes',
        ),
        (
            'list',
            READER,
            'List nodes.',
            'GET /v1/nodes /v1/nodes/detail /v1/facets /children',
            'GET /v1/chassis/{chassis_uuid}/nodes /v1/chassis/{chassis_uuid}/nodes/detail',
        ),
        (
            'list_all',
            READER_OF_ALL,
            "See the nodes of all projects, not only those that the caller's project owns or leases.",
            'GET /v1/nodes /v1/nodes/detail /v1/facets',
            'POST /v1/matches /v1/reservations',
        ),
        ('get', NODE_READER, 'Show a node.', 'GET'),
        ('bios:get', NODE_READER, 'Show the BIOS settings of a node.', 'GET /bios /bios/{setting}'),
        ('firmware:get', NODE_READER, 'Show the firmware of a node.', 'GET /firmware'),
        ('update', NODE_USER, 'Change a node.', 'PATCH'),
        *of_fields(NODES.change_rules, 'PATCH'),
        ('update_owner_provisioned', SYSTEM_ADMIN, 'Change the owner of an active node.', 'PATCH'),
        (
            'get:filter_threshold',
            READER_OF_ALL,
            'See all fields of a node: the rules of single fields are not checked.',
            'GET',
        ),
        *of_fields(NODES.show_rules, 'GET'),
        ('delete', SYSTEM_ADMIN, 'Delete a node.', 'DELETE'),
        (
            'delete:self_owned_node',
            'role:admin and project_id:%(node.owner)s',
            "Delete a node that the caller's project owns.",
            'DELETE',
        ),
        ('validate', NODE_OPERATOR, 'Validate whether a node can be deployed.', 'GET /validate /v1/nodes/validate'),
        (
            'set_maintenance',
            NODE_OPERATOR,
            'Put a node into maintenance.',
            'PUT /maintenance',
            'POST /v1/nodes/actions',
        ),
        (
            'clear_maintenance',
            NODE_OPERATOR,
            'Take a node out of maintenance.',
            'DELETE /maintenance',
            'POST /v1/nodes/actions',
        ),
        ('unlock', SYSTEM_ADMIN, 'Abort the work on a node, and break its lock.', 'DELETE /lock'),
    ),
]
