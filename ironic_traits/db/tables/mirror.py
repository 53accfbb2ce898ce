"""The tables of the clouds that ``ironic-traits-mirror`` follows. Mirrored nodes have the cloud in ``nodes.origin``."""

import sqlalchemy as sa

from ironic_traits.db.tables.base import metadata
from ironic_traits.db.types import Json, ascii_string, exact_string, long_text, timestamp

# Maximum number of characters of the name of a cloud: "mirror:NAME" is the name of a source.
MAX_CLOUD_NAME = 57

mirror_clouds = sa.Table(
    'mirror_clouds',
    metadata,
    sa.Column('name', ascii_string(MAX_CLOUD_NAME), primary_key=True),
    sa.Column('endpoint', long_text()),
    # Of the API there, as it was negotiated.
    sa.Column('version', ascii_string(16)),
    # Id of the mirror process whose turn it is; NULL if none has it.
    sa.Column('lease', ascii_string(36)),
    sa.Column('leased_until', timestamp()),
    # The host and the process id of that process, for operators.
    sa.Column('holder', exact_string(255)),
    # {resource: where to continue reading}, see ironic_traits/mirror/feed.py.
    sa.Column('cursors', Json, nullable=False),
    # Nodes that the full pass has read, which is in progress; NULL if none is.
    sa.Column('pass_nodes', sa.Integer),
    # When the last full pass ended.
    sa.Column('passed_at', timestamp()),
    # Everything that was written there before this time is known here. By the database's clock.
    sa.Column('current_at', timestamp()),
    sa.Column('failing_since', timestamp()),
    sa.Column('last_error', long_text()),
    # Since the mirror first ran: requests to the cloud, and nodes and records that were written here.
    sa.Column('requests', sa.BigInteger, nullable=False, server_default='0'),
    sa.Column('changes', sa.BigInteger, nullable=False, server_default='0'),
    # Nodes that wait for traits to be written there; NULL if none are written.
    sa.Column('write_queue', sa.Integer),
    sa.Column('write_failing_since', timestamp()),
    sa.Column('write_error', long_text()),
    # Traits that were added or removed there since the mirror first ran.
    sa.Column('trait_writes', sa.BigInteger, nullable=False, server_default='0'),
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

# What a cloud has and the inventory cannot have as it is there, such as a second node of one name.
mirror_conflicts = sa.Table(
    'mirror_conflicts',
    metadata,
    sa.Column(
        'cloud',
        ascii_string(MAX_CLOUD_NAME),
        sa.ForeignKey('mirror_clouds.name', ondelete='CASCADE'),
        primary_key=True,
    ),
    # Of the node, port or portgroup there.
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
    # That of the node.
    sa.Column('cloud', ascii_string(MAX_CLOUD_NAME), nullable=False),
    sa.Column('state', ascii_string(8), nullable=False),
    # When it got this state, or when the last request was sent, by the database's clock.
    sa.Column('since', timestamp(), nullable=False),
    # Why the cloud does not have it as the sources here say, as a sentence.
    sa.Column('reason', long_text()),
    sa.Index('mirror_written_traits_cloud_idx', 'cloud', 'state'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

# Mirrored nodes that are held in their cloud, too, by their instance_uuid there (inventory/mirror_claims.py).
mirror_claims = sa.Table(
    'mirror_claims',
    metadata,
    sa.Column('uuid', ascii_string(36), primary_key=True),
    sa.Column('cloud', ascii_string(MAX_CLOUD_NAME), nullable=False),
    sa.Column('node_uuid', ascii_string(36), sa.ForeignKey('nodes.uuid', ondelete='CASCADE'), nullable=False),
    # The instance_uuid of the node there.
    sa.Column('instance_uuid', ascii_string(36), nullable=False),
    # Of the reservation, or of the row of node_allocations, that holds the node here. It may have ended.
    sa.Column('holder_uuid', ascii_string(36), nullable=False),
    sa.Column('state', ascii_string(16), nullable=False),
    # When the state ends, at the latest; NULL for never. When a lost claim was lost.
    sa.Column('deadline', timestamp()),
    sa.Column('created_at', timestamp(), nullable=False),
    sa.Index(None, 'cloud'),
    sa.Index(None, 'node_uuid'),
    sa.Index(None, 'holder_uuid'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)
