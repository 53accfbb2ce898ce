"""Nodes that clouds no longer have, and the writes to clouds that were confirmed

Revision ID: 0025
Revises: 0024
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import Json, ascii_string, timestamp

revision = '0025'
down_revision = '0024'


def upgrade():
    op.create_table(
        'mirror_missing_nodes',
        sa.Column('node_id', sa.Integer, nullable=False),
        sa.Column('since', timestamp(), nullable=False),
        sa.Column('confirmed', sa.Boolean, nullable=False, server_default='0'),
        sa.PrimaryKeyConstraint('node_id', name='mirror_missing_nodes_pkey'),
        sa.ForeignKeyConstraint(
            ['node_id'], ['nodes.id'], name='mirror_missing_nodes_node_id_fkey', ondelete='CASCADE'
        ),
        mysql_engine='InnoDB',
    )
    op.create_table(
        'mirror_kept_nodes',
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.Column('cloud', ascii_string(57), nullable=False),
        sa.Column('node_created_at', timestamp(), nullable=False),
        sa.Column('deleted_at', timestamp(), nullable=False),
        sa.Column('by_operators', sa.Boolean, nullable=False),
        sa.Column('kept', Json, nullable=False),
        sa.PrimaryKeyConstraint('uuid', 'node_created_at', name='mirror_kept_nodes_pkey'),
        mysql_engine='InnoDB',
        sqlite_with_rowid=False,
    )
    op.create_index('mirror_kept_nodes_deleted_at_idx', 'mirror_kept_nodes', ['deleted_at'])
    clouds = sa.table('mirror_clouds', sa.column('trait_writes'), sa.column('confirmed_writes'))
    op.add_column('mirror_clouds', sa.Column('write', ascii_string(64)))
    op.add_column('mirror_clouds', sa.Column('confirmed_writes', ascii_string(64)))
    # Who has let the mirror write until now, need not confirm it.
    op.execute(sa.update(clouds).where(clouds.c.trait_writes > 0).values(confirmed_writes='traits'))
