"""The allocations of clouds, as ironic-traits-mirror has read them.

An allocation that holds a node is stored only while the ``allocation_uuid`` of the node here is its uuid.
``allocation_uuid`` is read together with the node's ``instance_uuid``. ``mirrored_nodes`` deletes the allocation in the
transaction that changes ``allocation_uuid``. Therefore a node never has an allocation of a cloud together with a holder
here.
"""

from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.annotations import Values
from ironic_traits.db.engine import retried
from ironic_traits.inventory import mirror_clouds, mirrored_nodes
from ironic_traits.inventory.allocations import ALLOCATING, ERROR
from ironic_traits.inventory.mirror_clouds import Turn
from ironic_traits.inventory.mirrored_nodes import Stored
from ironic_traits.resources.values import differ

RESOURCE = 'allocations'
TABLE = tables.node_allocations
#: The columns that a mirror writes, besides ``uuid`` and ``origin``.
COLUMNS = tuple(column.name for column in TABLE.c if column.name not in ('id', 'uuid', 'origin'))
#: Maximum number of allocations that one transaction writes.
BATCH = 100


def store(context: Context, turn: Turn, rows: Sequence[Values]) -> Stored:
    """Store new and changed allocations of a cloud.

    :param rows: [{column: value} of COLUMNS and ``uuid``, …], each allocation once.
    :returns: the result. Allocations are deferred if the data of their nodes here is outdated.
    :raises mirror_clouds.TurnLost: another mirror follows the cloud by now. Nothing is written.
    """
    written, deferred = 0, set[str]()
    differing = _differing(context, turn, rows)
    for start in range(0, len(differing), BATCH):
        batch = differing[start : start + BATCH]
        try:
            stored = _store(context, turn, batch)
            written += stored.written
            deferred |= stored.deferred
        except (db_exception.DBDuplicateEntry, db_exception.DBReferenceError):
            # Another transaction has written the same name, or deleted the node, in the meantime.
            deferred |= {row['uuid'] for row in batch}
    return Stored(written, frozenset(deferred))


def _differing(context: Context, turn: Turn, rows: Sequence[Values]) -> list[Values]:
    uuids = [row['uuid'] for row in rows]
    with context.read() as connection:
        present = _present(connection, uuids)
        conflicts = mirror_clouds.reported(connection, turn.cloud, uuids)
    return [row for row in rows if row['uuid'] in conflicts or _differs(turn, present.get(row['uuid']), row)]


def absent(context: Context, uuids: Collection[str]) -> set[str]:
    """Return the uuids for which no allocation is stored."""
    with context.read() as connection:
        return set(uuids).difference(_present(connection, uuids))


def _present(connection: sa.Connection, uuids: Collection[str]) -> dict[str, sa.Row]:
    rows = connection.execute(sa.select(TABLE).where(TABLE.c.uuid.in_(list(uuids))))
    return {row.uuid: row for row in rows}


def _differs(turn: Turn, present: sa.Row | None, row: Values) -> bool:
    if present is None or present.origin != turn.cloud:
        return True
    return any(differ(row[name], getattr(present, name)) for name in COLUMNS)


@retried
def _store(context: Context, turn: Turn, batch: Sequence[Values]) -> Stored:
    uuids = [row['uuid'] for row in batch]
    with context.write() as connection:
        mirror_clouds.renew(connection, turn)
        nodes = mirrored_nodes.take_many(connection, {row['node_uuid'] for row in batch} - {None})
        present = _present(connection, uuids)
        check = _Check(connection, turn, nodes, present)
        admitted = check.admit(batch)
        changed = [row['uuid'] for row in admitted if row['uuid'] in present]
        if changed:
            # Two allocations may have exchanged their names.
            connection.execute(sa.update(TABLE).where(TABLE.c.uuid.in_(changed)).values(name=None))
        for row in admitted:
            values = row | {'origin': turn.cloud}
            is_new = row['uuid'] not in present
            connection.execute((sa.insert(TABLE) if is_new else _update(row['uuid'])).values(values))
        mirror_clouds.report(connection, turn, RESOURCE, uuids, check.reasons)
        mirror_clouds.renew(connection, turn, changes=tables.mirror_clouds.c.changes + len(admitted))
        return Stored(len(admitted), frozenset(check.deferred))


def _update(uuid: str) -> sa.Update:
    return sa.update(TABLE).where(TABLE.c.uuid == uuid)


