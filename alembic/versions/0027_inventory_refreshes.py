"""The nodes whose BMC is to be read again

Revision ID: 0027
Revises: 0026
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import ascii_string, timestamp

revision = '0027'
down_revision = '0026'


def upgrade():
    op.create_table(
        'inventory_refreshes',
        sa.Column('node_id', sa.Integer, nullable=False),
        sa.Column('due_at', timestamp(), nullable=False),
        sa.Column('lease', ascii_string(36)),
        sa.Column('leased_until', timestamp()),
        sa.PrimaryKeyConstraint('node_id', name='inventory_refreshes_pkey'),
        sa.ForeignKeyConstraint(['node_id'], ['nodes.id'], name='inventory_refreshes_node_id_fkey', ondelete='CASCADE'),
        mysql_engine='InnoDB',
    )
    op.create_index('inventory_refreshes_due_at_idx', 'inventory_refreshes', ['due_at'])
