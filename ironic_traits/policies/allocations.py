"""Policy rules of allocations."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, rules

RULES = rules(
    'placement',
    '/placement/allocations/{consumer_uuid}',
    (
        'allocations:manage',
        ADMIN_OR_SERVICE,
        'Replace the allocations of several consumers.',
        'POST /placement/allocations',
    ),
    ('allocations:list', ADMIN_OR_SERVICE, 'List the allocations of a consumer.', 'GET'),
    ('allocations:update', ADMIN_OR_SERVICE, 'Replace the allocations of a consumer.', 'PUT'),
    ('allocations:delete', ADMIN_OR_SERVICE, 'Delete the allocations of a consumer.', 'DELETE'),
    (
        'resource_providers:allocations:list',
        ADMIN_OR_SERVICE,
        'List the allocations of a resource provider.',
        'GET /placement/resource_providers/{uuid}/allocations',
    ),
)
