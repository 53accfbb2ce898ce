"""Policy rules of allocations."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, rule

RULES = [
    rule(
        'placement:allocations:manage',
        ADMIN_OR_SERVICE,
        'Replace the allocations of several consumers.',
        'POST /placement/allocations',
    ),
    rule(
        'placement:allocations:list',
        ADMIN_OR_SERVICE,
        'List the allocations of a consumer.',
        'GET /placement/allocations/{consumer_uuid}',
    ),
    rule(
        'placement:allocations:update',
        ADMIN_OR_SERVICE,
        'Replace the allocations of a consumer.',
        'PUT /placement/allocations/{consumer_uuid}',
    ),
    rule(
        'placement:allocations:delete',
        ADMIN_OR_SERVICE,
        'Delete the allocations of a consumer.',
        'DELETE /placement/allocations/{consumer_uuid}',
    ),
    rule(
        'placement:resource_providers:allocations:list',
        ADMIN_OR_SERVICE,
        'List the allocations of a resource provider.',
        'GET /placement/resource_providers/{uuid}/allocations',
    ),
]
