"""Rules of usages."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, rule

RULES = [
    rule(
        'placement:resource_providers:usages',
        ADMIN_OR_SERVICE,
        'Show what is used of a resource provider.',
        'GET /placement/resource_providers/{uuid}/usages',
    ),
]
