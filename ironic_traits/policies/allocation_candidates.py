"""Policy rule of allocation candidates."""

from ironic_traits.policies.base import ADMIN_OR_SERVICE, rule

RULES = [
    rule(
        'placement:allocation_candidates:list',
        ADMIN_OR_SERVICE,
        'List allocation candidates.',
        'GET /placement/allocation_candidates',
    ),
]
