"""The traits that this service writes to nodes of clouds: pending writes, and records of earlier ones.

Only the mirror that has the turn for a cloud changes the records of its nodes (``mirror_clouds.renew``).
"""

import datetime
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.inventory.core import history
from ironic_traits.matching import written_traits
from ironic_traits.matching.sources import MIRROR, OPERATOR, Traits
from ironic_traits.matching.written_traits import OURS, REFUSED, REMOVED, REMOVING, WRITING, Record

_NODES, _RECORDS = tables.nodes, tables.mirror_written_traits
_TRAITS, _FURTHER, _WRITERS = tables.node_traits, tables.node_trait_sources, tables.trait_writers
#: Nodes in one statement.
_BATCH = 500


class Pending:
    """The pending writes to a node of a cloud.

    :ivar node_id: primary key of the node.
    :ivar uuid: uuid of the node.
    :ivar name: name of the node, or None.
    :ivar add: traits that sources in this service hold, and the node does not have in the cloud.
    :ivar remove: traits that this service has written, and that no source in this service holds any more.
    :ivar wait: traits to remove as soon as the request that adds them has certainly ended.
    :ivar forget: traits whose records are outdated.
    """

    def __init__(self, node_id: int, uuid: str, name: str | None) -> None:
        self.node_id, self.uuid, self.name = node_id, uuid, name
        self.add: list[str] = []
        self.remove: list[str] = []
        self.wait: list[str] = []
        self.forget: list[str] = []

    @property
    def operations(self) -> list[tuple[str, str]]:
        """The requests to send, [(REMOVING or WRITING, trait), …]. Removals come first, to make room."""
        return [(REMOVING, trait) for trait in self.remove] + [(WRITING, trait) for trait in self.add]


def find(connection: sa.Connection, node_ids: Collection[int]) -> dict[int, dict[str, Record]]:
    """Return the records of nodes, {node id: {trait: Record}}. Nodes without records are left out."""
    columns = _RECORDS.c
    statement = sa.select(columns.node_id, columns.trait, columns.state, columns.since, columns.reason)
    records: dict[int, dict[str, Record]] = {}
    for row in connection.execute(statement.where(columns.node_id.in_(list(node_ids)))):
        records.setdefault(row.node_id, {})[row.trait] = Record(row.state, row.since, row.reason)
    return records


#: The records of a node, the traits that it has in the cloud, and its traits in this service.
Facts = tuple[Mapping[str, Record], AbstractSet[str], Traits]


def after_read(context: Context, moment: datetime.datetime, facts: Facts) -> dict[str, Record | None]:
    """Return the changes of a node's records after the node was read, as ``written_traits.after_read`` does."""
    records, present, traits = facts
    settled = moment - datetime.timedelta(seconds=context.conf.mirror.overlap_seconds)
    return written_traits.after_read(records, present, _holders(traits), moment, settled)


def follow(context: Context, connection: sa.Connection, node: sa.Row, moment: datetime.datetime, facts: Facts) -> None:
    """Change the records of a node that was read. If traits were removed in the cloud, add an entry to its history.

    :param node: row with ``id``, ``uuid`` and ``origin`` of a node that is locked.
    """
    records, *_ = facts
    changes = after_read(context, moment, facts)
    write(connection, node.origin, node.id, changes)
    removed = [
        trait for trait, each in sorted(changes.items()) if each and each.state == REMOVED != records[trait].state
    ]
    if removed:
        event = (
            f'Another client has removed traits in cloud {node.origin} that sources in this service hold: '
            f'{", ".join(removed)}.'
        )
        columns = {'severity': history.WARNING, 'source': MIRROR + node.origin}
        history.record(connection, history.entry(context, node.uuid, moment, history.NODE, event, **columns))


def _holders(traits: Traits) -> dict[str, set[str]]:
    """Return the sources besides mirrors that hold the traits of a node, {trait: {source, …}}."""
    return {
        trait: {source for source in holds if not source.startswith(MIRROR)} for trait, holds in traits.holders.items()
    }


def write(connection: sa.Connection, cloud: str, node_id: int, changes: Mapping[str, Record | None]) -> None:
    """Store records of a node.

    :param connection: connection of a writer that has renewed the turn for the cloud.
    :param changes: {trait: Record; None to delete it}.
    """
    if not changes:
        return
    columns = _RECORDS.c
    connection.execute(sa.delete(_RECORDS).where(columns.node_id == node_id, columns.trait.in_(list(changes))))
    rows = [
        {'node_id': node_id, 'trait': trait, 'cloud': cloud, **record._asdict()}
        for trait, record in changes.items()
        if record
    ]
    if rows:
        connection.execute(sa.insert(_RECORDS), rows)


def forget(connection: sa.Connection, node_id: int) -> None:
    """Delete the records of a node that no longer belongs to the cloud."""
    connection.execute(sa.delete(_RECORDS).where(_RECORDS.c.node_id == node_id))


def pending(
    connection: sa.Connection, cloud: str, scope: str, until: datetime.datetime, uuids: Collection[str] | None = None
) -> dict[str, Pending]:
    """Return the pending writes to the nodes of a cloud, {uuid: Pending}, sorted by name and uuid.

    :param scope: whose traits are written, a value of [mirror] write.
    :param until: requests before this time have ended.
    :param uuids: uuids of the nodes to check; None for all.
    """
    held = _Holds(connection, cloud, scope)
    if uuids is None:
        found = _pending(connection, held, until, _NODES.c.origin == cloud)
    else:
        found, ordered = {}, sorted(uuids)
        for start in range(0, len(ordered), _BATCH):
            batch = _NODES.c.uuid.in_(ordered[start : start + _BATCH])
            found |= _pending(connection, held, until, sa.and_(_NODES.c.origin == cloud, batch))
    return {each.uuid: each for each in sorted(found.values(), key=lambda each: (each.name or '', each.uuid))}


