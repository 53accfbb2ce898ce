"""The rule of the reshaper."""

from ironic_traits.policies.base import SERVICE, rule

RULES = [
    rule(
        'placement:reshaper:reshape',
        SERVICE,
        'Move inventories and allocations at once.',
        'POST /placement/reshaper',
    ),
]
