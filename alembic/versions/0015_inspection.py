"""Inspection rules, the data of inspections, and mismatches

Revision ID: 0015
Revises: 0014
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import Json, ascii_string, exact_string, long_bytes, long_text, timestamp

revision = '0015'
down_revision = '0014'


def upgrade():
    op.create_table(
        'inspection_rules',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.Column('updated_at', timestamp()),
        sa.Column('name', ascii_string(59)),
        sa.Column('description', exact_string(255)),
        sa.Column('priority', sa.Integer, nullable=False),
        sa.Column('phase', ascii_string(16)),
        sa.Column('sensitive', sa.Boolean, nullable=False),
        sa.Column('conditions', Json, nullable=False),
        sa.Column('actions', Json, nullable=False),
        sa.PrimaryKeyConstraint('id', name='inspection_rules_pkey'),
        sa.UniqueConstraint('uuid', name='inspection_rules_uuid_key'),
        sa.UniqueConstraint('name', name='inspection_rules_name_key'),
        mysql_engine='InnoDB',
        sqlite_autoincrement=True,
    )
    op.create_table(
        'node_inventories',
        sa.Column('node_id', sa.Integer, nullable=False, autoincrement=False),
        sa.Column('received_at', timestamp(), nullable=False),
        sa.Column('data', long_bytes(), nullable=False),
        sa.Column('previous_received_at', timestamp()),
        sa.Column('previous_data', long_bytes()),
        sa.PrimaryKeyConstraint('node_id', name='node_inventories_pkey'),
        sa.ForeignKeyConstraint(['node_id'], ['nodes.id'], name='node_inventories_node_id_fkey', ondelete='CASCADE'),
        mysql_engine='InnoDB',
    )
    op.create_table(
        'node_mismatches',
        sa.Column('node_id', sa.Integer, nullable=False, autoincrement=False),
        sa.Column('rule', ascii_string(59), nullable=False),
        sa.Column('message', long_text(), nullable=False),
        sa.Column('since', timestamp(), nullable=False),
        sa.PrimaryKeyConstraint('node_id', 'rule', name='node_mismatches_pkey'),
        sa.ForeignKeyConstraint(['node_id'], ['nodes.id'], name='node_mismatches_node_id_fkey', ondelete='CASCADE'),
        mysql_engine='InnoDB',
        sqlite_with_rowid=False,
    )
    op.create_index('node_mismatches_rule_idx', 'node_mismatches', ['rule'])