def _pending(
    connection: sa.Connection, held: '_Holds', until: datetime.datetime, nodes: Condition
) -> dict[str, Pending]:
    found: dict[str, Pending] = {}

    def pending_of(row: sa.Row) -> Pending:
        return found.setdefault(row.uuid, Pending(row.id, row.uuid, row.name))

    for row in _by_trait(connection, _to_add(held, nodes)):
        pending_of(row).add.append(row.trait)
    for row in _by_trait(connection, _not_held(held, nodes)):
        if row.state not in OURS:
            pending_of(row).forget.append(row.trait)
        elif row.state == WRITING and row.since > until:
            pending_of(row).wait.append(row.trait)
        else:
            pending_of(row).remove.append(row.trait)
    return found


def _by_trait(connection: sa.Connection, statement: sa.Select) -> list[sa.Row]:
    return sorted(connection.execute(statement), key=lambda row: row.trait)


def _is_of_mirror(table: sa.Table) -> Condition:
    # Not LIKE, which ignores case on SQLite.
    return sa.func.substr(table.c.source, 1, len(MIRROR)) == MIRROR


class _Holds:
    """Conditions on rows of ``node_traits``.

    :param scope: whose traits are written, a value of [mirror] write.
    """

    def __init__(self, connection: sa.Connection, cloud: str, scope: str) -> None:
        self._source = MIRROR + cloud
        # With all sources, only the few writers of mirrors are left out.
        condition = _is_of_mirror(_WRITERS) if scope == written_traits.ALL else sa.true()
        writers = connection.execute(sa.select(_WRITERS.c.id, _WRITERS.c.source).where(condition)).all()
        others = [row for row in writers if not written_traits.is_written(scope, row.source)]
        self._others, self._other_sources = [row.id for row in others], sorted({row.source for row in others})
        self._of_cloud = [row.id for row in writers if row.source == self._source]
        self._has_unknown = written_traits.is_written(scope, OPERATOR)

    def in_service(self, since: sa.ColumnElement | None = None) -> Condition:
        """Return the condition that a source whose traits are written holds the trait.

        :param since: time after which the source has added it; None for any time.
        """
        writer = _TRAITS.c.writer_id
        # NULL stands for an unknown operator.
        known = sa.and_(writer.is_not(None), writer.not_in(self._others))
        first = sa.or_(writer.is_(None), known) if self._has_unknown else known
        further: list[Condition] = [_FURTHER.c.source.not_in(self._other_sources)]
        if since is not None:
            first = sa.and_(first, _TRAITS.c.since > since)
            further.append(_FURTHER.c.since > since)
        return sa.or_(first, self._further(*further))

    def in_cloud(self) -> Condition:
        """Return the condition that the mirror holds the trait: another client has added it in the cloud."""
        writer = _TRAITS.c.writer_id
        first = sa.and_(writer.is_not(None), writer.in_(self._of_cloud))
        return sa.or_(first, self._further(_FURTHER.c.source == self._source))

    def _further(self, *conditions: Condition) -> Condition:
        same = (_FURTHER.c.node_id == _TRAITS.c.node_id, _FURTHER.c.trait == _TRAITS.c.trait)
        return sa.exists().where(*same, *conditions).correlate_except(_FURTHER)


def _to_add(held: _Holds, nodes: Condition) -> sa.Select:
    """Return the SELECT of the traits that sources in this service hold, and nodes do not have in the cloud."""
    same = sa.and_(_RECORDS.c.node_id == _TRAITS.c.node_id, _RECORDS.c.trait == _TRAITS.c.trait)
    state = _RECORDS.c.state
    is_open = sa.or_(
        state.is_(None),
        state.in_((WRITING, REMOVING, REFUSED)),
        # A source in this service has added the trait again after another client removed it in the cloud.
        sa.and_(state == REMOVED, held.in_service(since=_RECORDS.c.since)),
    )
    # SELECT nodes.id, nodes.uuid, nodes.name, node_traits.trait FROM node_traits JOIN nodes ON … LEFT OUTER JOIN
    # mirror_written_traits ON … WHERE nodes.origin = 'berlin' AND (writer_id IS NULL OR writer_id NOT IN (7) OR EXISTS
    # (SELECT * FROM node_trait_sources …)) AND NOT (writer_id IN (7) OR EXISTS (…)) AND (state IS NULL OR …)
    return (
        sa.select(_NODES.c.id, _NODES.c.uuid, _NODES.c.name, _TRAITS.c.trait)
        .join(_NODES, _NODES.c.id == _TRAITS.c.node_id)
        .outerjoin(_RECORDS, same)
        .where(nodes, held.in_service(), ~held.in_cloud(), is_open)
    )


def _not_held(held: _Holds, nodes: Condition) -> sa.Select:
    """Return the SELECT of the records of traits that no source in this service holds."""
    same = (_TRAITS.c.node_id == _RECORDS.c.node_id, _TRAITS.c.trait == _RECORDS.c.trait)
    is_held = sa.exists().where(*same, held.in_service()).correlate(_RECORDS)
    columns = (_NODES.c.id, _NODES.c.uuid, _NODES.c.name, _RECORDS.c.trait, _RECORDS.c.state, _RECORDS.c.since)
    return sa.select(*columns).join(_NODES, _NODES.c.id == _RECORDS.c.node_id).where(nodes, ~is_held)
