"""Mirrored nodes, and the clouds that they come from

Revision ID: 0016
Revises: 0015
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import Json, ascii_string, exact_string, long_text, timestamp

revision = '0016'
down_revision = '0015'


def upgrade():
    op.add_column('nodes', sa.Column('origin', ascii_string(57)))
    op.add_column('nodes', sa.Column('origin_conductor', exact_string(255)))
    has_origin = sa.text('origin IS NOT NULL')
    op.create_index('nodes_origin_idx', 'nodes', ['origin'], sqlite_where=has_origin, postgresql_where=has_origin)
    op.create_table(
        'mirror_clouds',
        sa.Column('name', ascii_string(57), nullable=False),
        sa.Column('endpoint', long_text()),
        sa.Column('version', ascii_string(16)),
        sa.Column('lease', ascii_string(36)),
        sa.Column('leased_until', timestamp()),
        sa.Column('holder', exact_string(255)),
        sa.Column('cursors', Json, nullable=False),
        sa.Column('pass_nodes', sa.Integer),
        sa.Column('passed_at', timestamp()),
        sa.Column('current_at', timestamp()),
        sa.Column('failing_since', timestamp()),
        sa.Column('last_error', long_text()),
        sa.Column('requests', sa.BigInteger, nullable=False, server_default='0'),
        sa.Column('changes', sa.BigInteger, nullable=False, server_default='0'),
        sa.PrimaryKeyConstraint('name', name='mirror_clouds_pkey'),
        mysql_engine='InnoDB',
    )
    op.create_table(
        'mirror_conflicts',
        sa.Column('cloud', ascii_string(57), nullable=False),
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.Column('resource', ascii_string(16), nullable=False),
        sa.Column('reason', long_text(), nullable=False),
        sa.Column('since', timestamp(), nullable=False),
        sa.PrimaryKeyConstraint('cloud', 'uuid', name='mirror_conflicts_pkey'),
        sa.ForeignKeyConstraint(
            ['cloud'], ['mirror_clouds.name'], name='mirror_conflicts_cloud_fkey', ondelete='CASCADE'
        ),
        mysql_engine='InnoDB',
        sqlite_with_rowid=False,
    )
