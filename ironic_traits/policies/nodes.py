"""Policy rules of nodes."""

from oslo_policy import policy

from ironic_traits.policies.base import rule
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

_NODE = '/v1/nodes/{node_ident}'

RULES = [
    policy.RuleDefault('show_password', '!', description='See the passwords in driver_info, instead of a mask.'),
    policy.RuleDefault(
        'show_instance_secrets', '!', description='See the secrets in instance_info, instead of a mask.'
    ),
    rule('baremetal:node:create', any_of(SYSTEM_ADMIN, SYSTEM_SERVICE), 'Create a node.', 'POST /v1/nodes'),
    rule(
        'baremetal:node:create:self_owned_node',
        'role:admin or role:service',
        "Create a node that the caller's project owns.",
        'POST /v1/nodes',
    ),
    rule(
        'baremetal:node:list',
        READER,
        'List nodes.',
        'GET /v1/nodes',
        'GET /v1/nodes/detail',
        'GET /v1/facets',
        'GET /v1/nodes/{node_ident}/children',
        'GET /v1/chassis/{chassis_uuid}/nodes',
        'GET /v1/chassis/{chassis_uuid}/nodes/detail',
    ),
    rule(
        'baremetal:node:list_all',
        READER_OF_ALL,
        "See the nodes of all projects, not only those that the caller's project owns or leases.",
        'GET /v1/nodes',
        'GET /v1/nodes/detail',
        'GET /v1/facets',
        'POST /v1/matches',
        'POST /v1/reservations',
    ),
    rule('baremetal:node:get', NODE_READER, 'Show a node.', 'GET /v1/nodes/{node_ident}'),
    rule(
        'baremetal:node:bios:get',
        NODE_READER,
        'Show the BIOS settings of a node.',
        f'GET {_NODE}/bios',
        f'GET {_NODE}/bios/{{setting}}',
    ),
    rule('baremetal:node:firmware:get', NODE_READER, 'Show the firmware of a node.', f'GET {_NODE}/firmware'),
    rule('baremetal:node:update', NODE_USER, 'Change a node.', 'PATCH /v1/nodes/{node_ident}'),
    *(rule(each.name, each.check, each.description, f'PATCH {_NODE}') for each in NODES.change_rules),
    rule(
        'baremetal:node:update_owner_provisioned',
        SYSTEM_ADMIN,
        'Change the owner of an active node.',
        f'PATCH {_NODE}',
    ),
    rule(
        'baremetal:node:get:filter_threshold',
        READER_OF_ALL,
        'See all fields of a node: the rules of single fields are not checked.',
        f'GET {_NODE}',
    ),
    *(rule(each.name, each.check, each.description, f'GET {_NODE}') for each in NODES.show_rules),
    rule('baremetal:node:delete', SYSTEM_ADMIN, 'Delete a node.', f'DELETE {_NODE}'),
    rule(
        'baremetal:node:delete:self_owned_node',
        'role:admin and project_id:%(node.owner)s',
        "Delete a node that the caller's project owns.",
        f'DELETE {_NODE}',
    ),
    rule(
        'baremetal:node:validate',
        NODE_OPERATOR,
        'Validate whether a node can be deployed.',
        'GET /v1/nodes/{node_ident}/validate',
        'GET /v1/nodes/validate',
    ),
    rule(
        'baremetal:node:set_maintenance',
        NODE_OPERATOR,
        'Put a node into maintenance.',
        'PUT /v1/nodes/{node_ident}/maintenance',
    ),
    rule(
        'baremetal:node:clear_maintenance',
        NODE_OPERATOR,
        'Take a node out of maintenance.',
        'DELETE /v1/nodes/{node_ident}/maintenance',
    ),
    rule(
        'baremetal:node:unlock',
        SYSTEM_ADMIN,
        'Abort the work on a node, and break its lock.',
        'DELETE /v1/nodes/{node_ident}/lock',
    ),
]
