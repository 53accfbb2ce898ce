"""Policy rules of conductors."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import SYSTEM_READER

RULES = [
    rule(
        'baremetal:conductor:get',
        SYSTEM_READER,
        'List the conductors, which are the hosts with workers, or show one.',
        'GET /v1/conductors',
        'GET /v1/conductors/{hostname}',
    )
]
