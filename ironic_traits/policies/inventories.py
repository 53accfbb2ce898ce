"""Policy rules of the inventories of resource providers."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, rule

RULES = [
    rule(
        'placement:resource_providers:inventories:list',
        ADMIN_OR_SERVICE,
        'List the inventories of a resource provider.',
        'GET /placement/resource_providers/{uuid}/inventories',
    ),
    rule(
        'placement:resource_providers:inventories:create',
        ADMIN_OR_SERVICE,
        'Add an inventory to a resource provider.',
        'POST /placement/resource_providers/{uuid}/inventories',
    ),
    rule(
        'placement:resource_providers:inventories:show',
        ADMIN_OR_SERVICE,
        'Show an inventory of a resource provider.',
        'GET /placement/resource_providers/{uuid}/inventories/{resource_class}',
    ),
    rule(
        'placement:resource_providers:inventories:update',
        ADMIN_OR_SERVICE,
        'Replace all inventories of a resource provider, or one of them.',
        'PUT /placement/resource_providers/{uuid}/inventories',
        'PUT /placement/resource_providers/{uuid}/inventories/{resource_class}',
    ),
    rule(
        'placement:resource_providers:inventories:delete',
        ADMIN_OR_SERVICE,
        'Delete all inventories of a resource provider, or one of them.',
        'DELETE /placement/resource_providers/{uuid}/inventories',
        'DELETE /placement/resource_providers/{uuid}/inventories/{resource_class}',
    ),
]
