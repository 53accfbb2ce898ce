"""Policy rules of capacity and drift."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import READER

RULES = [
    rule(
        'baremetal:capacity:get',
        READER,
        'Count the nodes that match flavors, and compare flavors and images with the nodes.',
        'POST /v1/capacity',
        'POST /v1/drift',
    ),
]
