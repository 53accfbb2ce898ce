"""The tables of chassis, ports, portgroups and volumes."""

import sqlalchemy as sa

from ironic_traits.db.statements.types import Json, ascii_string, exact_string, long_text
from ironic_traits.db.tables.base import node_column, records_table

chassis = records_table(
    'chassis',
    sa.Column('description', exact_string(255)),
    sa.Column('extra', Json, nullable=False),
)

portgroups = records_table(
    'portgroups',
    node_column(),
    sa.Column('name', exact_string(255), unique=True),
    sa.Column('address', ascii_string(17), unique=True),
    sa.Column('mode', exact_string(255), nullable=False),
    sa.Column('standalone_ports_supported', sa.Boolean, nullable=False),
    sa.Column('properties', Json, nullable=False),
    sa.Column('internal_info', Json, nullable=False),
    sa.Column('extra', Json, nullable=False),
    sa.Column('physical_network', exact_string(64)),
    sa.Column('category', exact_string(80)),
    sa.Column('dynamic_portgroup', sa.Boolean, nullable=False, default=False, server_default='0'),
    sa.Index(None, 'node_uuid'),
)

ports = records_table(
    'ports',
    node_column(),
    # SET NULL is for the deletion of a node with its ports and portgroups. inventory/records/portgroups.py refuses to
    # delete a portgroup with ports.
    sa.Column('portgroup_uuid', ascii_string(36), sa.ForeignKey('portgroups.uuid', ondelete='SET NULL')),
    sa.Column('address', ascii_string(17), nullable=False, unique=True),
    sa.Column('pxe_enabled', sa.Boolean, nullable=False),
    sa.Column('is_smartnic', sa.Boolean, nullable=False),
    sa.Column('physical_network', exact_string(64)),
    sa.Column('local_link_connection', Json, nullable=False),
    sa.Column('internal_info', Json, nullable=False),
    sa.Column('extra', Json, nullable=False),
    sa.Column('name', exact_string(255)),
    sa.Column('description', exact_string(255)),
    sa.Column('vendor', exact_string(32)),
    sa.Column('category', exact_string(80)),
    sa.Column('available_for_dynamic_portgroup', sa.Boolean, nullable=False, default=True, server_default='1'),
    sa.Index(None, 'node_uuid'),
    sa.Index(None, 'portgroup_uuid'),
    # An index, because SQLite cannot add a constraint to a table.
    sa.Index('ports_name_key', 'name', unique=True),
)

volume_connectors = records_table(
    'volume_connectors',
    node_column(),
    sa.Column('type', exact_string(255), nullable=False),
    sa.Column('connector_id', exact_string(255), nullable=False),
    sa.Column('extra', Json, nullable=False),
    sa.UniqueConstraint('type', 'connector_id'),
    sa.Index(None, 'node_uuid'),
)

volume_targets = records_table(
    'volume_targets',
    node_column(),
    sa.Column('volume_type', exact_string(255), nullable=False),
    sa.Column('boot_index', sa.Integer, nullable=False),
    sa.Column('volume_id', exact_string(255), nullable=False),
    sa.Column('properties', Json, nullable=False),
    sa.Column('extra', Json, nullable=False),
    # The properties with masked secrets.
    sa.Column('properties_masked', long_text()),
    sa.UniqueConstraint('node_uuid', 'boot_index'),
)
