"""Ironic's allocations of nodes

The new column of nodes is NULL in all rows, so that adding it takes no time.

Revision ID: 0012
Revises: 0011
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import Json, ascii_string, exact_string, long_text, timestamp

revision = '0012'
down_revision = '0011'


def upgrade():
    op.add_column('nodes', sa.Column('allocation_uuid', ascii_string(36)))
    op.create_table(
        'node_allocations',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.Column('updated_at', timestamp()),
        sa.Column('name', exact_string(255)),
        sa.Column('node_uuid', ascii_string(36)),
        sa.Column('owner', exact_string(255)),
        sa.Column('resource_class', exact_string(80)),
        sa.Column('state', ascii_string(16), nullable=False),
        sa.Column('last_error', long_text()),
        sa.Column('traits', Json, nullable=False),
        sa.Column('candidate_nodes', Json, nullable=False),
        sa.Column('extra', Json, nullable=False),
        sa.PrimaryKeyConstraint('id', name='node_allocations_pkey'),
        sa.UniqueConstraint('uuid', name='node_allocations_uuid_key'),
        sa.UniqueConstraint('name', name='node_allocations_name_key'),
        sa.UniqueConstraint('node_uuid', name='node_allocations_node_uuid_key'),
        sa.ForeignKeyConstraint(
            ['node_uuid'], ['nodes.uuid'], name='node_allocations_node_uuid_fkey', ondelete='CASCADE'
        ),
        mysql_engine='InnoDB',
        sqlite_autoincrement=True,
    )
    op.create_index('node_allocations_owner_idx', 'node_allocations', ['owner'])
