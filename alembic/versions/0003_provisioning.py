"""Provisioning: fields of nodes, and the transitions that workers run

Revision ID: 0003
Revises: 0002
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import Json, ascii_string, exact_string, long_text, timestamp

revision = '0003'
down_revision = '0002'


def upgrade():
    _add_node_columns()
    _fill_node_columns()
    op.create_table(
        'transitions',
        sa.Column('node_id', sa.Integer, nullable=False, autoincrement=False),
        sa.Column('action', ascii_string(32), nullable=False),
        sa.Column('arguments', Json, nullable=False),
        sa.Column('phase', sa.Integer, nullable=False),
        sa.Column('due_at', timestamp(), nullable=False),
        sa.Column('lease', ascii_string(36)),
        sa.Column('leased_until', timestamp()),
        sa.Column('attempts', sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint('node_id', name='transitions_pkey'),
        sa.ForeignKeyConstraint(['node_id'], ['nodes.id'], name='transitions_node_id_fkey', ondelete='CASCADE'),
        mysql_engine='InnoDB',
    )
    op.create_index('transitions_due_at_idx', 'transitions', ['due_at'])


def _add_node_columns():
    # The default of a text column must be an expression in MySQL, and must not be one in SQLite.
    no_document = sa.text("('{}')" if op.get_bind().dialect.name in ('mysql', 'mariadb') else "'{}'")
    for column in (
        sa.Column('bios_interface', exact_string(255)),
        sa.Column('rescue_interface', exact_string(255)),
        sa.Column('fault', ascii_string(32)),
        sa.Column('protected', sa.Boolean, nullable=False, server_default='0'),
        sa.Column('protected_reason', long_text()),
        sa.Column('retired', sa.Boolean, nullable=False, server_default='0'),
        sa.Column('retired_reason', long_text()),
        sa.Column('description', long_text()),
        sa.Column('owner', exact_string(255)),
        sa.Column('lessee', exact_string(255)),
        sa.Column('conductor_group', exact_string(255), nullable=False, server_default=sa.text("''")),
        sa.Column('shard', exact_string(255)),
        sa.Column('automated_clean', sa.Boolean),
        sa.Column('boot_mode', ascii_string(16)),
        sa.Column('secure_boot', sa.Boolean),
        sa.Column('network_data', Json, nullable=False, server_default=no_document),
        sa.Column('deploy_step', Json, nullable=False, server_default=no_document),
        sa.Column('configdrive', long_text()),
    ):
        op.add_column('nodes', column)
    for name in ('owner', 'lessee', 'shard'):
        op.create_index(f'nodes_{name}_idx', 'nodes', [name])


def _fill_node_columns():
    # fake-hardware was the only driver before this migration. These are its defaults.
    op.execute("UPDATE nodes SET bios_interface = 'fake', rescue_interface = 'fake' WHERE driver = 'fake-hardware'")
    # Nodes created before API version 1.11 start as available. nova does not use nodes with an unknown power state.
    op.execute("UPDATE nodes SET power_state = 'power off' WHERE power_state IS NULL AND provision_state <> 'enroll'")
