"""Values that only one item may have: names, instances and MAC addresses.

In a cloud, each value is unique at each moment. But items are read one after another. If an item gets a value that
another item of its cloud has in this service, the data of the other one is outdated. The item is *deferred*: the mirror
reads both again, and stores them together. If the other item belongs to another cloud, or to this service itself, or if
it still has the value, this is a *conflict*, which is reported.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Values
from ironic_traits.inventory.mirrored.mirror_clouds import Turn

#: {table: columns with unique values}.
_UNIQUE: dict[str, tuple[str, ...]] = {
    'nodes': ('name', 'instance_uuid'),
    'portgroups': ('name', 'address'),
    'ports': ('name', 'address'),
    'node_allocations': ('name',),
}


class StoreResult(NamedTuple):
    """The result of storing items.

    :ivar written: number of items that were inserted or changed.
    :ivar deferred: items that can be stored only after the outdated data of another item, or of the same one:
        {uuid: (resource, uuid of the outdated item)}.
    """

    written: int
    deferred: Mapping[str, tuple[str, str]]


class Holder(NamedTuple):
    """An item in this service that has a unique value.

    :ivar node_uuid: its node, or itself; None for an allocation without a node.
    :ivar origin: the cloud of the node, or of the allocation; None for this service itself.
    """

    uuid: str
    node_uuid: str | None
    origin: str | None


def columns(table: sa.Table) -> tuple[str, ...]:
    """Return the columns of a table whose values are unique."""
    return _UNIQUE.get(table.name, ())


def check(
    connection: sa.Connection, turn: Turn, table: sa.Table, rows: Sequence[Values], is_final: bool
) -> tuple[dict[str, str], dict[str, dict[str, Holder]]]:
    """Find the items of a cloud whose unique values other items have.

    :param rows: [{column: value}, …] of the items that are to be stored together.
    :param is_final: whether the data of all items of the cloud counts as current, so that no item is deferred.
    :returns: ({uuid of a deferred item: uuid of the outdated item}, {uuid: {column: Holder}} of conflicts).
    """
    stored_holders = {name: _holders(connection, table, name, [row[name] for row in rows]) for name in columns(table)}
    taken: dict[str, dict[str, Holder]] = {}
    for name in stored_holders:
        for uuid, newer in _repeated(rows, name).items():
            taken.setdefault(uuid, {})[name] = Holder(newer['uuid'], newer.get('node_uuid'), turn.cloud)
    deferred = {} if is_final else {uuid: uuid for uuid in taken}
    while True:
        stored = {row['uuid'] for row in rows} - deferred.keys()
        found = {
            (row['uuid'], name): holder
            for row in rows
            for name, holders in stored_holders.items()
            if row['uuid'] in stored and (holder := holders.get(row[name])) and holder.uuid not in stored
        }
        outdated = {uuid: holder.uuid for (uuid, _), holder in found.items() if holder.origin == turn.cloud}
        if is_final or not outdated:
            break
        # What they have in this service stays as it is, so further items may have to be deferred.
        deferred |= outdated
    for (uuid, name), holder in found.items():
        taken.setdefault(uuid, {})[name] = holder
    return deferred, {uuid: holders for uuid, holders in taken.items() if uuid not in deferred}


def _holders(connection: sa.Connection, table: sa.Table, name: str, values: Sequence[str | None]) -> dict[str, Holder]:
    """Return the items in this service that have some values of a column, {value: Holder}."""
    nodes = tables.nodes
    node_uuid = table.c.get('node_uuid', nodes.c.uuid)
    origin = table.c.get('origin', nodes.c.origin)
    statement = sa.select(table.c[name], table.c.uuid, node_uuid, origin).where(table.c[name].in_({*values} - {None}))
    if origin.table is not table:
        statement = statement.join(nodes, nodes.c.uuid == node_uuid)
    return {row[0]: Holder(*row[1:]) for row in connection.execute(statement)}


def _repeated(rows: Sequence[Values], name: str) -> dict[str, Values]:
    """Return the items whose value of a column another item has got since, {uuid: the other item}."""
    newest: dict[str, Values] = {}
    repeated = {}
    for row in sorted(rows, key=lambda row: str(row['updated_at'] or row['created_at']), reverse=True):
        if row[name] is not None and newest.setdefault(row[name], row) is not row:
            repeated[row['uuid']] = newest[row[name]]
    return repeated


def store_batches(
    store: Callable[[Sequence[Values]], StoreResult], rows: Sequence[Values], size: int, what: str
) -> StoreResult:
    """Store items in batches. If another transaction has written the same value meanwhile, store each on its own.

    :param store: function that stores a batch in one transaction.
    """
    results = []
    for batch in (rows[start : start + size] for start in range(0, len(rows), size)):
        try:
            results.append(store(batch))
        except (db_exception.DBDuplicateEntry, db_exception.DBReferenceError):
            uuid = batch[0]['uuid']
            single = len(batch) == 1
            results.append(StoreResult(0, {uuid: (what, uuid)}) if single else store_batches(store, batch, 1, what))
    return total(results)


def total(results: Sequence[StoreResult]) -> StoreResult:
    """Return the sum of results."""
    deferred = {uuid: outdated for each in results for uuid, outdated in each.deferred.items()}
    return StoreResult(sum(each.written for each in results), deferred)
