"""The chassis, portgroups, ports and allocations of clouds, as ironic-traits-mirror has read them."""

import datetime
import functools
from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Values
from ironic_traits.inventory.core.secrets import with_masks
from ironic_traits.inventory.holds import allocations
from ironic_traits.inventory.mirrored import mirror_clouds, mirror_uniqueness, mirrored_nodes
from ironic_traits.inventory.mirrored.mirror_clouds import Turn
from ironic_traits.inventory.mirrored.mirror_uniqueness import Holder, StoreResult, store_batches
from ironic_traits.inventory.records.chassis import CHASSIS
from ironic_traits.inventory.records.portgroups import PORTGROUPS
from ironic_traits.inventory.records.ports import PORTS
from ironic_traits.inventory.records.record_kinds import Kind
from ironic_traits.resources.values import differ

#: {name of the resource: Kind}. Each comes after those that it refers to.
KINDS = {kind.resource.path: kind for kind in (CHASSIS, PORTGROUPS, PORTS, allocations.KIND)}
#: Maximum number of records that one transaction writes.
BATCH = 200
#: Maximum number of items that ``written_before`` returns.
_LATEST = 5


def columns(kind: Kind) -> list[str]:
    """Return the names of the columns of a kind of records that a mirror writes, besides ``uuid``."""
    return [column.name for column in kind.table.c if column.name not in ('id', 'uuid', 'origin')]


def store(
    context: Context, turn: Turn, check: type['RecordCheck'], kind: Kind, rows: Sequence[Values], is_final: bool = False
) -> StoreResult:
    """Store new and changed records of a cloud.

    :param check: the class that checks which of them can be stored.
    :param rows: [{column: value} of ``columns`` and ``uuid``, …], each record once.
    :param is_final: whether to defer none of them. Those that cannot be stored are conflicts.
    :returns: the result. Records are also deferred if their node or portgroup is not stored yet.
    """
    origin = {'origin': turn.cloud} if 'origin' in kind.table.c else {}
    differing = _differing(context, turn, kind, [row | origin for row in rows])
    size = len(differing) or 1 if is_final else BATCH
    write = functools.partial(_store, context, turn, check, kind, is_final=is_final)
    return store_batches(write, differing, size, kind.resource.path)


def _differing(context: Context, turn: Turn, kind: Kind, rows: Sequence[Values]) -> list[Values]:
    with context.read() as connection:
        present = _present(connection, kind, [row['uuid'] for row in rows])
        conflicts = mirror_clouds.reported(connection, turn.cloud, [row['uuid'] for row in rows])
    return [row for row in rows if row['uuid'] in conflicts or _differs(present.get(row['uuid']), row)]


def _present(connection: sa.Connection, kind: Kind, uuids: Collection[str]) -> dict[str, sa.Row]:
    rows = connection.execute(sa.select(kind.table).where(kind.table.c.uuid.in_(list(uuids))))
    return {row.uuid: row for row in rows}


def _differs(present: sa.Row | None, row: Values) -> bool:
    return present is None or any(differ(value, getattr(present, name)) for name, value in row.items())


@retried
def _store(
    context: Context, turn: Turn, check_of: type['RecordCheck'], kind: Kind, batch: Sequence[Values], is_final: bool
) -> StoreResult:
    table, uuids = kind.table, [row['uuid'] for row in batch]
    with context.write() as connection:
        mirror_clouds.renew(connection, turn)
        nodes = mirrored_nodes.take_many(connection, {uuid for row in batch if (uuid := row.get('node_uuid'))})
        check = check_of(connection, turn, kind, nodes)
        admitted = check.admit(batch, is_final)
        left_out = check.reasons.keys() - {row['uuid'] for row in admitted}
        deleted = _delete_left_out(connection, turn, kind, left_out)
        present = _present(connection, kind, uuids)
        _vacate(connection, kind, [(present[row['uuid']], row) for row in admitted if row['uuid'] in present])
        new = [with_masks(table, row) for row in admitted if row['uuid'] not in present]
        if new:
            connection.execute(sa.insert(table), new)
        for row in admitted:
            if row['uuid'] in present and _differs(present[row['uuid']], row):
                # All columns, because some were vacated.
                connection.execute(sa.update(table).where(table.c.uuid == row['uuid']).values(with_masks(table, row)))
        mirror_clouds.report(connection, turn, kind.resource.path, set(uuids) - check.deferred.keys(), check.reasons)
        written = len(admitted) + deleted
        mirror_clouds.renew(connection, turn, changes=tables.mirror_clouds.c.changes + written)
        return StoreResult(written, check.deferred)


