"""Volume connectors (how a node connects to remote volumes) and volume targets (the volumes)."""

import functools

import sqlalchemy as sa

from ironic_traits import failures, resources
from ironic_traits.db.statements.annotations import Values
from ironic_traits.deploy import states
from ironic_traits.inventory.records.record_kinds import Kind


def _decide(what: str, connection: sa.Connection, node: sa.Row | None, old: Values | None, new: Values | None) -> None:
    """Raise InvalidTransition unless the node's state allows the update or the deletion of a volume resource.

    :param what: name of the kind, for the message.
    :raises failures.InvalidTransition: the node is not powered off. A deletion is also allowed in the provision states
        ``states.DELETABLE``.
    """
    if old is None or node is None or node.power_state == states.POWER_OFF:
        return
    if new is not None:
        raise failures.InvalidTransition(action=f'{what} update', node=node.uuid, state=node.power_state)
    if node.provision_state not in states.DELETABLE:
        raise failures.InvalidTransition(action=f'{what} deletion', node=node.uuid, state=node.power_state)


CONNECTORS = Kind(
    resource=resources.CONNECTORS,
    duplicates={'connector_id': 'with type {type} and connector ID {connector_id}'},
    decide=functools.partial(_decide, 'volume connector'),
    list_all='baremetal:volume:list_all',
)

TARGETS = Kind(
    resource=resources.TARGETS,
    duplicates={'boot_index': "with boot index '{boot_index}' for the same node"},
    decide=functools.partial(_decide, 'volume target'),
    list_all='baremetal:volume:list_all',
)
