"""Traits that were written to other clouds

Revision ID: 0021
Revises: 0020
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import ascii_string, long_text, timestamp

revision = '0021'
down_revision = '0020'


def upgrade():
    op.add_column('mirror_clouds', sa.Column('write_queue', sa.Integer))
    op.add_column('mirror_clouds', sa.Column('write_failing_since', timestamp()))
    op.add_column('mirror_clouds', sa.Column('write_error', long_text()))
    op.add_column('mirror_clouds', sa.Column('trait_writes', sa.BigInteger, nullable=False, server_default='0'))
    op.create_table(
        'mirror_written_traits',
        sa.Column('node_id', sa.Integer, nullable=False),
        sa.Column('trait', ascii_string(255), nullable=False),
        sa.Column('cloud', ascii_string(57), nullable=False),
        sa.Column('state', ascii_string(8), nullable=False),
        sa.Column('since', timestamp(), nullable=False),
        sa.Column('reason', long_text()),
        sa.PrimaryKeyConstraint('node_id', 'trait', name='mirror_written_traits_pkey'),
        sa.ForeignKeyConstraint(
            ['node_id'], ['nodes.id'], name='mirror_written_traits_node_id_fkey', ondelete='CASCADE'
        ),
        mysql_engine='InnoDB',
        sqlite_with_rowid=False,
    )
    op.create_index('mirror_written_traits_cloud_idx', 'mirror_written_traits', ['cloud', 'state'])
