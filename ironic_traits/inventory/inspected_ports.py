"""The ports of a node after an inspection."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.annotations import Values
from ironic_traits.db.insert import insert_missing
from ironic_traits.db.types import now
from ironic_traits.deploy.inspected_interfaces import Ports
from ironic_traits.inventory.ports import PORTS
from ironic_traits.inventory.records import new_row, stored

_COLUMNS = tuple(tables.ports.c[name] for name in ('id', 'address', 'pxe_enabled', 'extra', 'node_uuid'))


def write(connection: sa.Connection, node_uuid: str, ports: Ports) -> list[str]:
    """Add, change and delete the ports of a node.

    :param connection: connection of a writer that has taken the node's lock.
    :param node_uuid: uuid of the node.
    :returns: sorted MAC addresses for which no port was added, because ports of other nodes have them.
    """
    table = tables.ports
    insert_missing(connection, table, [_row(node_uuid, mac, port) for mac, port in ports.added.items()])
    ours: list[sa.Row] = []
    others: list[sa.Row] = []
    is_ours = table.c.node_uuid == node_uuid
    # Read after the INSERT: another transaction may have just added a port with this address to another node.
    for row in connection.execute(sa.select(*_COLUMNS).where(sa.or_(is_ours, table.c.address.in_(list(ports.added))))):
        (ours if row.node_uuid == node_uuid else others).append(row)
    for row in ours:
        if ports.kept is not None and row.address not in ports.kept:
            connection.execute(sa.delete(table).where(table.c.id == row.id))
        elif changes := _changes(row, ports):
            connection.execute(sa.update(table).where(table.c.id == row.id).values(changes | {'updated_at': now()}))
    return sorted(row.address for row in others)


def _row(node_uuid: str, mac: str, port: Mapping[str, Any]) -> Values:
    defaults = {name: value for name, value in PORTS.settable.items() if value is not None}
    return stored(PORTS, new_row(PORTS, {**defaults, **port, 'node_uuid': node_uuid, 'address': mac}))


def _changes(row: sa.Row, ports: Ports) -> Values:
    changes: Values = {}
    is_booting = ports.booting is not None and row.address in ports.booting
    if ports.booting is not None and row.pxe_enabled != is_booting:
        changes['pxe_enabled'] = is_booting
    client_id = ports.client_ids.get(row.address)
    if client_id and row.extra.get('client-id') != client_id:
        changes['extra'] = row.extra | {'client-id': client_id}
    return changes
