"""Policy rules of the change feed."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import SERVICE, SYSTEM_READER, any_of

RULES = [
    # It shows uuids of nodes of all projects, deleted ones included. So there is no rule for owners.
    rule(
        'baremetal:change:list',
        any_of(SYSTEM_READER, SERVICE),
        'See what has changed since the caller asked last.',
        'GET /v1/changes',
        'GET /v1/nodes',
        'GET /v1/nodes/detail',
    ),
]
