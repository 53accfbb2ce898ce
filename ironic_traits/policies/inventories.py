"""Policy rules of the inventories of resource providers."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, rules

RULES = rules(
    'placement:resource_providers:inventories',
    '/placement/resource_providers/{uuid}/inventories',
    ('list', ADMIN_OR_SERVICE, 'List the inventories of a resource provider.', 'GET'),
    ('create', ADMIN_OR_SERVICE, 'Add an inventory to a resource provider.', 'POST'),
    ('show', ADMIN_OR_SERVICE, 'Show an inventory of a resource provider.', 'GET /{resource_class}'),
    (
        'update',
        ADMIN_OR_SERVICE,
        'Replace all inventories of a resource provider, or one of them.',
        'PUT /placement/resource_providers/{uuid}/inventories /{resource_class}',
    ),
    (
        'delete',
        ADMIN_OR_SERVICE,
        'Delete all inventories of a resource provider, or one of them.',
        'DELETE /placement/resource_providers/{uuid}/inventories /{resource_class}',
    ),
)
