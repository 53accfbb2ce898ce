"""Policy rules of matches."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import READER

RULES = rules(
    'baremetal:match',
    '/v1/matches',
    ('list', READER, 'Find the nodes that match a request.', 'POST'),
    ('check', READER, 'Check whether the nodes of an instance match a request.', 'POST'),
)
