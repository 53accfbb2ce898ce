"""Mirrored nodes that are held in their cloud, too

Revision ID: 0022
Revises: 0021
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import ascii_string, timestamp

revision = '0022'
down_revision = '0021'


def upgrade():
    op.create_table(
        'mirror_claims',
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.Column('cloud', ascii_string(57), nullable=False),
        sa.Column('node_uuid', ascii_string(36), nullable=False),
        sa.Column('instance_uuid', ascii_string(36), nullable=False),
        sa.Column('holder_uuid', ascii_string(36), nullable=False),
        sa.Column('state', ascii_string(16), nullable=False),
        sa.Column('deadline', timestamp()),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.PrimaryKeyConstraint('uuid', name='mirror_claims_pkey'),
        sa.ForeignKeyConstraint(['node_uuid'], ['nodes.uuid'], name='mirror_claims_node_uuid_fkey', ondelete='CASCADE'),
        mysql_engine='InnoDB',
        sqlite_with_rowid=False,
    )
    for name in ('cloud', 'node_uuid', 'holder_uuid'):
        op.create_index(f'mirror_claims_{name}_idx', 'mirror_claims', [name])
