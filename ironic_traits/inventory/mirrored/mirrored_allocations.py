"""The allocations of clouds, as ironic-traits-mirror has read them.

An allocation that holds a node is stored only while the ``allocation_uuid`` of the node here is its uuid.
``allocation_uuid`` is read together with the node's ``instance_uuid``. ``mirrored_nodes`` deletes the allocation in the
transaction that changes ``allocation_uuid``. Therefore a node never has an allocation of a cloud together with a holder
here.
"""

import functools
from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Values
from ironic_traits.inventory import mirror_uniqueness
from ironic_traits.inventory.holds.allocations import ALLOCATING, ERROR
from ironic_traits.inventory.mirror_uniqueness import Holder, Stored, store_batches
from ironic_traits.inventory.mirrored import mirror_clouds, mirrored_nodes
from ironic_traits.inventory.mirrored.mirror_clouds import Turn
from ironic_traits.resources.values import differ

RESOURCE = 'allocations'
TABLE = tables.node_allocations
#: The columns that a mirror writes, besides ``uuid`` and ``origin``.
COLUMNS = tuple(column.name for column in TABLE.c if column.name not in ('id', 'uuid', 'origin'))
#: Maximum number of allocations that one transaction writes.
BATCH = 100


def store(context: Context, turn: Turn, rows: Sequence[Values], is_final: bool = False) -> Stored:
    """Store new and changed allocations of a cloud.

    :param rows: [{column: value} of COLUMNS and ``uuid``, …], each allocation once.
    :param is_final: whether to defer none of them. What cannot be stored is a conflict.
    :returns: the result. Allocations are also deferred if the data of their nodes here is outdated.
    :raises mirror_clouds.TurnLost: another mirror follows the cloud by now. Nothing is written.
    """
    differing = _differing(context, turn, rows)
    size = len(differing) or 1 if is_final else BATCH
    return store_batches(functools.partial(_store, context, turn, is_final=is_final), differing, size, RESOURCE)


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
def _store(context: Context, turn: Turn, batch: Sequence[Values], is_final: bool) -> Stored:
    uuids = [row['uuid'] for row in batch]
    with context.write() as connection:
        mirror_clouds.renew(connection, turn)
        nodes = mirrored_nodes.take_many(connection, {row['node_uuid'] for row in batch} - {None})
        present = _present(connection, uuids)
        check = _Check(connection, turn, nodes, present)
        admitted = check.admit(batch, is_final)
        changed = [row['uuid'] for row in admitted if row['uuid'] in present]
        if changed:
            # Two allocations may have exchanged their names.
            connection.execute(sa.update(TABLE).where(TABLE.c.uuid.in_(changed)).values(name=None))
        for row in admitted:
            values = row | {'origin': turn.cloud}
            is_new = row['uuid'] not in present
            connection.execute((sa.insert(TABLE) if is_new else _update(row['uuid'])).values(values))
        mirror_clouds.report(connection, turn, RESOURCE, set(uuids) - check.deferred.keys(), check.reasons)
        mirror_clouds.renew(connection, turn, changes=tables.mirror_clouds.c.changes + len(admitted))
        return Stored(len(admitted), check.deferred)


def _update(uuid: str) -> sa.Update:
    return sa.update(TABLE).where(TABLE.c.uuid == uuid)


class _Check:
    """Checks which allocations of a cloud can be stored. See ``mirror_uniqueness``.

    :param nodes: {uuid: row with ``origin`` and ``allocation_uuid``} of the nodes that they hold. The nodes are locked.
    :param present: {uuid: row} of the allocations that are stored.
    :ivar reasons: {uuid: what conflicts, as a sentence}.
    :ivar deferred: as ``Stored.deferred``.
    """

    def __init__(
        self, connection: sa.Connection, turn: Turn, nodes: Mapping[str, sa.Row], present: Mapping[str, sa.Row]
    ) -> None:
        self._connection, self._turn, self._nodes, self._present = connection, turn, nodes, present
        self.reasons: dict[str, str] = {}
        self.deferred: dict[str, tuple[str, str]] = {}

    def admit(self, batch: Sequence[Values], is_final: bool) -> list[Values]:
        """Return the allocations that can be stored now, with the values that can be stored.

        :param is_final: see ``store``.
        """
        self._left_out = mirror_clouds.reported(self._connection, self._turn.cloud, [row['node_uuid'] for row in batch])
        rows = [row for row in batch if self._is_ours(row) and self._has_node(row, is_final)]
        outdated, taken = mirror_uniqueness.check(self._connection, self._turn, TABLE, rows, is_final)
        self.deferred |= {uuid: (RESOURCE, other) for uuid, other in outdated.items()}
        return [self._without(row, taken.get(row['uuid'], {})) for row in rows if row['uuid'] not in outdated]

    def _is_ours(self, row: Values) -> bool:
        present = self._present.get(row['uuid'])
        if present is None or present.origin == self._turn.cloud:
            return True
        owner = f'Cloud {present.origin}' if present.origin else 'This service'
        self.reasons[row['uuid']] = f'{owner} has an allocation with this uuid, which is left as it is.'
        return False

    def _has_node(self, row: Values, is_final: bool) -> bool:
        """Whether the allocation has no node, or its node has this allocation here."""
        outdated = mirrored_nodes.RESOURCE, row['node_uuid']
        if row['node_uuid'] is None:
            return True
        node = self._nodes.get(row['node_uuid'])
        if node and node.origin == self._turn.cloud:
            if node.allocation_uuid == row['uuid']:
                return True
            if is_final or node.uuid in self._left_out:
                # A conflict, because the node may stay as it is. If it changes, its allocation is read with it.
                self.reasons[row['uuid']] = f'Its node {node.uuid} does not have it here.'
            else:
                self.deferred[row['uuid']] = outdated
        elif node or is_final or row['node_uuid'] in self._left_out:
            self.reasons[row['uuid']] = f'Its node {row["node_uuid"]} is not one of cloud {self._turn.cloud} here.'
        else:
            self.deferred[row['uuid']] = outdated
        return False

    def _without(self, row: Values, holders: Mapping[str, Holder]) -> Values:
        """Return an allocation without the name that another one here has."""
        for name, holder in holders.items():
            owner = f'Cloud {holder.origin}' if holder.origin else 'This service'
            self.reasons[row['uuid']] = f'{owner} has an allocation named {row[name]}: here, it has no name.'
        return row | dict.fromkeys(holders)


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
