"""Policy rules of Ironic's allocations. (``allocations`` has those of Placement.)"""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import READER, READER_OF_ALL, SYSTEM_MEMBER, any_of

_MEMBER_OF_ALL = any_of(SYSTEM_MEMBER, 'rule:service_role')
_OWNER_READER = 'role:reader and project_id:%(allocation.owner)s'
_OWNER_MEMBER = 'role:member and project_id:%(allocation.owner)s'

RULES = rules(
    'baremetal:allocation',
    '/v1/allocations',
    (
        'get',
        any_of(READER_OF_ALL, f'({_OWNER_READER})'),
        'Show an allocation.',
        'GET /{allocation_ident} /v1/nodes/{node_ident}/allocation',
    ),
    ('list', READER, 'List the allocations of the own project.', 'GET'),
    ('list_all', READER_OF_ALL, 'List the allocations of all projects.', 'GET'),
    ('create', any_of(_MEMBER_OF_ALL, 'role:member'), 'Create an allocation that the own project owns.', 'POST'),
    ('create_restricted', _MEMBER_OF_ALL, 'Create an allocation that any project owns.', 'POST'),
    (
        'delete',
        any_of(_MEMBER_OF_ALL, f'({_OWNER_MEMBER})'),
        'Delete an allocation, which frees its node.',
        'DELETE /{allocation_ident} /v1/nodes/{node_ident}/allocation',
    ),
    (
        'update',
        any_of(_MEMBER_OF_ALL, f'({_OWNER_MEMBER})'),
        'Change the name and the extra field of an allocation.',
        'PATCH /{allocation_ident}',
    ),
)
