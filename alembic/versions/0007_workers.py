"""Workers and their heartbeats

Revision ID: 0007
Revises: 0006
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import Json, ascii_string, exact_string, timestamp

revision = '0007'
down_revision = '0006'


def upgrade():
    op.create_table(
        'workers',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.Column('hostname', exact_string(255), nullable=False),
        sa.Column('pid', sa.Integer, nullable=False),
        sa.Column('conductor_group', exact_string(255), nullable=False, server_default=sa.text("''")),
        sa.Column('drivers', Json, nullable=False),
        sa.Column('started_at', timestamp(), nullable=False),
        sa.Column('heartbeat_at', timestamp(), nullable=False),
        sa.PrimaryKeyConstraint('id', name='workers_pkey'),
        sa.UniqueConstraint('uuid', name='workers_uuid_key'),
        mysql_engine='InnoDB',
        sqlite_autoincrement=True,
    )
    op.create_index('workers_heartbeat_at_idx', 'workers', ['heartbeat_at'])
