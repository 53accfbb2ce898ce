"""Policy rules of mirrors."""

from ironic_traits.policies.base import rules
from ironic_traits.resources.roles import SYSTEM_ADMIN, SYSTEM_READER

RULES = rules(
    'baremetal:mirror',
    '/v1/mirrors',
    (
        'get',
        SYSTEM_READER,
        'List the mirrors of other clouds, or show one with its conflicts.',
        'GET /v1/mirrors /{mirror}',
    ),
    (
        'confirm',
        SYSTEM_ADMIN,
        'Confirm the deletion of the nodes that a cloud no longer shows.',
        'DELETE /{mirror}/missing_nodes',
    ),
)
