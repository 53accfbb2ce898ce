"""Policy rules of resource providers."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, rule

RULES = [
    rule(
        'placement:resource_providers:list',
        ADMIN_OR_SERVICE,
        'List resource providers.',
        'GET /placement/resource_providers',
    ),
    rule(
        'placement:resource_providers:create',
        ADMIN_OR_SERVICE,
        'Create a resource provider.',
        'POST /placement/resource_providers',
    ),
    rule(
        'placement:resource_providers:show',
        ADMIN_OR_SERVICE,
        'Show a resource provider.',
        'GET /placement/resource_providers/{uuid}',
    ),
    rule(
        'placement:resource_providers:update',
        ADMIN_OR_SERVICE,
        'Rename a resource provider, or change its parent.',
        'PUT /placement/resource_providers/{uuid}',
    ),
    rule(
        'placement:resource_providers:delete',
        ADMIN_OR_SERVICE,
        'Delete a resource provider.',
        'DELETE /placement/resource_providers/{uuid}',
    ),
]
