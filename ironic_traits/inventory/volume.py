"""Volume connectors and targets: what a node reaches its remote volumes with, and the volumes."""

import functools

from ironic_traits import failures
from ironic_traits.db.models import volume_connectors, volume_targets
from ironic_traits.deploy import states
from ironic_traits.inventory.records import Kind


def _decide(what, connection, node, old, new):
    """Refuse to change a volume resource unless its node is off, or to delete it from a node that is on and in use."""
    if old is None or node.power_state == states.POWER_OFF:
        return
    if new is not None:
        raise failures.InvalidTransition(action=f'{what} update', node=node.uuid, state=node.power_state)
    if node.provision_state not in states.DELETABLE:
        raise failures.InvalidTransition(action=f'{what} deletion', node=node.uuid, state=node.power_state)


CONNECTORS = Kind(
    volume_connectors,
    'volume connector',
    {'node_uuid': None, 'type': None, 'connector_id': None, 'extra': {}},
    {'connector_id': 'with type {type} and connector ID {connector_id}'},
    functools.partial(_decide, 'volume connector'),
    'baremetal:volume:list_all',
)

TARGETS = Kind(
    volume_targets,
    'volume target',
    {'node_uuid': None, 'volume_type': None, 'boot_index': None, 'volume_id': None, 'properties': {}, 'extra': {}},
    {'boot_index': "with boot index '{boot_index}' for the same node"},
    functools.partial(_decide, 'volume target'),
    'baremetal:volume:list_all',
)