def _delete_left_out(connection: sa.Connection, turn: Turn, kind: Kind, uuids: Collection[str]) -> int:
    """Delete the earlier data of records that can no longer be stored, and return their number.

    Other records of the cloud may have the earlier values by now.
    """
    table = kind.table
    if not uuids or not kind.has_node:
        return 0
    ours = sa.select(tables.nodes.c.uuid).where(tables.nodes.c.origin == turn.cloud)
    same = table.c.uuid.in_(list(uuids)), table.c.node_uuid.in_(ours)
    return connection.execute(sa.delete(table).where(*same)).rowcount


def _vacate(connection: sa.Connection, kind: Kind, pairs: Sequence[tuple[sa.Row, Values]]) -> None:
    """Put placeholders into unique columns that change: two records may have exchanged their values."""
    table = kind.table
    for name in mirror_uniqueness.columns(table):
        ids = [present.id for present, row in pairs if getattr(present, name) not in (None, row[name])]
        if ids:
            placeholder = sa.null() if table.c[name].nullable else sa.func.substr(table.c.uuid, 20, 17)
            connection.execute(sa.update(table).where(table.c.id.in_(ids)).values({name: placeholder}))


class RecordCheck:
    """Checks which records of a cloud can be stored. See ``mirror_uniqueness``.

    :param nodes: {uuid: row with ``origin``} of the nodes of the records. The nodes are locked.
    :ivar reasons: {uuid: what conflicts, as a sentence}.
    :ivar deferred: as ``StoreResult.deferred``.
    """

    def __init__(self, connection: sa.Connection, turn: Turn, kind: Kind, nodes: Mapping[str, sa.Row]) -> None:
        self._connection, self._turn, self._kind, self._nodes = connection, turn, kind, nodes
        self.reasons: dict[str, str] = {}
        self.deferred: dict[str, tuple[str, str]] = {}

    def admit(self, batch: Sequence[Values], is_final: bool) -> list[Values]:
        """Return the records that can be stored now."""
        foreign = self._foreign([row['uuid'] for row in batch])
        self.reasons |= foreign
        admitted = [row for row in batch if row['uuid'] not in foreign]
        admitted = self._with_nodes(admitted, is_final) if 'node_uuid' in self._kind.table.c else admitted
        admitted = self._in_portgroups(admitted) if 'portgroup_uuid' in self._kind.table.c else admitted
        if is_final:
            for uuid, (resource, other) in self.deferred.items():
                self.reasons[uuid] = f'Its {resource.removesuffix("s")} {other} is not stored in this service.'
            self.deferred = {}
        return self._unique(admitted, is_final)

    def _foreign(self, uuids: Collection[str]) -> dict[str, str]:
        """Return the records in this service that are not of the cloud, {uuid: what conflicts}."""
        table, nodes = self._kind.table, tables.nodes
        same = nodes.c.uuid == table.c.node_uuid if self._kind.has_node else nodes.c.chassis_uuid == table.c.uuid
        statement = sa.select(table.c.uuid).join(nodes, same).where(table.c.uuid.in_(list(uuids)))
        is_other = sa.func.coalesce(nodes.c.origin, '') != self._turn.cloud
        reason = f'Another {self._kind.what} in this service has the same uuid.'
        return dict.fromkeys(self._connection.scalars(statement.where(is_other)), reason)

    def _with_nodes(self, rows: Sequence[Values], is_final: bool) -> list[Values]:
        """Return the records whose nodes can have them."""
        return [row for row in rows if self._has_node(row)]

    def _has_node(self, row: Values) -> bool:
        node = self._nodes.get(row['node_uuid'])
        if node is None:
            self.deferred[row['uuid']] = mirrored_nodes.RESOURCE, row['node_uuid']
        elif node.origin != self._turn.cloud:
            self.reasons[row['uuid']] = f'Its node {node.uuid} is not one of cloud {self._turn.cloud} in this service.'
        return node is not None and node.origin == self._turn.cloud

    def _in_portgroups(self, rows: Sequence[Values]) -> list[Values]:
        uuids = {row['portgroup_uuid'] for row in rows} - {None}
        columns = tables.portgroups.c
        present = set(self._connection.scalars(sa.select(columns.uuid).where(columns.uuid.in_(uuids))))
        absent = uuids - present
        self.deferred |= {
            row['uuid']: (PORTGROUPS.resource.name, row['portgroup_uuid'])
            for row in rows
            if row['portgroup_uuid'] in absent
        }
        return [row for row in rows if row['uuid'] not in self.deferred]

    def _unique(self, rows: Sequence[Values], is_final: bool) -> list[Values]:
        """Return the records without the values that other records have.

        A record that needs the value, such as a port its MAC address, is left out.
        """
        resource, table = self._kind.resource.path, self._kind.table
        outdated, taken = mirror_uniqueness.check(self._connection, self._turn, table, rows, is_final)
        self.deferred |= {uuid: (resource, other) for uuid, other in outdated.items()}
        for row in rows:
            if holders := taken.get(row['uuid']):
                self.reasons[row['uuid']] = ' '.join(self._reason(row, *each) for each in holders.items())
        return [
            row | dict.fromkeys(taken.get(row['uuid'], ()))
            for row in rows
            if row['uuid'] not in outdated and all(table.c[name].nullable for name in taken.get(row['uuid'], ()))
        ]

    def _reason(self, row: Values, name: str, holder: Holder) -> str:
        what = self._kind.what
        effect = f'the mirrored {what} has none' if self._kind.table.c[name].nullable else 'this one is left out'
        return f'A {what} of node {holder.node_uuid} has the same {name}, {row[name]}: {effect}.'


