"""Policy rules of traits."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, ANY_USER, rule

RULES = [
    rule('placement:traits:list', ANY_USER, 'List traits.', 'GET /placement/traits'),
    rule('placement:traits:show', ANY_USER, 'Show a trait.', 'GET /placement/traits/{name}'),
    rule('placement:traits:update', ADMIN_OR_SERVICE, 'Create a trait.', 'PUT /placement/traits/{name}'),
    rule('placement:traits:delete', ADMIN_OR_SERVICE, 'Delete a trait.', 'DELETE /placement/traits/{name}'),
]
