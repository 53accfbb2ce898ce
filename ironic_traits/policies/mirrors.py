"""Policy rules of mirrors."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import SYSTEM_READER

RULES = [
    rule(
        'baremetal:mirror:get',
        SYSTEM_READER,
        'List the mirrors of other clouds, or show one with its conflicts.',
        'GET /v1/mirrors',
        'GET /v1/mirrors/{mirror}',
    )
]