class _Check:
    """Checks which allocations of a cloud can be stored. See ``mirror_admission``.

    :param nodes: {uuid: row with ``origin`` and ``allocation_uuid``} of the nodes that they hold. The nodes are locked.
    :param present: {uuid: row} of the allocations that are stored.
    :ivar reasons: {uuid: what conflicts, as a sentence}.
    :ivar deferred: uuids of allocations that are stored later.
    """

    def __init__(
        self, connection: sa.Connection, turn: Turn, nodes: Mapping[str, sa.Row], present: Mapping[str, sa.Row]
    ) -> None:
        self._connection, self._turn, self._nodes, self._present = connection, turn, nodes, present
        self.reasons: dict[str, str] = {}
        self.deferred: set[str] = set()

    def admit(self, batch: Sequence[Values]) -> list[Values]:
        """Return the allocations that can be stored now, with the values that can be stored."""
        self._left_out = mirror_clouds.reported(self._connection, self._turn.cloud, [row['node_uuid'] for row in batch])
        return self._with_unique_names([row for row in batch if self._is_ours(row) and self._has_node(row)])

    def _is_ours(self, row: Values) -> bool:
        present = self._present.get(row['uuid'])
        if present is None or present.origin == self._turn.cloud:
            return True
        owner = f'Cloud {present.origin}' if present.origin else 'This service'
        self.reasons[row['uuid']] = f'{owner} has an allocation with this uuid, which is left as it is.'
        return False

    def _has_node(self, row: Values) -> bool:
        """Whether the allocation has no node, or its node has this allocation here."""
        if row['node_uuid'] is None:
            return True
        node = self._nodes.get(row['node_uuid'])
        if node and node.origin == self._turn.cloud:
            if node.allocation_uuid == row['uuid']:
                return True
            if node.uuid in self._left_out:
                # A conflict, because the node may stay as it is. If it changes, its allocation is read with it.
                self.reasons[row['uuid']] = f'Its node {node.uuid} does not have it here.'
            else:
                self.deferred.add(row['uuid'])
        elif node or row['node_uuid'] in self._left_out:
            self.reasons[row['uuid']] = f'Its node {row["node_uuid"]} is not one of cloud {self._turn.cloud} here.'
        else:
            self.deferred.add(row['uuid'])
        return False

    def _with_unique_names(self, rows: Sequence[Values]) -> list[Values]:
        """Return allocations without the names that others here have, and without those that must be deferred."""
        by_name = {row['name']: row['uuid'] for row in rows if row['name'] is not None}
        statement = sa.select(TABLE.c.name, TABLE.c.origin).where(
            TABLE.c.name.in_(list(by_name)), TABLE.c.uuid.not_in([row['uuid'] for row in rows])
        )
        taken = {row.name: row.origin for row in self._connection.execute(statement)}
        for name, origin in taken.items():
            if origin == self._turn.cloud:
                self.deferred.add(by_name[name])
            else:
                owner = f'Cloud {origin}' if origin else 'This service'
                self.reasons[by_name[name]] = f'{owner} has an allocation named {name}: here, it has no name.'
        # If two allocations had the same name one after the other, the data of the first one is outdated.
        self.deferred |= {row['uuid'] for row in rows if row['name'] and by_name[row['name']] != row['uuid']}
        kept = [row for row in rows if row['uuid'] not in self.deferred]
        return [row | {'name': None} if row['name'] in taken else row for row in kept]


@retried
def delete(context: Context, turn: Turn, uuids: Collection[str]) -> int:
    """Delete allocations that a cloud no longer has, and return their number.

    :raises mirror_clouds.TurnLost: another mirror follows the cloud by now.
    """
    with context.write() as connection:
        mirror_clouds.renew(connection, turn)
        mirror_clouds.report(connection, turn, RESOURCE, uuids, {})
        same = TABLE.c.uuid.in_(list(uuids)), TABLE.c.origin == turn.cloud
        deleted = connection.execute(sa.delete(TABLE).where(*same)).rowcount
        mirror_clouds.renew(connection, turn, changes=tables.mirror_clouds.c.changes + deleted)
        return deleted


def adopt(connection: sa.Connection, node: sa.Row) -> Values:
    """Make the allocation of a mirrored node this service's own. Return the resulting changes of the node.

    :param connection: connection of a writer that has taken the node's lock.
    :param node: row with ``uuid`` and ``instance_uuid``.
    :returns: {column: value}.
    """
    same = TABLE.c.node_uuid == node.uuid, TABLE.c.origin.is_not(None)
    uuid = connection.scalar(sa.select(TABLE.c.uuid).where(*same))
    if uuid is None:
        return {}
    if uuid != node.instance_uuid:
        connection.execute(sa.delete(TABLE).where(*same))
        return {}
    connection.execute(sa.update(TABLE).where(*same).values(origin=None))
    return {'allocation_uuid': uuid}


@retried
def adopt_others(context: Context, clouds: Sequence[str]) -> None:
    """Make the allocations of clouds that hold no node this service's own.

    :param clouds: names of clouds; empty for all.
    """
    error = 'The allocation was adopted from its cloud before it got a node.'
    condition = TABLE.c.origin.in_(clouds) if clouds else TABLE.c.origin.is_not(None)
    with context.write() as connection:
        statement = sa.update(TABLE).where(condition, TABLE.c.node_uuid.is_(None))
        # This service does not choose nodes for allocations that wait.
        waiting = statement.where(TABLE.c.state == ALLOCATING)
        connection.execute(waiting.values(state=ERROR, last_error=error))
        connection.execute(statement.values(origin=None))
