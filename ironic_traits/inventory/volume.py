"""Volume connectors and targets: what a node reaches its remote volumes with, and the volumes."""

from ironic_traits import failures
from ironic_traits.db.models import volume_connectors, volume_targets
from ironic_traits.inventory.records import Kind


def _decide(connection, node, old, new):
    # A node of which nobody knows better may be off.
    if old is not None and node.power_state not in (None, 'power off'):
        raise failures.InvalidInput(
            reason=f'The requested action "volume resource {"deletion" if new is None else "update"}" can not be '
            f'performed on node "{node.uuid}" while it is in state "{node.power_state}".'
        )


CONNECTORS = Kind(
    volume_connectors,
    'volume connector',
    {'node_uuid': None, 'type': None, 'connector_id': None, 'extra': {}},
    {'connector_id': 'with type {type} and connector ID {connector_id}'},
    _decide,
    'baremetal:volume:list_all',
)

TARGETS = Kind(
    volume_targets,
    'volume target',
    {'node_uuid': None, 'volume_type': None, 'boot_index': None, 'volume_id': None, 'properties': {}, 'extra': {}},
    {'boot_index': "with boot index '{boot_index}' for the same node"},
    _decide,
    'baremetal:volume:list_all',
)
