"""Policy rules of the traits of resource providers."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, rule

RULES = [
    rule(
        'placement:resource_providers:traits:list',
        ADMIN_OR_SERVICE,
        'List the traits of a resource provider.',
        'GET /placement/resource_providers/{uuid}/traits',
    ),
    rule(
        'placement:resource_providers:traits:update',
        ADMIN_OR_SERVICE,
        'Replace the traits of a resource provider.',
        'PUT /placement/resource_providers/{uuid}/traits',
    ),
    rule(
        'placement:resource_providers:traits:delete',
        ADMIN_OR_SERVICE,
        'Remove all traits of a resource provider.',
        'DELETE /placement/resource_providers/{uuid}/traits',
    ),
]
