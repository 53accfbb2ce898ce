"""The shards of nodes."""

import sqlalchemy as sa

from ironic_traits.db.models import nodes


def count_nodes(context):
    """Count the nodes of each shard.

    :returns: [row with ``shard`` (None for the nodes without one) and ``count``, …], sorted by shard, None first.
    """
    statement = sa.select(nodes.c.shard, sa.func.count().label('count')).group_by(nodes.c.shard)
    with context.read() as connection:
        return sorted(connection.execute(statement).all(), key=lambda row: (row.shard is not None, row.shard))
