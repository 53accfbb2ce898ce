"""Portgroups: bonded ports of a node."""

import sqlalchemy as sa

from ironic_traits import failures, resources
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Values
from ironic_traits.inventory.core.single_node import take
from ironic_traits.inventory.records.record_kinds import UNUSED, Kind


def _decide(connection: sa.Connection, node: sa.Row | None, old: Values | None, new: Values | None) -> None:
    if old is None or node is None:
        return
    if new is not None and new['node_uuid'] == old['node_uuid']:
        if new['physical_network'] != old['physical_network']:
            _connect_ports(connection, new)
        return
    # The result is valid until the commit: a port joins a portgroup only under the node's lock, which is held here.
    if connection.execute(
        sa.select(tables.ports.c.id).where(tables.ports.c.portgroup_uuid == old['uuid']).limit(1)
    ).first():
        raise failures.NotEmpty(what=f'portgroup {old["uuid"]}', members='ports')
    if new is not None:
        _check_target(connection, new)


def _check_target(connection: sa.Connection, portgroup: Values) -> None:
    """Raise a failure unless a portgroup may move to its new node."""
    try:
        node = take(connection, portgroup['node_uuid'], tables.nodes.c.provision_state, tables.nodes.c.maintenance)
    except failures.NodeNotFound as error:
        raise failures.InvalidInput(reason=str(error)) from error
    if node.provision_state not in UNUSED and not node.maintenance:
        raise failures.InvalidState(
            reason=f'Portgroup {portgroup["uuid"]} can not be associated to node {node.uuid} unless the node is in a '
            f"{', '.join(UNUSED)} state or in maintenance mode. Current state is '{node.provision_state}'."
        )


def _connect_ports(connection: sa.Connection, portgroup: Values) -> None:
    """Move the ports of a portgroup to its physical network, because all of them must be on the same network."""
    connection.execute(
        sa.update(tables.ports)
        .where(tables.ports.c.portgroup_uuid == portgroup['uuid'])
        .values(physical_network=portgroup['physical_network'])
    )


PORTGROUPS = Kind(
    resource=resources.PORTGROUPS,
    duplicates={'name': 'with name {name}', 'address': 'with MAC address {address}'},
    decide=_decide,
    list_all='baremetal:portgroup:list_all',
)
