"""Policy rules of matches."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import READER

RULES = [
    rule('baremetal:match:list', READER, 'Find the nodes that match a request.', 'POST /v1/matches'),
    rule(
        'baremetal:match:check', READER, 'Check whether the nodes of an instance match a request.', 'POST /v1/matches'
    ),
]
