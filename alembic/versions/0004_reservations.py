"""Reservations of nodes

Revision ID: 0004
Revises: 0003
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import ascii_string, timestamp

revision = '0004'
down_revision = '0003'


def upgrade():
    op.create_table(
        'reservations',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.Column('updated_at', timestamp()),
        sa.Column('node_uuid', ascii_string(36), nullable=False),
        sa.Column('instance_uuid', ascii_string(36), nullable=False),
        sa.Column('expires_at', timestamp()),
        sa.PrimaryKeyConstraint('id', name='reservations_pkey'),
        sa.UniqueConstraint('uuid', name='reservations_uuid_key'),
        sa.UniqueConstraint('node_uuid', name='reservations_node_uuid_key'),
        sa.UniqueConstraint('instance_uuid', name='reservations_instance_uuid_key'),
        sa.ForeignKeyConstraint(['node_uuid'], ['nodes.uuid'], name='reservations_node_uuid_fkey', ondelete='CASCADE'),
        mysql_engine='InnoDB',
        sqlite_autoincrement=True,
    )
    op.create_index('reservations_expires_at_idx', 'reservations', ['expires_at'])
