"""Nodes and their traits

Revision ID: 0001
Revises:
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import Json, ascii_string, exact_string, long_text, timestamp

revision = '0001'
down_revision = None

INTERFACES = ('boot', 'console', 'deploy', 'inspect', 'management', 'network', 'power', 'raid', 'storage', 'vendor')


def upgrade():
    op.create_table(
        'nodes',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.Column('name', exact_string(255)),
        sa.Column('generation', sa.BigInteger, nullable=False, server_default='0'),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.Column('updated_at', timestamp()),
        sa.Column('driver', exact_string(255), nullable=False),
        sa.Column('resource_class', exact_string(80)),
        sa.Column('instance_uuid', ascii_string(36)),
        sa.Column('chassis_uuid', ascii_string(36)),
        sa.Column('provision_state', ascii_string(32), nullable=False),
        sa.Column('target_provision_state', ascii_string(32)),
        sa.Column('provision_updated_at', timestamp()),
        sa.Column('power_state', ascii_string(32)),
        sa.Column('target_power_state', ascii_string(32)),
        sa.Column('maintenance', sa.Boolean, nullable=False),
        sa.Column('maintenance_reason', long_text()),
        sa.Column('last_error', long_text()),
        sa.Column('reservation', exact_string(255)),
        sa.Column('console_enabled', sa.Boolean, nullable=False),
        sa.Column('inspection_started_at', timestamp()),
        sa.Column('inspection_finished_at', timestamp()),
        sa.Column('properties', Json, nullable=False),
        sa.Column('driver_info', Json, nullable=False),
        sa.Column('driver_internal_info', Json, nullable=False),
        sa.Column('instance_info', Json, nullable=False),
        sa.Column('extra', Json, nullable=False),
        sa.Column('clean_step', Json, nullable=False),
        sa.Column('raid_config', Json, nullable=False),
        sa.Column('target_raid_config', Json, nullable=False),
        *(sa.Column(f'{interface}_interface', exact_string(255)) for interface in INTERFACES),
        sa.PrimaryKeyConstraint('id', name='nodes_pkey'),
        sa.UniqueConstraint('uuid', name='nodes_uuid_key'),
        sa.UniqueConstraint('name', name='nodes_name_key'),
        sa.UniqueConstraint('instance_uuid', name='nodes_instance_uuid_key'),
        mysql_engine='InnoDB',
        sqlite_autoincrement=True,
    )
    op.create_index('nodes_resource_class_idx', 'nodes', ['resource_class'])
    op.create_index('nodes_provision_state_idx', 'nodes', ['provision_state'])
    op.create_index('nodes_driver_idx', 'nodes', ['driver'])
    op.create_table(
        'node_traits',
        sa.Column('node_id', sa.Integer, nullable=False),
        sa.Column('trait', ascii_string(255), nullable=False),
        sa.PrimaryKeyConstraint('node_id', 'trait', name='node_traits_pkey'),
        sa.ForeignKeyConstraint(['node_id'], ['nodes.id'], name='node_traits_node_id_fkey', ondelete='CASCADE'),
        mysql_engine='InnoDB',
        sqlite_with_rowid=False,
    )
    op.create_index('node_traits_trait_idx', 'node_traits', ['trait', 'node_id'])
