"""Capacity reservations

Revision ID: 0030
Revises: 0029
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import ascii_string, exact_string, long_text, timestamp

revision = '0030'
down_revision = '0029'


def upgrade():
    op.create_table(
        'capacity_reservations',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.Column('updated_at', timestamp()),
        sa.Column('name', exact_string(255), nullable=False),
        sa.Column('project', exact_string(255), nullable=False),
        sa.Column('number', sa.Integer, nullable=False),
        sa.Column('request', long_text(), nullable=False),
        sa.Column('expires_at', timestamp()),
        sa.Column('generation', sa.BigInteger, nullable=False, server_default='0'),
        sa.PrimaryKeyConstraint('id', name='capacity_reservations_pkey'),
        sa.UniqueConstraint('uuid', name='capacity_reservations_uuid_key'),
        sa.UniqueConstraint('name', name='capacity_reservations_name_key'),
        sqlite_autoincrement=True,
        mysql_engine='InnoDB',
    )
    op.create_table(
        'capacity_uses',
        sa.Column('node_id', sa.Integer, nullable=False),
        sa.Column('capacity_reservation_id', sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint('node_id', name='capacity_uses_pkey'),
        sa.ForeignKeyConstraint(['node_id'], ['nodes.id'], name='capacity_uses_node_id_fkey', ondelete='CASCADE'),
        sa.ForeignKeyConstraint(
            ['capacity_reservation_id'],
            ['capacity_reservations.id'],
            name='capacity_uses_capacity_reservation_id_fkey',
            ondelete='CASCADE',
        ),
        mysql_engine='InnoDB',
    )
    op.create_index('capacity_uses_capacity_reservation_id_idx', 'capacity_uses', ['capacity_reservation_id'])
