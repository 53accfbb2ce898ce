"""Policy rules of traits."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, ANY_USER, rules

RULES = rules(
    'placement:traits',
    '/placement/traits/{name}',
    ('list', ANY_USER, 'List traits.', 'GET /placement/traits'),
    ('show', ANY_USER, 'Show a trait.', 'GET'),
    ('update', ADMIN_OR_SERVICE, 'Create a trait.', 'PUT'),
    ('delete', ADMIN_OR_SERVICE, 'Delete a trait.', 'DELETE'),
)
