"""Takes nodes that a search has found: locks them, and checks them again under the locks."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import sqlalchemy as sa

from ironic_traits.changes import change_feed
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Columns, Condition
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.core import node_providers, node_selection, origins
from ironic_traits.inventory.core.single_node import MOMENT
from ironic_traits.inventory.holds import promised_nodes
from ironic_traits.inventory.search.group_search import GroupedNode

#: A row with ``id`` and ``uuid``, or a GroupedNode.
_Node = TypeVar('_Node', sa.Row, GroupedNode)


class Lost(Exception):
    """Another transaction has taken a node, has locked it, or has written the same key: an attempt must start again.

    :param was_searched: whether the nodes were searched in this attempt.
    """

    def __init__(self, was_searched: bool = True) -> None:
        super().__init__()
        self.was_searched = was_searched


def take_kept(
    connection: sa.Connection, kept: Sequence[sa.Row], conditions: Sequence[Condition], columns: Columns
) -> list[sa.Row]:
    """Take nodes that a search has found before, and read them; the result is as for ``NodeChoice.take``.

    :raises Lost: one of them is locked, does not exist any more, or does not fulfil the conditions any more.
    """
    if len(take_some(connection, kept, len(kept))) < len(kept):
        raise Lost
    return read_taken(connection, kept, conditions, columns)


def take_waiting(connection: sa.Connection, nodes: Sequence[sa.Row]) -> None:
    """Take nodes, in the order of their ids. Wait for those that other transactions have locked."""
    if len(nodes) > 1:
        node_selection.lock(connection, sorted(node.id for node in nodes))
    else:
        _raise_generations(connection, nodes)


def take_not_locked(connection: sa.Connection, candidates: Sequence[sa.Row], count: int) -> list[sa.Row]:
    """Take ``count`` nodes that no other transaction has locked, the best ones if possible.

    :param candidates: rows with ``id`` and ``uuid``, the best first.
    :raises Lost: too few are not locked.
    """
    chosen = take_some(connection, candidates[:count], count)
    if len(chosen) < count:
        chosen += take_some(connection, candidates[count:], count - len(chosen))
    if len(chosen) < count:
        raise Lost
    return chosen


def take_some(connection: sa.Connection, candidates: Sequence[_Node], count: int) -> list[_Node]:
    """Take up to ``count`` candidates as ``single_node.take`` does, without locked ones. Return those that are taken.

    The number of statements does not depend on the number of nodes.
    """
    parameters = {'ids': [node.id for node in candidates], 'most': count}
    if connection.dialect.name == 'postgresql':
        taken = set(connection.scalars(_TAKE_UNLOCKED, parameters | {'now': now()}))
        return [node for node in candidates if node.id in taken]
    locked = set(connection.scalars(_LOCK_UNLOCKED, parameters))
    chosen = [node for node in candidates if node.id in locked]
    _raise_generations(connection, chosen)
    return chosen


def _raise_generations(connection: sa.Connection, nodes: Sequence[_Node]) -> None:
    if nodes:
        connection.execute(_RAISE, {'ids': [node.id for node in nodes], 'now': now()})
        change_feed.record(connection, change_feed.NODE, [node.uuid for node in nodes])


def _lock_unlocked(nodes: sa.FromClause) -> sa.Select:
    # SELECT id FROM nodes WHERE id IN (1, 2) ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED
    # The databases lock every row that they read, even rows that a sort or a limit drops later. So this reads by
    # primary key, in its order, and stops at the limit. (SQLite has no row locks: SQLAlchemy omits FOR UPDATE there.)
    statement = sa.select(nodes.c.id).where(nodes.c.id.in_(sa.bindparam('ids'))).order_by(nodes.c.id)
    return statement.limit(sa.bindparam('most', type_=sa.Integer)).with_for_update(skip_locked=True)


_IDS = tables.nodes.c.id.in_(sa.bindparam('ids'))
_LOCK_UNLOCKED = prepared(_lock_unlocked(tables.nodes))
_RAISE = sa.update(tables.nodes).where(_IDS).values(origins.LOCKED)
_unlocked = _lock_unlocked(tables.nodes.alias('candidates')).cte('unlocked')
#: For PostgreSQL: lock, raise the generations and record the change in one statement.
_TAKE_UNLOCKED = prepared(
    change_feed.with_record(
        sa.update(tables.nodes)
        .where(tables.nodes.c.id.in_(sa.select(_unlocked.c.id)))
        .values(origins.LOCKED)
        .returning(tables.nodes.c.id, tables.nodes.c.uuid)
        .cte('taken')
    )
)
_TAKEN = (tables.nodes.c.id, tables.nodes.c.uuid, tables.nodes.c.origin)
_HAS_EXPIRED = (
    sa.exists()
    .where(tables.reservations.c.node_uuid == tables.nodes.c.uuid)
    .correlate(tables.nodes)
    .label('has_expired')
)


_NEWEST = promised_nodes.NEWEST.label('newest_promise')


def read_taken(
    connection: sa.Connection, nodes: Sequence[_Node], conditions: Iterable[Condition], columns: Columns
) -> list[sa.Row]:
    """Read nodes that are taken.

    :param conditions: conditions on nodes, which are checked under the locks.
    :returns: rows as from ``NodeChoice.take``.
    :raises Lost: a node does not exist any more, or does not fulfil the conditions.
    """
    # Each column once. A reservation of a node that fulfils the conditions has expired.
    all_columns = dict.fromkeys((*_TAKEN, *node_providers.BEFORE, _HAS_EXPIRED, _NEWEST, MOMENT, *columns))
    statement = prepared(sa.select(*all_columns).where(_IDS, *conditions))
    rows = {row.id: row for row in connection.execute(statement, {'ids': [node.id for node in nodes]})}
    if len(rows) < len(nodes):
        raise Lost
    return [rows[node.id] for node in nodes]
