"""The rule of allocation candidates."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, rule

RULES = [
    rule(
        'placement:allocation_candidates:list',
        ADMIN_OR_SERVICE,
        'Find what could be allocated.',
        'GET /placement/allocation_candidates',
    ),
]
