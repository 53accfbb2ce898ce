"""Policy rules of the traits of resource providers."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, rules

RULES = rules(
    'placement:resource_providers:traits',
    '/placement/resource_providers/{uuid}/traits',
    ('list', ADMIN_OR_SERVICE, 'List the traits of a resource provider.', 'GET'),
    ('update', ADMIN_OR_SERVICE, 'Replace the traits of a resource provider.', 'PUT'),
    ('delete', ADMIN_OR_SERVICE, 'Remove all traits of a resource provider.', 'DELETE'),
)
