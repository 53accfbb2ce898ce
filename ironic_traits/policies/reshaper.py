"""The rule of the reshaper."""

from ironic_traits.policies.base import SERVICE_API, rule

RULES = [
    rule(
        'placement:reshaper:reshape',
        SERVICE_API,
        'Move inventories and allocations at once.',
        'POST /placement/reshaper',
    ),
]
