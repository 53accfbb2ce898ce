"""Policy rules of resource classes."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, rule

RULES = [
    rule(
        'placement:resource_classes:list', ADMIN_OR_SERVICE, 'List resource classes.', 'GET /placement/resource_classes'
    ),
    rule(
        'placement:resource_classes:create',
        ADMIN_OR_SERVICE,
        'Create a resource class.',
        'POST /placement/resource_classes',
    ),
    rule(
        'placement:resource_classes:show',
        ADMIN_OR_SERVICE,
        'Show a resource class.',
        'GET /placement/resource_classes/{name}',
    ),
    rule(
        'placement:resource_classes:update',
        ADMIN_OR_SERVICE,
        'Create or rename a resource class.',
        'PUT /placement/resource_classes/{name}',
    ),
    rule(
        'placement:resource_classes:delete',
        ADMIN_OR_SERVICE,
        'Delete a resource class.',
        'DELETE /placement/resource_classes/{name}',
    ),
]
