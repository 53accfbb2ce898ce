"""Policy rules of mirrors."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import SYSTEM_ADMIN, SYSTEM_READER

RULES = [
    rule(
        'baremetal:mirror:get',
        SYSTEM_READER,
        'List the mirrors of other clouds, or show one with its conflicts.',
        'GET /v1/mirrors',
        'GET /v1/mirrors/{mirror}',
    ),
    rule(
        'baremetal:mirror:confirm',
        SYSTEM_ADMIN,
        'Confirm the deletion of the nodes that a cloud no longer shows.',
        'DELETE /v1/mirrors/{mirror}/missing_nodes',
    ),
]
