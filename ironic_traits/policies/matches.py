"""Rules of matches."""

from ironic_traits.policies.base import READER, rule

RULES = [
    rule('baremetal:match:list', READER, 'Find the nodes that match a request.', 'POST /v1/matches'),
    rule('baremetal:match:check', READER, 'Ask whether what an instance holds matches.', 'POST /v1/matches'),
]
