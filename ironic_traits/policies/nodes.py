"""Policy rules of nodes."""

from oslo_policy import policy

from ironic_traits.policies.base import (
    NODE_OPERATOR,
    NODE_OWNER,
    NODE_OWNER_ADMIN,
    NODE_READER,
    NODE_USER,
    OWNER_READER,
    OWNER_SERVICE,
    READER,
    READER_OF_ALL,
    SERVICE,
    SYSTEM_ADMIN,
    SYSTEM_MEMBER,
    SYSTEM_READER,
    SYSTEM_SERVICE,
    any_of,
    rule,
)

_NODE = '/v1/nodes/{node_ident}'
_WHOLE = any_of(SYSTEM_READER, SERVICE, OWNER_READER, OWNER_SERVICE)
#: Rules of single fields, which apply in addition to those of nodes: who may see each field, and who may change it.
_SEEN = {name: _WHOLE for name in ('last_error', 'reservation', 'driver_internal_info', 'driver_info')}
_CHANGED = {
    **dict.fromkeys(
        ('driver_info', 'properties', 'instance_uuid', 'lessee', 'network_data', 'name', 'retired'),
        NODE_OWNER,
    ),
    'driver_interfaces': NODE_OWNER_ADMIN,
    **dict.fromkeys(('owner', 'conductor_group'), any_of(SYSTEM_MEMBER, 'rule:service_role')),
    **dict.fromkeys(('chassis_uuid', 'shard'), SYSTEM_ADMIN),
}

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
        'GET /v1/chassis/{chassis_uuid}/nodes',
        'GET /v1/chassis/{chassis_uuid}/nodes/detail',
    ),
    rule(
        'baremetal:node:list_all',
        READER_OF_ALL,
        "See the nodes of all projects, not only those that the caller's project owns or leases.",
        'GET /v1/nodes',
        'GET /v1/nodes/detail',
        'POST /v1/matches',
        'POST /v1/reservations',
    ),
    rule('baremetal:node:get', NODE_READER, 'Show a node.', 'GET /v1/nodes/{node_ident}'),
    rule('baremetal:node:update', NODE_USER, 'Change a node.', 'PATCH /v1/nodes/{node_ident}'),
    rule('baremetal:node:update_extra', NODE_USER, 'Change the extra field of a node.', f'PATCH {_NODE}'),
    rule('baremetal:node:update_instance_info', NODE_OPERATOR, 'Change the instance_info of a node.', f'PATCH {_NODE}'),
    rule('baremetal:node:disable_cleaning', SYSTEM_ADMIN, 'Change the automated_clean of a node.', f'PATCH {_NODE}'),
    *(
        rule(f'baremetal:node:update:{name}', check, f'Change the {name} of a node.', f'PATCH {_NODE}')
        for name, check in _CHANGED.items()
    ),
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
    *(
        rule(f'baremetal:node:get:{name}', check, f'See the {name} of a node.', f'GET {_NODE}')
        for name, check in _SEEN.items()
    ),
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
