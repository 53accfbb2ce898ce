"""Policy rules of the aggregates of resource providers."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, rules

RULES = rules(
    'placement:resource_providers:aggregates',
    '/placement/resource_providers/{uuid}/aggregates',
    ('list', ADMIN_OR_SERVICE, 'List the aggregates of a resource provider.', 'GET'),
    ('update', ADMIN_OR_SERVICE, 'Replace the aggregates of a resource provider.', 'PUT'),
)
