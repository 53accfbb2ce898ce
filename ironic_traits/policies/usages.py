"""Policy rules of usages."""

from ironic_traits.policies.base import ADMIN_OR_PROJECT_READER_OR_SERVICE, ADMIN_OR_SERVICE, rule

RULES = [
    rule(
        'placement:resource_providers:usages',
        ADMIN_OR_SERVICE,
        'Show the usages of a resource provider.',
        'GET /placement/resource_providers/{uuid}/usages',
    ),
    rule(
        'placement:usages',
        ADMIN_OR_PROJECT_READER_OR_SERVICE,
        'Show the usages of a project.',
        'GET /placement/usages',
    ),
]
