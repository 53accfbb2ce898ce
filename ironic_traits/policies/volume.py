"""Rules of volume connectors and targets."""

from ironic_traits.policies.base import (
    ASKS,
    LESSEE_ADMIN,
    OWNER_ADMIN,
    OWNER_SERVICE,
    SEES,
    SEES_ALL,
    SERVICE,
    SYSTEM_MEMBER,
    WORKS,
    any_of,
    rule,
)

_CONNECTS = any_of(SYSTEM_MEMBER, SERVICE, OWNER_ADMIN, LESSEE_ADMIN, OWNER_SERVICE)
_CONNECTORS, _TARGETS = '/v1/volume/connectors', '/v1/volume/targets'
_CONNECTOR, _TARGET = f'{_CONNECTORS}/{{connector_uuid}}', f'{_TARGETS}/{{target_uuid}}'

RULES = [
    rule(
        'baremetal:volume:list',
        ASKS,
        'List volume connectors or targets.',
        f'GET {_CONNECTORS}',
        f'GET {_TARGETS}',
        'GET /v1/nodes/{node_ident}/volume/connectors',
        'GET /v1/nodes/{node_ident}/volume/targets',
    ),
    rule(
        'baremetal:volume:list_all',
        SEES_ALL,
        'See the connectors and targets of the nodes of all projects, and not only of those that the own project '
        'owns or leases.',
        f'GET {_CONNECTORS}',
        f'GET {_TARGETS}',
    ),
    rule(
        'baremetal:volume:get',
        SEES,
        'Show a volume connector or target, or where they are.',
        'GET /v1/volume',
        'GET /v1/nodes/{node_ident}/volume',
        f'GET {_CONNECTOR}',
        f'GET {_TARGET}',
    ),
    rule(
        'baremetal:volume:view_target_properties',
        any_of(SEES_ALL, 'role:admin'),
        'See the properties of volume targets.',
        f'GET {_TARGETS}',
        f'GET {_TARGET}',
        'GET /v1/nodes/{node_ident}/volume/targets',
    ),
    rule(
        'baremetal:volume:create',
        _CONNECTS,
        'Create a volume connector or target.',
        f'POST {_CONNECTORS}',
        f'POST {_TARGETS}',
    ),
    rule(
        'baremetal:volume:update',
        WORKS,
        'Change a volume connector or target.',
        f'PATCH {_CONNECTOR}',
        f'PATCH {_TARGET}',
    ),
    rule(
        'baremetal:volume:delete',
        _CONNECTS,
        'Delete a volume connector or target.',
        f'DELETE {_CONNECTOR}',
        f'DELETE {_TARGET}',
    ),
]
