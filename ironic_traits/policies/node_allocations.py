"""Policy rules of Ironic's allocations. (``allocations`` has those of Placement.)"""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import READER, READER_OF_ALL, SYSTEM_MEMBER, any_of

_PATH, _ONE, _OF_NODE = '/v1/allocations', '/v1/allocations/{allocation_ident}', '/v1/nodes/{node_ident}/allocation'
_MEMBER_OF_ALL = any_of(SYSTEM_MEMBER, 'rule:service_role')
_OWNER_READER = 'role:reader and project_id:%(allocation.owner)s'
_OWNER_MEMBER = 'role:member and project_id:%(allocation.owner)s'

RULES = [
    rule(
        'baremetal:allocation:get',
        any_of(READER_OF_ALL, f'({_OWNER_READER})'),
        'Show an allocation.',
        f'GET {_ONE}',
        f'GET {_OF_NODE}',
    ),
    rule('baremetal:allocation:list', READER, 'List the allocations of the own project.', f'GET {_PATH}'),
    rule('baremetal:allocation:list_all', READER_OF_ALL, 'List the allocations of all projects.', f'GET {_PATH}'),
    rule(
        'baremetal:allocation:create',
        any_of(_MEMBER_OF_ALL, 'role:member'),
        'Create an allocation that the own project owns.',
        f'POST {_PATH}',
    ),
    rule(
        'baremetal:allocation:create_restricted',
        _MEMBER_OF_ALL,
        'Create an allocation that any project owns.',
        f'POST {_PATH}',
    ),
    rule(
        'baremetal:allocation:delete',
        any_of(_MEMBER_OF_ALL, f'({_OWNER_MEMBER})'),
        'Delete an allocation, which frees its node.',
        f'DELETE {_ONE}',
        f'DELETE {_OF_NODE}',
    ),
    rule(
        'baremetal:allocation:update',
        any_of(_MEMBER_OF_ALL, f'({_OWNER_MEMBER})'),
        'Change the name and the extra field of an allocation.',
        f'PATCH {_ONE}',
    ),
]
