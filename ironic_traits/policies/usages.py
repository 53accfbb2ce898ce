"""Rules of usages."""

from ironic_traits.policies.base import ADMIN_OR_PROJECT_READER_OR_SERVICE, ADMIN_OR_SERVICE, rule

RULES = [
    rule(
        'placement:resource_providers:usages',
        ADMIN_OR_SERVICE,
        'Show what is used of a resource provider.',
        'GET /placement/resource_providers/{uuid}/usages',
    ),
    rule(
        'placement:usages',
        ADMIN_OR_PROJECT_READER_OR_SERVICE,
        'Show what the consumers of a project use.',
        'GET /placement/usages',
    ),
]
