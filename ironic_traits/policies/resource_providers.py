"""Policy rules of resource providers."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, rules

RULES = rules(
    'placement:resource_providers',
    '/placement/resource_providers',
    ('list', ADMIN_OR_SERVICE, 'List resource providers.', 'GET'),
    ('create', ADMIN_OR_SERVICE, 'Create a resource provider.', 'POST'),
    ('show', ADMIN_OR_SERVICE, 'Show a resource provider.', 'GET /{uuid}'),
    ('update', ADMIN_OR_SERVICE, 'Rename a resource provider, or change its parent.', 'PUT /{uuid}'),
    ('delete', ADMIN_OR_SERVICE, 'Delete a resource provider.', 'DELETE /{uuid}'),
)
