"""The ports of a node after an inspection."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Values
from ironic_traits.db.statements.insert import insert_missing
from ironic_traits.db.statements.types import now
from ironic_traits.deploy.inspected_interfaces import PortChanges
from ironic_traits.inventory.records.ports import PORTS, adopt_network, check_networks
from ironic_traits.inventory.records.records import new_row, stored

_COLUMNS = tuple(
    tables.ports.c[name]
    for name in (
        'id', 'address', 'pxe_enabled', 'extra', 'node_uuid', 'portgroup_uuid',
        'local_link_connection', 'physical_network',
    )
)  # fmt: skip


def write(connection: sa.Connection, node_uuid: str, ports: PortChanges, max_ports: int) -> list[str]:
    """Add, change and delete the ports of a node.

    :param connection: connection of a writer that has taken the node's lock.
    :param node_uuid: uuid of the node.
    :param max_ports: maximum number of ports of the node; further ones are not added.
    :returns: sentences about what was left out.
    """
    table = tables.ports
    is_ours = table.c.node_uuid == node_uuid
    present = set(connection.scalars(sa.select(table.c.address).where(is_ours)))
    new = [mac for mac in ports.added if mac not in present]
    added = new[: max(0, max_ports - len(present))]
    insert_missing(connection, table, [_row(node_uuid, mac, ports.added[mac]) for mac in added])
    ours: list[sa.Row] = []
    others: list[sa.Row] = []
    # Read after the INSERT: another transaction may have just added a port with this address to another node.
    for row in connection.execute(sa.select(*_COLUMNS).where(sa.or_(is_ours, table.c.address.in_(added)))):
        (ours if row.node_uuid == node_uuid else others).append(row)
    kept = [row for row in ours if ports.kept is None or row.address in ports.kept]
    if gone := [row.id for row in ours if row not in kept]:
        connection.execute(sa.delete(table).where(table.c.id.in_(gone)))
    networks, problems = _networks(connection, kept, ports)
    for row in kept:
        if changes := _changes(row, ports) | networks.get(row.address, {}):
            connection.execute(sa.update(table).where(table.c.id == row.id).values(changes | {'updated_at': now()}))
    if omitted := len(new) - len(added):
        problems.append(
            f'{omitted} network interfaces got no port, because [inspection] max_ports is {max_ports}. '
            'Raise it if the node really has so many.'
        )
    return [
        f'No port was added for the MAC address {mac}, because a port of another node has it.'
        for mac in sorted(row.address for row in others)
    ] + problems


def _networks(
    connection: sa.Connection, rows: Sequence[sa.Row], ports: PortChanges
) -> tuple[dict[str, Values], list[str]]:
    """Return the changes of physical networks: {MAC address: changes}, and sentences about what is left out.

    All ports of a portgroup have the same physical network. Otherwise those of its ports stay.
    """
    changes = {
        row.address: {'physical_network': network}
        for row in rows
        if (network := ports.networks.get(row.address)) and network != row.physical_network
    }
    problems = []
    for group in sorted({row.portgroup_uuid for row in rows if row.address in changes and row.portgroup_uuid}):
        members = sorted(
            (row for row in rows if row.portgroup_uuid == group), key=lambda row: row.address not in changes
        )
        networks = [ports.networks.get(row.address) or row.physical_network for row in members]
        try:
            check_networks(connection, group, networks)
            adopt_network(connection, group, networks[0])
        except failures.OtherNetwork as error:
            problems.append(f'The physical networks of ports were left as they are: {error}')
            changes = {mac: each for mac, each in changes.items() if mac not in {row.address for row in members}}
    return changes, problems


def _row(node_uuid: str, mac: str, port: Mapping[str, Any]) -> Values:
    defaults = {name: value for name, value in PORTS.settable.items() if value is not None}
    return stored(PORTS, new_row(PORTS, {**defaults, **port, 'node_uuid': node_uuid, 'address': mac}))


def _changes(row: sa.Row, ports: PortChanges) -> Values:
    changes: Values = {}
    is_booting = ports.booting is not None and row.address in ports.booting
    if ports.booting is not None and row.pxe_enabled != is_booting:
        changes['pxe_enabled'] = is_booting
    client_id = ports.client_ids.get(row.address)
    if client_id and row.extra.get('client-id') != client_id:
        changes['extra'] = row.extra | {'client-id': client_id}
    if missing := ports.links.get(row.address, {}).keys() - row.local_link_connection.keys():
        link = {key: ports.links[row.address][key] for key in sorted(missing)}
        changes['local_link_connection'] = row.local_link_connection | link
    return changes
