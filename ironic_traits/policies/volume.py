"""Policy rules of volume connectors and targets."""

from ironic_traits.policies.base import of_fields, rules
from ironic_traits.resources.roles import (
    LESSEE_ADMIN,
    NODE_OPERATOR,
    NODE_READER,
    OWNER_ADMIN,
    OWNER_SERVICE,
    READER,
    READER_OF_ALL,
    SERVICE,
    SYSTEM_MEMBER,
    any_of,
)
from ironic_traits.resources.volume import TARGETS

_CONNECTOR_ADMIN = any_of(SYSTEM_MEMBER, SERVICE, OWNER_ADMIN, LESSEE_ADMIN, OWNER_SERVICE)

RULES = rules(
    'baremetal:volume',
    '/v1/volume',
    (
        'list',
        READER,
        'List volume connectors or targets.',
        'GET /connectors /targets /v1/nodes/{node_ident}/volume/connectors /v1/nodes/{node_ident}/volume/targets',
    ),
    (
        'list_all',
        READER_OF_ALL,
        "See the connectors and targets of all nodes, not only of those that the caller's project owns or leases.",
        'GET /connectors /targets',
    ),
    (
        'get',
        NODE_READER,
        'Show a volume connector or target, or the links to them.',
        'GET /v1/volume /v1/nodes/{node_ident}/volume /connectors/{connector_uuid} /targets/{target_uuid}',
    ),
    *of_fields(TARGETS.show_rules, 'GET /targets /targets/{target_uuid} /v1/nodes/{node_ident}/volume/targets'),
    ('create', _CONNECTOR_ADMIN, 'Create a volume connector or target.', 'POST /connectors /targets'),
    (
        'update',
        NODE_OPERATOR,
        'Change a volume connector or target.',
        'PATCH /connectors/{connector_uuid} /targets/{target_uuid}',
    ),
    (
        'delete',
        _CONNECTOR_ADMIN,
        'Delete a volume connector or target.',
        'DELETE /connectors/{connector_uuid} /targets/{target_uuid}',
    ),
)
