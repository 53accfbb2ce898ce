"""The shards that nodes are in."""

import sqlalchemy as sa

from ironic_traits.db.models import nodes


def count_nodes(context):
    """Count the nodes of each shard.

    :returns: rows of ``shard`` (None for the nodes in none) and ``count``, by name.
    """
    statement = sa.select(nodes.c.shard, sa.func.count().label('count')).group_by(nodes.c.shard)
    with context.read() as connection:
        return sorted(connection.execute(statement).all(), key=lambda row: (row.shard is not None, row.shard))
