"""Policy rule of the reshaper."""

from ironic_traits.policies.base import SERVICE_API, rule

RULES = [
    rule(
        'placement:reshaper:reshape',
        SERVICE_API,
        'Replace inventories and allocations in one transaction.',
        'POST /placement/reshaper',
    ),
]
