"""The allocations of clouds, as ironic-traits-mirror has read them.

An allocation that holds a node is stored only while the ``allocation_uuid`` of the node in this service is its uuid.
``allocation_uuid`` is read together with the node's ``instance_uuid``. ``mirrored_nodes`` deletes the allocation in the
transaction that changes ``allocation_uuid``. Therefore a node never has an allocation of a cloud together with a holder
in this service.
"""

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Values
from ironic_traits.inventory.holds.allocations import ALLOCATING, ERROR, KIND
from ironic_traits.inventory.mirrored import mirror_clouds, mirrored_nodes, mirrored_records
from ironic_traits.inventory.mirrored.mirror_clouds import Turn, owner
from ironic_traits.inventory.mirrored.mirror_uniqueness import Holder, StoreResult
from ironic_traits.inventory.mirrored.mirrored_records import RecordCheck

RESOURCE = KIND.resource.path
TABLE = tables.node_allocations


def store(context: Context, turn: Turn, rows: Sequence[Values], is_final: bool = False) -> StoreResult:
    """Store new and changed allocations of a cloud, as ``mirrored_records.store`` does.

    Allocations are also deferred if the data of their nodes in this service is outdated.
    """
    return mirrored_records.store(context, turn, _AllocationCheck, KIND, rows, is_final)


def absent(context: Context, uuids: Collection[str]) -> set[str]:
    """Return the uuids for which no allocation is stored."""
    with context.read() as connection:
        return set(uuids).difference(connection.scalars(sa.select(TABLE.c.uuid).where(TABLE.c.uuid.in_(list(uuids)))))


class _AllocationCheck(RecordCheck):
    """Checks which allocations of a cloud can be stored.

    An allocation that holds a node needs a node with its uuid as ``allocation_uuid``.
    """

    def _foreign(self, uuids: Collection[str]) -> dict[str, str]:
        is_other = sa.func.coalesce(TABLE.c.origin, '') != self._turn.cloud
        statement = sa.select(TABLE.c.uuid, TABLE.c.origin).where(TABLE.c.uuid.in_(list(uuids)), is_other)
        return {
            row.uuid: f'{owner(row.origin)} has an allocation with this uuid, which is left as it is.'
            for row in self._connection.execute(statement)
        }

    def _with_nodes(self, rows: Sequence[Values], is_final: bool) -> list[Values]:
        self._left_out = mirror_clouds.reported(self._connection, self._turn.cloud, [row['node_uuid'] for row in rows])
        return [row for row in rows if self._is_of_node(row, is_final)]

    def _is_of_node(self, row: Values, is_final: bool) -> bool:
        """Whether the allocation has no node, or its node has this allocation in this service."""
        outdated = mirrored_nodes.RESOURCE, row['node_uuid']
        if row['node_uuid'] is None:
            return True
        node = self._nodes.get(row['node_uuid'])
        if node and node.origin == self._turn.cloud:
            if node.allocation_uuid == row['uuid']:
                return True
            if is_final or node.uuid in self._left_out:
                # A conflict, because the node may stay as it is. If it changes, its allocation is read with it.
                self.reasons[row['uuid']] = f'Its node {node.uuid} does not have it in this service.'
            else:
                self.deferred[row['uuid']] = outdated
        elif node or is_final or row['node_uuid'] in self._left_out:
            reason = f'Its node {row["node_uuid"]} is not one of cloud {self._turn.cloud} in this service.'
            self.reasons[row['uuid']] = reason
        else:
            self.deferred[row['uuid']] = outdated
        return False

    def _reason(self, row: Values, name: str, holder: Holder) -> str:
        return f'{owner(holder.origin)} has an allocation named {row[name]}: the mirrored allocation has no name.'


def adopt(connection: sa.Connection, node: sa.Row) -> Values:
    """Make the allocation of a mirrored node this service's own. Return the resulting changes of the node.

    :param node: row with ``uuid`` and ``instance_uuid``.
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
