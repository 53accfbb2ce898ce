"""Rules of traits."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, ANYONE, rule

RULES = [
    rule('placement:traits:list', ANYONE, 'List traits.', 'GET /placement/traits'),
    rule('placement:traits:show', ANYONE, 'Show a trait.', 'GET /placement/traits/{name}'),
    rule('placement:traits:update', ADMIN_OR_SERVICE, 'Make a trait.', 'PUT /placement/traits/{name}'),
    rule('placement:traits:delete', ADMIN_OR_SERVICE, 'Delete a trait.', 'DELETE /placement/traits/{name}'),
]
