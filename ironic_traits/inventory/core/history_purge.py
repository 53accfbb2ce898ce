"""Deletes old entries from the history of nodes, by number and by age, in short transactions.

Entries that are inserted at the same time are not affected: they are the newest.
"""

import datetime
from collections.abc import Callable, Iterator, Sequence

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.engine import Reader, ReaderAndWriter, Writer, retried
from ironic_traits.db.statements.types import clock

#: Maximum number of nodes whose entries one statement counts.
_NODES = 1000
#: Maximum number of entries that one transaction deletes.
_BATCH = 1000

_ENTRIES = tables.node_history.c
_COUNTED = (
    sa.select(_ENTRIES.node_uuid)
    .where(_ENTRIES.node_uuid.in_(sa.bindparam('uuids')))
    .group_by(_ENTRIES.node_uuid)
    .having(sa.func.count() > sa.bindparam('most'))
)
_NUMBERED = (
    sa.select(
        _ENTRIES.id,
        sa.func.row_number().over(partition_by=_ENTRIES.node_uuid, order_by=_ENTRIES.id.desc()).label('number'),
    )
    .where(_ENTRIES.node_uuid.in_(sa.bindparam('uuids')))
    .subquery()
)
_BEYOND = sa.select(_NUMBERED.c.id).where(_NUMBERED.c.number > sa.bindparam('most')).order_by(_NUMBERED.c.id)
_DELETE = sa.delete(tables.node_history).where(_ENTRIES.id.in_(sa.bindparam('ids')))


def purge(
    service: ReaderAndWriter, max_entries: int, max_days: int, is_stopped: Callable[[], bool] = lambda: False
) -> int:
    """Delete old entries.

    :param max_entries: number of entries of a node to keep; 0 for no limit. Deleted nodes have no such limit.
    :param max_days: age of entries to delete; 0 for no limit.
    :param is_stopped: function that returns whether to stop before the next transaction.
    :returns: the number of deleted entries.
    """
    deleted = 0
    for ids in _batches(service, max_entries, max_days):
        if is_stopped():
            break
        deleted += _delete(service, ids)
    return deleted


def _batches(service: Reader, max_entries: int, max_days: int) -> Iterator[Sequence[int]]:
    """Yield the ids of entries to delete, at most _BATCH at a time."""
    if max_days:
        yield from _older(service, max_days)
    if max_entries:
        for uuids in _nodes(service):
            ids = _beyond(service, uuids, max_entries)
            for start in range(0, len(ids), _BATCH):
                yield ids[start : start + _BATCH]


def _older(service: Reader, days: int) -> Iterator[Sequence[int]]:
    with service.read() as connection:
        # The earliest time that all databases can store is far enough in the past.
        days = min(days, 365 * 1000)
        until = connection.execute(sa.select(clock())).scalar_one() - datetime.timedelta(days=days)
    statement = sa.select(_ENTRIES.id).where(_ENTRIES.created_at < until).order_by(_ENTRIES.created_at).limit(_BATCH)
    while True:
        with service.read() as connection:
            ids = connection.scalars(statement).all()
        if not ids:
            return
        yield sorted(ids)


def _nodes(service: Reader) -> Iterator[Sequence[str]]:
    """Yield the uuids of all nodes, at most _NODES at a time."""
    columns, last = (tables.nodes.c.id, tables.nodes.c.uuid), 0
    while True:
        statement = sa.select(*columns).where(tables.nodes.c.id > last).order_by(tables.nodes.c.id).limit(_NODES)
        with service.read() as connection:
            rows = connection.execute(statement).all()
        if not rows:
            return
        last = rows[-1].id
        yield [row.uuid for row in rows]


def _beyond(service: Reader, uuids: Sequence[str], most: int) -> Sequence[int]:
    """Return the ids of the entries of nodes beyond the newest ones.

    :param most: number of the newest entries of each node.
    """
    with service.read() as connection:
        # Counting entries is quicker than numbering them, and most nodes have fewer entries.
        many = connection.scalars(_COUNTED, {'uuids': uuids, 'most': most}).all()
        return connection.scalars(_BEYOND, {'uuids': many, 'most': most}).all() if many else []


@retried
def _delete(service: Writer, ids: Sequence[int]) -> int:
    with service.write() as connection:
        return connection.execute(_DELETE, {'ids': ids}).rowcount
