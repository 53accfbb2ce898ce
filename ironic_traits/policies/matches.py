"""Rules of matches."""

from ironic_traits.policies.base import ASKS, rule

RULES = [
    rule('baremetal:match:list', ASKS, 'Find the nodes that match a request.', 'POST /v1/matches'),
    rule('baremetal:match:check', ASKS, 'Ask whether what an instance holds matches.', 'POST /v1/matches'),
]