@retried
def delete(context: Context, turn: Turn, kind: Kind, uuids: Collection[str]) -> int:
    """Delete records that a cloud no longer has, and return their number.

    :param kind: a kind of records that belong to nodes, or the kind of allocations.
    """
    table = kind.table
    with context.write() as connection:
        mirror_clouds.renew(connection, turn)
        named = table.c.uuid.in_(list(uuids))
        if 'origin' in table.c:
            is_ours = table.c.origin == turn.cloud
        else:
            nodes = mirrored_nodes.take_many(
                connection, set(connection.scalars(sa.select(table.c.node_uuid).where(named)))
            )
            is_ours = table.c.node_uuid.in_([node.uuid for node in nodes.values() if node.origin == turn.cloud])
        mirror_clouds.report(connection, turn, kind.resource.path, uuids, {})
        deleted = connection.execute(sa.delete(table).where(named, is_ours)).rowcount
        mirror_clouds.renew(connection, turn, changes=tables.mirror_clouds.c.changes + deleted)
        return deleted


def uuids(context: Context, table: sa.Table, cloud: str) -> set[str]:
    """Return the uuids of the items of a cloud.

    :param table: table of nodes, or of records.
    """
    with context.read() as connection:
        return set(connection.scalars(_limited_to_cloud(sa.select(table.c.uuid), table, cloud)))


def count(context: Context, cloud: str) -> int:
    """Return the number of the nodes of a cloud."""
    with context.read() as connection:
        statement = sa.select(sa.func.count()).select_from(tables.nodes).where(tables.nodes.c.origin == cloud)
        return connection.execute(statement).scalar_one()


def _limited_to_cloud(statement: sa.Select, table: sa.Table, cloud: str) -> sa.Select:
    nodes = tables.nodes
    if 'origin' in table.c:
        return statement.where(table.c.origin == cloud)
    if 'node_uuid' in table.c:
        statement = statement.join(nodes, nodes.c.uuid == table.c.node_uuid)
    return statement if table is tables.chassis else statement.where(nodes.c.origin == cloud)


def written_before(
    context: Context, table: sa.Table, cloud: str, moment: datetime.datetime
) -> list[tuple[str, datetime.datetime]]:
    """Return the items of a cloud with the latest changes before a time, the latest first: [(uuid, time), …].

    :param table: table of nodes, or of records.
    :param moment: time by the cloud's clock, as the times in the result.
    """
    latest = sa.select(table.c.uuid, table.c.updated_at).where(table.c.updated_at < moment)
    statement = _limited_to_cloud(latest, table, cloud)
    with context.read() as connection:
        rows = connection.execute(statement.order_by(table.c.updated_at.desc()).limit(_LATEST))
        return [(row.uuid, row.updated_at) for row in rows]


def unknown(context: Context, table: sa.Table, cloud: str, created: Mapping[str, datetime.datetime | None]) -> set[str]:
    """Return the uuids of items that are neither stored nor reported as conflicts.

    An item that was deleted and created again with its uuid is not stored yet.

    :param created: {uuid: when the item was created; None for any time}.
    """
    conflicts = tables.mirror_conflicts.c
    with context.read() as connection:
        rows = connection.execute(sa.select(table.c.uuid, table.c.created_at).where(table.c.uuid.in_(list(created))))
        times = {row.uuid: {row.created_at, created[row.uuid]} - {None} for row in rows}
        present = {uuid for uuid, different in times.items() if len(different) < 2}
        reported = sa.select(conflicts.uuid).where(conflicts.cloud == cloud, conflicts.uuid.in_(list(created)))
        return created.keys() - present - set(connection.scalars(reported))
