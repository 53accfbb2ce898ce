"""The table of the history of nodes."""

import sqlalchemy as sa

from ironic_traits.db.statements.types import ascii_string, exact_string, long_text, timestamp
from ironic_traits.db.tables.base import metadata

# The history of nodes. Rows stay when their node is deleted, until they are purged. All rows of a node are inserted
# under the node's lock, so their ids are in the order of the commits.
node_history = sa.Table(
    'node_history',
    metadata,
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer, 'sqlite'), primary_key=True),
    sa.Column('uuid', ascii_string(36), nullable=False),
    sa.Column('node_uuid', ascii_string(36), nullable=False),
    # By the database's clock.
    sa.Column('created_at', timestamp(), nullable=False),
    sa.Column('event_type', ascii_string(32), nullable=False),
    sa.Column('severity', ascii_string(16), nullable=False),
    sa.Column('event', long_text()),
    sa.Column('conductor', exact_string(255)),
    sa.Column('user_id', exact_string(255)),
    sa.Column('project_id', exact_string(255)),
    sa.Column('request_id', exact_string(255)),
    sa.Column('provision_state', ascii_string(32)),
    sa.Column('target_provision_state', ascii_string(32)),
    # For trait edits: the source, and the names in one string, joined by commas.
    sa.Column('source', ascii_string(64)),
    sa.Column('added', long_text()),
    sa.Column('removed', long_text()),
    # For changes of the provision state: the time that the node was in the previous state.
    sa.Column('duration_seconds', sa.Integer),
    sa.Index('node_history_node_uuid_idx', 'node_uuid', 'id'),
    # For the marker of /v1/history.
    sa.Index(None, 'uuid'),
    sa.Index(None, 'created_at'),
    sqlite_autoincrement=True,
    mysql_engine='InnoDB',
)
