"""Policy rules of capacity and drift."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import READER

RULES = [
    rule(
        'baremetal:capacity:get',
        READER,
        'Count the nodes that match flavors, and those with each firmware. Compare flavors and images with the nodes.',
        'POST /v1/capacity',
        'GET /v1/drift',
        'POST /v1/drift',
    ),
]
