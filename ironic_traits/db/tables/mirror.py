"""The tables of the clouds that ``ironic-traits-mirror`` follows. Mirrored nodes have the cloud in ``nodes.origin``."""

import sqlalchemy as sa

from ironic_traits.db.statements.types import Json, ascii_string, exact_string, long_text, timestamp
from ironic_traits.db.tables.base import metadata

# Maximum number of characters of the name of a cloud: "mirror:NAME" is the name of a source.
MAX_CLOUD_NAME = 57

mirror_clouds = sa.Table(
    'mirror_clouds',
    metadata,
    sa.Column('name', ascii_string(MAX_CLOUD_NAME), primary_key=True),
    sa.Column('endpoint', long_text()),
    # The negotiated version of the API there.
    sa.Column('version', ascii_string(16)),
    # Id of the mirror process that has the turn; NULL if none has it.
    sa.Column('lease', ascii_string(36)),
    sa.Column('leased_until', timestamp()),
    # The host and the process id of that process, for operators.
    sa.Column('holder', exact_string(255)),
    # {resource: where to continue reading}, see ironic_traits/mirror/feed.py.
    sa.Column('cursors', Json, nullable=False),
    # Number of nodes that the current full pass has read; NULL if no pass is in progress.
    sa.Column('pass_nodes', sa.Integer),
    # When the last full pass ended.
    sa.Column('passed_at', timestamp()),
    # All writes there before this time are stored here. By the database's clock.
    sa.Column('current_at', timestamp()),
    sa.Column('failing_since', timestamp()),
    sa.Column('last_error', long_text()),
    # Since the first run of the mirror: numbers of requests to the cloud, and of nodes and records written here.
    sa.Column('requests', sa.BigInteger, nullable=False, server_default='0'),
    sa.Column('changes', sa.BigInteger, nullable=False, server_default='0'),
    # Number of nodes that wait for traits to be written there; NULL if traits are not written to the cloud.
    sa.Column('write_queue', sa.Integer),
    sa.Column('write_failing_since', timestamp()),
    sa.Column('write_error', long_text()),
    # Number of traits that were added or removed there since the first run of the mirror.
    sa.Column('trait_writes', sa.BigInteger, nullable=False, server_default='0'),
    # The value of [mirror] write of the last mirror (NULL for "nothing"), and the one that an operator has confirmed.
    sa.Column('write', ascii_string(64)),
    sa.Column('confirmed_writes', ascii_string(64)),
    mysql_engine='InnoDB',
)

# The inspections of mirrored nodes whose data the mirror has requested.
mirror_inspections = sa.Table(
    'mirror_inspections',
    metadata,
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id', ondelete='CASCADE'), primary_key=True),
    # ``inspection_finished_at`` of the node when its data was requested.
    sa.Column('finished_at', timestamp(), nullable=False),
    mysql_engine='InnoDB',
)

# Items of a cloud that the inventory cannot store as they are there, such as a second node with the same name.
mirror_conflicts = sa.Table(
    'mirror_conflicts',
    metadata,
    sa.Column(
        'cloud',
        ascii_string(MAX_CLOUD_NAME),
        sa.ForeignKey('mirror_clouds.name', ondelete='CASCADE'),
        primary_key=True,
    ),
    # Uuid of the item there.
    sa.Column('uuid', ascii_string(36), primary_key=True),
    sa.Column('resource', ascii_string(16), nullable=False),
    sa.Column('reason', long_text(), nullable=False),
    sa.Column('since', timestamp(), nullable=False),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

# The traits that this service has written to nodes of clouds, or is about to:
# see ironic_traits/matching/written_traits.py.
mirror_written_traits = sa.Table(
    'mirror_written_traits',
    metadata,
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id', ondelete='CASCADE'), primary_key=True),
    sa.Column('trait', ascii_string(255), primary_key=True),
    # The cloud of the node.
    sa.Column('cloud', ascii_string(MAX_CLOUD_NAME), nullable=False),
    sa.Column('state', ascii_string(8), nullable=False),
    # When the trait got this state, or when the last request was sent, by the database's clock.
    sa.Column('since', timestamp(), nullable=False),
    # Why the cloud differs from the sources here, as a sentence.
    sa.Column('reason', long_text()),
    sa.Index('mirror_written_traits_cloud_idx', 'cloud', 'state'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

# Mirrored nodes that are also held in their cloud, by their instance_uuid there (inventory/holds/mirror_claims.py).
mirror_claims = sa.Table(
    'mirror_claims',
    metadata,
    sa.Column('uuid', ascii_string(36), primary_key=True),
    sa.Column('cloud', ascii_string(MAX_CLOUD_NAME), nullable=False),
    sa.Column('node_uuid', ascii_string(36), sa.ForeignKey('nodes.uuid', ondelete='CASCADE'), nullable=False),
    # The instance_uuid of the node there.
    sa.Column('instance_uuid', ascii_string(36), nullable=False),
    # Uuid of the reservation, or of the row of node_allocations, that holds the node here. It may have ended.
    sa.Column('holder_uuid', ascii_string(36), nullable=False),
    sa.Column('state', ascii_string(16), nullable=False),
    # The time when the state ends at the latest; NULL for never. For a lost claim, the time when it was lost.
    sa.Column('deadline', timestamp()),
    sa.Column('created_at', timestamp(), nullable=False),
    sa.Index(None, 'cloud'),
    sa.Index(None, 'node_uuid'),
    sa.Index(None, 'holder_uuid'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

# Mirrored nodes that their cloud no longer shows, and whose deletion here waits for an operator.
mirror_missing_nodes = sa.Table(
    'mirror_missing_nodes',
    metadata,
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id', ondelete='CASCADE'), primary_key=True),
    # When the mirror noticed it, by the database's clock.
    sa.Column('since', timestamp(), nullable=False),
    # Whether an operator has confirmed the deletion.
    sa.Column('confirmed', sa.Boolean, nullable=False, default=False, server_default='0'),
    mysql_engine='InnoDB',
)

# What operators and rules here did to mirrored nodes that were deleted (inventory/mirrored/mirror_kept_nodes.py).
mirror_kept_nodes = sa.Table(
    'mirror_kept_nodes',
    metadata,
    sa.Column('uuid', ascii_string(36), primary_key=True),
    sa.Column('cloud', ascii_string(MAX_CLOUD_NAME), nullable=False),
    # ``created_at`` of the node in its cloud: a node that was created later is another machine.
    sa.Column('node_created_at', timestamp(), primary_key=True),
    # By the database's clock.
    sa.Column('deleted_at', timestamp(), nullable=False),
    # Whether an operator or another client has set some of it. The rest follows from the hardware.
    sa.Column('by_operators', sa.Boolean, nullable=False),
    sa.Column('kept', Json, nullable=False),
    sa.Index(None, 'deleted_at'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

# What this service has written to clouds, on nodes that are no longer mirrored
# (inventory/mirrored/mirror_leftovers.py).
mirror_leftovers = sa.Table(
    'mirror_leftovers',
    metadata,
    sa.Column('cloud', ascii_string(MAX_CLOUD_NAME), primary_key=True),
    sa.Column('node_uuid', ascii_string(36), primary_key=True),
    # 'trait' or 'instance'.
    sa.Column('kind', ascii_string(8), primary_key=True),
    # The trait, or the instance_uuid.
    sa.Column('item', ascii_string(255), primary_key=True),
    # When the mirror noticed that the cloud no longer shows the node; NULL if a command ended the mirroring.
    sa.Column('deleted_at', timestamp()),
    sa.Index(None, 'deleted_at'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)
