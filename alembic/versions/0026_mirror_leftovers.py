"""What this service has written to clouds, on nodes that are no longer mirrored

Revision ID: 0026
Revises: 0025
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import ascii_string, timestamp

revision = '0026'
down_revision = '0025'


def upgrade():
    op.create_table(
        'mirror_leftovers',
        sa.Column('cloud', ascii_string(57), nullable=False),
        sa.Column('node_uuid', ascii_string(36), nullable=False),
        sa.Column('kind', ascii_string(8), nullable=False),
        sa.Column('item', ascii_string(255), nullable=False),
        sa.Column('deleted_at', timestamp()),
        sa.PrimaryKeyConstraint('cloud', 'node_uuid', 'kind', 'item', name='mirror_leftovers_pkey'),
        mysql_engine='InnoDB',
        sqlite_with_rowid=False,
    )
    op.create_index('mirror_leftovers_deleted_at_idx', 'mirror_leftovers', ['deleted_at'])
