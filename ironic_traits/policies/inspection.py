"""Policy rules of the data of inspections."""

from ironic_traits.policies.base import ANY_USER, rules
from ironic_traits.resources.roles import (
    NODE_OPERATOR,
    NODE_OWNER_ADMIN,
    OWNER_READER,
    OWNER_SERVICE,
    SERVICE,
    SYSTEM_READER,
    any_of,
)

RULES = rules(
    'baremetal',
    '/v1/nodes/{node_ident}/inventory',
    (
        'node:inventory:get',
        any_of(SYSTEM_READER, SERVICE, OWNER_READER, OWNER_SERVICE),
        'See the data of the inspection of a node.',
        'GET',
    ),
    (
        'node:inventory:set',
        NODE_OWNER_ADMIN,
        'Store data of an inspection of a node. The inspection rules change its traits accordingly.',
        'PUT',
    ),
    (
        'node:inventory:refresh',
        NODE_OPERATOR,
        'Let a worker read the BMC of a node. The inspection rules change its traits accordingly.',
        'POST /v1/nodes/{node_ident}/inventory/refresh',
    ),
    (
        'driver:ipa_continue_inspection',
        ANY_USER,
        'Send the data of an inspection, as a ramdisk does. It does not authenticate.',
        'POST /v1/continue_inspection',
    ),
)
