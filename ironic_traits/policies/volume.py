"""Policy rules of volume connectors and targets."""

from ironic_traits.policies.base import rule
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
_CONNECTORS, _TARGETS = '/v1/volume/connectors', '/v1/volume/targets'
_CONNECTOR, _TARGET = f'{_CONNECTORS}/{{connector_uuid}}', f'{_TARGETS}/{{target_uuid}}'

RULES = [
    rule(
        'baremetal:volume:list',
        READER,
        'List volume connectors or targets.',
        f'GET {_CONNECTORS}',
        f'GET {_TARGETS}',
        'GET /v1/nodes/{node_ident}/volume/connectors',
        'GET /v1/nodes/{node_ident}/volume/targets',
    ),
    rule(
        'baremetal:volume:list_all',
        READER_OF_ALL,
        "See the connectors and targets of all nodes, not only of those that the caller's project owns or leases.",
        f'GET {_CONNECTORS}',
        f'GET {_TARGETS}',
    ),
    rule(
        'baremetal:volume:get',
        NODE_READER,
        'Show a volume connector or target, or the links to them.',
        'GET /v1/volume',
        'GET /v1/nodes/{node_ident}/volume',
        f'GET {_CONNECTOR}',
        f'GET {_TARGET}',
    ),
    *(
        rule(
            each.name,
            each.check,
            each.description,
            f'GET {_TARGETS}',
            f'GET {_TARGET}',
            'GET /v1/nodes/{node_ident}/volume/targets',
        )
        for each in TARGETS.show_rules
    ),
    rule(
        'baremetal:volume:create',
        _CONNECTOR_ADMIN,
        'Create a volume connector or target.',
        f'POST {_CONNECTORS}',
        f'POST {_TARGETS}',
    ),
    rule(
        'baremetal:volume:update',
        NODE_OPERATOR,
        'Change a volume connector or target.',
        f'PATCH {_CONNECTOR}',
        f'PATCH {_TARGET}',
    ),
    rule(
        'baremetal:volume:delete',
        _CONNECTOR_ADMIN,
        'Delete a volume connector or target.',
        f'DELETE {_CONNECTOR}',
        f'DELETE {_TARGET}',
    ),
]
