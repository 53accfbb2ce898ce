"""Chassis, ports, portgroups, volume resources and VIFs

Revision ID: 0002
Revises: 0001
"""

import sqlalchemy as sa
from alembic import op

from ironic_traits.db.statements.types import Json, ascii_string, exact_string, timestamp

revision = '0002'
down_revision = '0001'


def upgrade():
    create(
        'chassis',
        sa.Column('description', exact_string(255)),
        sa.Column('extra', Json, nullable=False),
    )
    create(
        'portgroups',
        sa.Column('node_uuid', ascii_string(36), nullable=False),
        sa.Column('name', exact_string(255)),
        sa.Column('address', ascii_string(17)),
        sa.Column('mode', exact_string(255), nullable=False),
        sa.Column('standalone_ports_supported', sa.Boolean, nullable=False),
        sa.Column('properties', Json, nullable=False),
        sa.Column('internal_info', Json, nullable=False),
        sa.Column('extra', Json, nullable=False),
        sa.UniqueConstraint('name', name='portgroups_name_key'),
        sa.UniqueConstraint('address', name='portgroups_address_key'),
        of_a_node('portgroups'),
    )
    op.create_index('portgroups_node_uuid_idx', 'portgroups', ['node_uuid'])
    create(
        'ports',
        sa.Column('node_uuid', ascii_string(36), nullable=False),
        sa.Column('portgroup_uuid', ascii_string(36)),
        sa.Column('address', ascii_string(17), nullable=False),
        sa.Column('pxe_enabled', sa.Boolean, nullable=False),
        sa.Column('is_smartnic', sa.Boolean, nullable=False),
        sa.Column('physical_network', exact_string(64)),
        sa.Column('local_link_connection', Json, nullable=False),
        sa.Column('internal_info', Json, nullable=False),
        sa.Column('extra', Json, nullable=False),
        sa.UniqueConstraint('address', name='ports_address_key'),
        of_a_node('ports'),
        sa.ForeignKeyConstraint(
            ['portgroup_uuid'], ['portgroups.uuid'], name='ports_portgroup_uuid_fkey', ondelete='SET NULL'
        ),
    )
    op.create_index('ports_node_uuid_idx', 'ports', ['node_uuid'])
    op.create_index('ports_portgroup_uuid_idx', 'ports', ['portgroup_uuid'])
    create(
        'volume_connectors',
        sa.Column('node_uuid', ascii_string(36), nullable=False),
        sa.Column('type', exact_string(255), nullable=False),
        sa.Column('connector_id', exact_string(255), nullable=False),
        sa.Column('extra', Json, nullable=False),
        sa.UniqueConstraint('type', 'connector_id', name='volume_connectors_type_connector_id_key'),
        of_a_node('volume_connectors'),
    )
    op.create_index('volume_connectors_node_uuid_idx', 'volume_connectors', ['node_uuid'])
    create(
        'volume_targets',
        sa.Column('node_uuid', ascii_string(36), nullable=False),
        sa.Column('volume_type', exact_string(255), nullable=False),
        sa.Column('boot_index', sa.Integer, nullable=False),
        sa.Column('volume_id', exact_string(255), nullable=False),
        sa.Column('properties', Json, nullable=False),
        sa.Column('extra', Json, nullable=False),
        sa.UniqueConstraint('node_uuid', 'boot_index', name='volume_targets_node_uuid_boot_index_key'),
        of_a_node('volume_targets'),
    )
    op.create_table(
        'node_vifs',
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('node_uuid', ascii_string(36), nullable=False),
        sa.Column('vif', exact_string(255), nullable=False),
        sa.Column('info', Json, nullable=False),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.PrimaryKeyConstraint('id', name='node_vifs_pkey'),
        sa.UniqueConstraint('node_uuid', 'vif', name='node_vifs_node_uuid_vif_key'),
        of_a_node('node_vifs'),
        mysql_engine='InnoDB',
        sqlite_autoincrement=True,
    )
    place_nodes_in_chassis()


def create(name, *parts):
    """Create a table with the columns that all of these tables have, and the columns and constraints given."""
    op.create_table(
        name,
        sa.Column('id', sa.Integer, nullable=False),
        sa.Column('uuid', ascii_string(36), nullable=False),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.Column('updated_at', timestamp()),
        *parts,
        sa.PrimaryKeyConstraint('id', name=f'{name}_pkey'),
        sa.UniqueConstraint('uuid', name=f'{name}_uuid_key'),
        mysql_engine='InnoDB',
        sqlite_autoincrement=True,
    )


def of_a_node(name):
    """Return a foreign key to nodes. Rows are deleted with their node."""
    return sa.ForeignKeyConstraint(['node_uuid'], ['nodes.uuid'], name=f'{name}_node_uuid_fkey', ondelete='CASCADE')


def place_nodes_in_chassis():
    """Add a foreign key to nodes.chassis_uuid, which is null in all existing rows."""
    key = 'nodes_chassis_uuid_fkey'
    if op.get_bind().dialect.name == 'sqlite':
        # SQLite cannot add a constraint to a column. Creating the table again is no option: dropping the old one would
        # delete the traits of all nodes.
        op.execute('ALTER TABLE nodes DROP COLUMN chassis_uuid')
        op.execute(f'ALTER TABLE nodes ADD COLUMN chassis_uuid VARCHAR(36) CONSTRAINT {key} REFERENCES chassis (uuid)')
        op.create_index('nodes_chassis_uuid_idx', 'nodes', ['chassis_uuid'])
    else:
        op.create_index('nodes_chassis_uuid_idx', 'nodes', ['chassis_uuid'])
        op.create_foreign_key(key, 'nodes', 'chassis', ['chassis_uuid'], ['uuid'])
