"""The inspections of mirrored nodes whose data the mirror has requested

Revision ID: 0019
Revises: 0018
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import timestamp

revision = '0019'
down_revision = '0018'


def upgrade():
    op.create_table(
        'mirror_inspections',
        sa.Column('node_id', sa.Integer, nullable=False),
        sa.Column('finished_at', timestamp(), nullable=False),
        sa.PrimaryKeyConstraint('node_id', name='mirror_inspections_pkey'),
        sa.ForeignKeyConstraint(['node_id'], ['nodes.id'], name='mirror_inspections_node_id_fkey', ondelete='CASCADE'),
        mysql_engine='InnoDB',
    )
