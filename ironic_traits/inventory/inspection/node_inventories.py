"""The data of the last inspection of each node, and of the inspection before.

The data is one JSON document, ``{"inventory": {…}, "plugin_data": {…}}``, as Ironic shows it. It is stored compressed.
"""

import dataclasses
import datetime
import functools
import zlib
from collections.abc import Collection, Mapping
from typing import Any

import orjson
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Values
from ironic_traits.inventory.inspection import firmware

#: Level of zlib's compression. Higher levels take far longer, and hardly make the data smaller.
_LEVEL = 6


@dataclasses.dataclass(frozen=True)
class Inventory:
    """The data of one inspection of a node.

    :ivar json: the document as JSON, in bytes.
    :ivar received_at: when it was stored, by the database's clock.
    """

    json: bytes
    received_at: datetime.datetime

    @functools.cached_property
    def document(self) -> dict[str, Any]:
        """The document: {'inventory': {…}, 'plugin_data': {…}}."""
        return orjson.loads(self.json)


def read(connection: sa.Connection, node_id: int, previous: bool = False) -> Inventory | None:
    """Return the data of a node.

    :param node_id: primary key of the node.
    :param previous: whether to return the previous data instead of the last.
    :returns: Inventory; None if the node has no such data.
    """
    data, received_at = _columns(previous)
    statement = sa.select(data, received_at).where(tables.node_inventories.c.node_id == node_id)
    row = connection.execute(statement).first()
    return Inventory(zlib.decompress(row[0]), row[1]) if row and row[0] is not None else None


def document(connection: sa.Connection, node_id: int, previous: bool = False) -> dict[str, Any]:
    """Return the document of ``read``; {} if the node has no such data."""
    inventory = read(connection, node_id, previous)
    return inventory.document if inventory else {}


def read_all(connection: sa.Connection, node_ids: Collection[int]) -> dict[int, Inventory]:
    """Return the last data of nodes.

    :param node_ids: primary keys of nodes.
    :returns: {primary key: Inventory}, without the nodes that have no data.
    """
    table = tables.node_inventories.c
    statement = sa.select(table.node_id, table.data, table.received_at).where(table.node_id.in_(node_ids))
    return {row[0]: Inventory(zlib.decompress(row[1]), row[2]) for row in connection.execute(statement)}


def store(connection: sa.Connection, node_id: int, document: Mapping[str, Any], moment: datetime.datetime) -> None:
    """Store the data of a node. Its current data becomes the previous data.

    If the data equals the last data, only the time changes. Otherwise a ramdisk that sends its data twice would replace
    the data of the previous inspection.

    :param connection: connection of a writer that has taken the node's lock.
    :param node_id: primary key of the node.
    :param document: {'inventory': {…}, 'plugin_data': {…}}.
    :param moment: time by the database's clock.
    """
    table = tables.node_inventories
    data = _compressed(document)
    stored = connection.execute(sa.select(table.c.data, table.c.received_at).where(table.c.node_id == node_id)).first()
    if stored is None:
        row = {'node_id': node_id, 'received_at': moment, 'data': data, 'firmware': firmware.of_document(document)}
        connection.execute(sa.insert(table).values(row))
        return
    values: Values = {'received_at': moment}
    if stored.data != data:
        values |= {'data': data, 'previous_data': stored.data, 'previous_received_at': stored.received_at}
        values['firmware'] = firmware.of_document(document)
    connection.execute(sa.update(table).where(table.c.node_id == node_id).values(values))


def amend(
    connection: sa.Connection, node_id: int, document: Mapping[str, Any], moment: datetime.datetime | None = None
) -> None:
    """Replace the last data of a node with other data of the same inspection.

    :param connection: connection of a writer that has taken the node's lock.
    :param node_id: primary key of the node.
    :param document: {'inventory': {…}, 'plugin_data': {…}}.
    :param moment: time by the database's clock; None to keep the time.
    """
    table = tables.node_inventories
    values: Values = {'data': _compressed(document), 'firmware': firmware.of_document(document)}
    values |= {'received_at': moment} if moment else {}
    connection.execute(sa.update(table).where(table.c.node_id == node_id).values(values))


def _compressed(document: Mapping[str, Any]) -> bytes:
    return zlib.compress(orjson.dumps(document), _LEVEL)


def _columns(previous: bool) -> tuple[sa.Column, sa.Column]:
    table = tables.node_inventories.c
    return (table.previous_data, table.previous_received_at) if previous else (table.data, table.received_at)
