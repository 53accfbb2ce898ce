"""Rules of volume connectors and targets."""

from ironic_traits.policies.base import ADMIN, READER, rule

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
        'baremetal:volume:get',
        READER,
        'Show a volume connector or target, or where they are.',
        'GET /v1/volume',
        'GET /v1/nodes/{node_ident}/volume',
        f'GET {_CONNECTOR}',
        f'GET {_TARGET}',
    ),
    rule(
        'baremetal:volume:create',
        ADMIN,
        'Create a volume connector or target.',
        f'POST {_CONNECTORS}',
        f'POST {_TARGETS}',
    ),
    rule(
        'baremetal:volume:update',
        ADMIN,
        'Change a volume connector or target.',
        f'PATCH {_CONNECTOR}',
        f'PATCH {_TARGET}',
    ),
    rule(
        'baremetal:volume:delete',
        ADMIN,
        'Delete a volume connector or target.',
        f'DELETE {_CONNECTOR}',
        f'DELETE {_TARGET}',
    ),
]
