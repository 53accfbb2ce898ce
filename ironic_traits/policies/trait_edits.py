"""Policy rules of edits of the traits of many nodes."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import NODE_OWNER_ADMIN

RULES = [
    rule(
        'baremetal:trait:edit',
        NODE_OWNER_ADMIN,
        'Edit the traits of many nodes in one request. The rules for setting and deleting the traits of a node must '
        'allow it, too, for each of the nodes.',
        'POST /v1/traits/edits',
    ),
]
