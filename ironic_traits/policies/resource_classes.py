"""Policy rules of resource classes."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, rules

RULES = rules(
    'placement:resource_classes',
    '/placement/resource_classes',
    ('list', ADMIN_OR_SERVICE, 'List resource classes.', 'GET'),
    ('create', ADMIN_OR_SERVICE, 'Create a resource class.', 'POST'),
    ('show', ADMIN_OR_SERVICE, 'Show a resource class.', 'GET /{name}'),
    ('update', ADMIN_OR_SERVICE, 'Create or rename a resource class.', 'PUT /{name}'),
    ('delete', ADMIN_OR_SERVICE, 'Delete a resource class.', 'DELETE /{name}'),
)
