"""Policy rules of the parts of Ironic's API that this service does not have.

Callers whom Ironic would refuse get the same 403 or 404 here. The others learn that the part is not implemented.
"""

from oslo_policy import policy

from ironic_traits.policies.base import ANY_USER, rule
from ironic_traits.resources.roles import (
    NODE_OWNER,
    READER_OF_ALL,
    SYSTEM_ADMIN,
)

_NODE, _DRIVER = '/v1/nodes/{node_ident}', '/v1/drivers/{driver_name}'
_STATES = f'{_NODE}/states'


def _unserved(name: str, check: str, does: str, *operations: str) -> policy.DocumentedRuleDefault:
    return rule(name, check, f'{does}. This is not implemented: the response is 404.', *operations)


def _passthru(parent: str) -> list[str]:
    """Return the operations of the methods of a vendor."""
    path = f'{parent}/vendor_passthru'
    return [
        f'{method} {path}{end}' for end in ('', '/{method}') for method in ('GET', 'POST', 'PUT', 'PATCH', 'DELETE')
    ]


RULES = [
    _unserved(
        'baremetal:node:set_raid_state', NODE_OWNER, 'Change the RAID configuration of a node', f'PUT {_STATES}/raid'
    ),
    _unserved('baremetal:node:get_console', NODE_OWNER, 'Show the console of a node', f'GET {_STATES}/console'),
    _unserved(
        'baremetal:node:set_console_state',
        NODE_OWNER,
        'Start or stop the console of a node',
        f'PUT {_STATES}/console',
    ),
    _unserved(
        'baremetal:node:vendor_passthru', SYSTEM_ADMIN, 'Use the methods of a vendor for a node', *_passthru(_NODE)
    ),
    _unserved(
        'baremetal:driver:vendor_passthru',
        SYSTEM_ADMIN,
        'Use the methods of a vendor for a driver',
        *_passthru(_DRIVER),
    ),
    _unserved(
        'baremetal:driver:get_raid_logical_disk_properties',
        READER_OF_ALL,
        'Show which RAID properties a driver supports',
        f'GET {_DRIVER}/raid/logical_disk_properties',
    ),
    _unserved('baremetal:events:post', SYSTEM_ADMIN, 'Send events of neutron', 'POST /v1/events'),
    _unserved('baremetal:driver:ipa_lookup', ANY_USER, 'Find the node of a ramdisk', 'GET /v1/lookup'),
    _unserved(
        'baremetal:node:ipa_heartbeat', ANY_USER, 'Send a heartbeat of a ramdisk', 'POST /v1/heartbeat/{node_ident}'
    ),
]
