"""Policy rules of the aggregates of resource providers."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, rule

RULES = [
    rule(
        'placement:resource_providers:aggregates:list',
        ADMIN_OR_SERVICE,
        'List the aggregates of a resource provider.',
        'GET /placement/resource_providers/{uuid}/aggregates',
    ),
    rule(
        'placement:resource_providers:aggregates:update',
        ADMIN_OR_SERVICE,
        'Replace the aggregates of a resource provider.',
        'PUT /placement/resource_providers/{uuid}/aggregates',
    ),
]
