"""The shards of nodes."""

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables


def count_nodes(context: Context) -> list[sa.Row]:
    """Count the nodes of each shard.

    :returns: [row with ``shard`` (None for the nodes without one) and ``count``, …], the largest first, as in Ironic,
        then sorted by shard, None first.
    """
    statement = sa.select(tables.nodes.c.shard, sa.func.count().label('count')).group_by(tables.nodes.c.shard)
    with context.read() as connection:
        return sorted(connection.execute(statement).all(), key=_place)


def _place(row: sa.Row) -> tuple[int, bool, str | None]:
    shard, count = row
    return -count, shard is not None, shard
