"""Policy rules of capacity."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import READER

RULES = [
    rule('baremetal:capacity:get', READER, 'Count the nodes that match flavors.', 'POST /v1/capacity'),
]
