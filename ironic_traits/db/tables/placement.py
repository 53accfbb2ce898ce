"""The tables of the Placement API."""

import sqlalchemy as sa

from ironic_traits.db.statements.types import ascii_string, exact_string, timestamp
from ironic_traits.db.tables.base import metadata, names_table, records_table

resource_classes = names_table('resource_classes')

resource_providers = records_table(
    'resource_providers',
    sa.Column('name', exact_string(200), nullable=False, unique=True),
    sa.Column('generation', sa.BigInteger, nullable=False, server_default='0'),
    # Trees refer to uuids, which never change, so that a provider's row has all values that the API shows.
    sa.Column('parent_provider_uuid', ascii_string(36), sa.ForeignKey('resource_providers.uuid')),
    sa.Column('root_provider_uuid', ascii_string(36), nullable=False),
    # The node, and its normalized resource class. Both are NULL for a provider that a client has created.
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id'), unique=True),
    sa.Column('resource_class_id', sa.Integer, sa.ForeignKey('resource_classes.id')),
    sa.Index(None, 'parent_provider_uuid'),
    sa.Index(None, 'root_provider_uuid'),
    sa.Index(None, 'resource_class_id'),
)


def _of_a_provider() -> sa.Column:
    """Return a column for the provider to which a row belongs. The row is deleted together with the provider."""
    return sa.Column(
        'resource_provider_id',
        sa.Integer,
        sa.ForeignKey('resource_providers.id', ondelete='CASCADE'),
        primary_key=True,
    )


# For a node's provider, these are only the foreign traits, not the node's own traits (invariant 6).
resource_provider_traits = sa.Table(
    'resource_provider_traits',
    metadata,
    _of_a_provider(),
    sa.Column('trait_id', sa.Integer, sa.ForeignKey('traits.id'), primary_key=True),
    sa.Index('resource_provider_traits_trait_id_idx', 'trait_id', 'resource_provider_id'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

# An aggregate has no row of its own: it is only a uuid.
resource_provider_aggregates = sa.Table(
    'resource_provider_aggregates',
    metadata,
    _of_a_provider(),
    sa.Column('aggregate_uuid', ascii_string(36), primary_key=True),
    sa.Index('resource_provider_aggregates_aggregate_uuid_idx', 'aggregate_uuid', 'resource_provider_id'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

# Nodes' providers have no rows here: their inventories are derived from the nodes (placement/inventory_usage.py).
inventories = sa.Table(
    'inventories',
    metadata,
    _of_a_provider(),
    sa.Column('resource_class_id', sa.Integer, sa.ForeignKey('resource_classes.id'), primary_key=True),
    sa.Column('total', sa.Integer, nullable=False),
    sa.Column('reserved', sa.Integer, nullable=False),
    sa.Column('min_unit', sa.Integer, nullable=False),
    sa.Column('max_unit', sa.Integer, nullable=False),
    sa.Column('step_size', sa.Integer, nullable=False),
    sa.Column('allocation_ratio', sa.Double, nullable=False),
    sa.Column('created_at', timestamp(), nullable=False),
    sa.Column('updated_at', timestamp()),
    sa.Index('inventories_resource_class_id_idx', 'resource_class_id', 'resource_provider_id'),
    mysql_engine='InnoDB',
)

consumers = records_table(
    'consumers',
    sa.Column('generation', sa.BigInteger, nullable=False, server_default='0'),
    sa.Column('project_id', exact_string(255), nullable=False),
    sa.Column('user_id', exact_string(255), nullable=False),
    # NULL for consumers from requests without a type (below version 1.38).
    sa.Column('consumer_type', ascii_string(255)),
    sa.Index(None, 'project_id', 'user_id'),
)

allocations = sa.Table(
    'allocations',
    metadata,
    sa.Column('consumer_id', sa.Integer, sa.ForeignKey('consumers.id'), primary_key=True),
    sa.Column('resource_provider_id', sa.Integer, sa.ForeignKey('resource_providers.id'), primary_key=True),
    sa.Column('resource_class_id', sa.Integer, sa.ForeignKey('resource_classes.id'), primary_key=True),
    sa.Column('used', sa.Integer, nullable=False),
    sa.Column('created_at', timestamp(), nullable=False),
    sa.Index('allocations_resource_provider_id_idx', 'resource_provider_id', 'resource_class_id', 'used'),
    sa.Index(None, 'resource_class_id'),
    mysql_engine='InnoDB',
)
