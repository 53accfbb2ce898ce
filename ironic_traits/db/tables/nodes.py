"""The tables of nodes and of their VIFs."""

import sqlalchemy as sa

from ironic_traits.db.statements.types import Json, ascii_string, exact_string, long_text, timestamp
from ironic_traits.db.tables.base import metadata, node_column
from ironic_traits.resources.nodes import INTERFACES

#: Condition of an index: the node is a child.
HAS_PARENT = sa.text('parent_node IS NOT NULL')
IS_ROOT = sa.text('parent_node IS NULL')
#: The same: the node is mirrored.
HAS_ORIGIN = sa.text('origin IS NOT NULL')
HAS_DESCRIPTION = sa.text('description IS NOT NULL')
#: The same: the node's state allows an instance, unless other columns forbid it
#: (``inventory.core.node_providers.SCHEDULABLE``).
IS_FREE = sa.text("provision_state = 'available' AND instance_uuid IS NULL AND parent_node IS NULL")

nodes = sa.Table(
    'nodes',
    metadata,
    # Never reused (sqlite_autoincrement, below), so that a stored id cannot refer to another node later.
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('uuid', ascii_string(36), nullable=False, unique=True),
    sa.Column('name', exact_string(255), unique=True),
    # Every write raises this first, which locks the row, before it reads the holders of the node (invariant 1).
    sa.Column('generation', sa.BigInteger, nullable=False, server_default='0'),
    sa.Column('created_at', timestamp(), nullable=False),
    sa.Column('updated_at', timestamp()),
    sa.Column('driver', exact_string(255), nullable=False),
    sa.Column('resource_class', exact_string(80)),
    sa.Column('instance_uuid', ascii_string(36), unique=True),
    # Uuid of the node's allocation, which equals the instance_uuid. Written together with the row of the allocation.
    sa.Column('allocation_uuid', ascii_string(36)),
    sa.Column('chassis_uuid', ascii_string(36), sa.ForeignKey('chassis.uuid')),
    sa.Column('provision_state', ascii_string(32), nullable=False),
    sa.Column('target_provision_state', ascii_string(32)),
    sa.Column('provision_updated_at', timestamp()),
    sa.Column('power_state', ascii_string(32)),
    sa.Column('target_power_state', ascii_string(32)),
    sa.Column('maintenance', sa.Boolean, nullable=False, default=False),
    sa.Column('maintenance_reason', long_text()),
    sa.Column('fault', ascii_string(32)),
    sa.Column('protected', sa.Boolean, nullable=False, default=False, server_default='0'),
    sa.Column('protected_reason', long_text()),
    sa.Column('retired', sa.Boolean, nullable=False, default=False, server_default='0'),
    sa.Column('retired_reason', long_text()),
    sa.Column('description', long_text()),
    sa.Column('owner', exact_string(255)),
    sa.Column('lessee', exact_string(255)),
    sa.Column('conductor_group', exact_string(255), nullable=False, default='', server_default=sa.text("''")),
    sa.Column('shard', exact_string(255)),
    sa.Column('automated_clean', sa.Boolean),
    sa.Column('boot_mode', ascii_string(16)),
    sa.Column('secure_boot', sa.Boolean),
    sa.Column('parent_node', ascii_string(36)),
    sa.Column('disable_power_off', sa.Boolean, nullable=False, default=False, server_default='0'),
    sa.Column('instance_name', exact_string(255)),
    sa.Column('health', ascii_string(16)),
    sa.Column('last_error', long_text()),
    # Ironic's lock: the host whose worker works on the node. Until it is NULL, many writes fail with NodeLocked.
    sa.Column('reservation', exact_string(255)),
    sa.Column('console_enabled', sa.Boolean, nullable=False, default=False),
    sa.Column('inspection_started_at', timestamp()),
    sa.Column('inspection_finished_at', timestamp()),
    sa.Column('properties', Json, nullable=False),
    sa.Column('driver_info', Json, nullable=False),
    sa.Column('driver_internal_info', Json, nullable=False),
    sa.Column('instance_info', Json, nullable=False),
    sa.Column('extra', Json, nullable=False),
    sa.Column('network_data', Json, nullable=False, server_default='{}'),
    sa.Column('clean_step', Json, nullable=False),
    sa.Column('deploy_step', Json, nullable=False, server_default='{}'),
    sa.Column('service_step', Json, nullable=False, server_default='{}'),
    sa.Column('raid_config', Json, nullable=False),
    sa.Column('target_raid_config', Json, nullable=False),
    *(sa.Column(f'{interface}_interface', exact_string(255)) for interface in INTERFACES),
    # The cloud of a mirrored node; NULL for a node of this service itself.
    sa.Column('origin', ascii_string(57)),
    # The conductor of a mirrored node. (For other nodes, it is computed.)
    sa.Column('origin_conductor', exact_string(255)),
    # Never shown. It is large, so only few columns come after it: SQLite has to read past it to reach them.
    sa.Column('configdrive', long_text()),
    # The two fields with masked secrets (inventory/core/secrets.py).
    sa.Column('driver_info_masked', long_text()),
    sa.Column('instance_info_masked', long_text()),
    # These include the id, which is the second sort key, so that a page is read in the order of the index.
    *(sa.Index(None, column, 'id') for column in ('resource_class', 'provision_state', 'created_at', 'updated_at')),
    # For candidates: the free nodes of a class.
    sa.Index(
        'nodes_free_idx',
        'resource_class',
        'provision_state',
        'id',
        sqlite_where=IS_FREE,
        postgresql_where=IS_FREE,
    ),
    # For lists of nodes with a rare property. MariaDB has no partial indexes.
    *(
        sa.Index(None, column, 'id', sqlite_where=condition, postgresql_where=condition)
        for column, condition in (
            ('maintenance', sa.text('maintenance')),
            ('retired', sa.text('retired')),
            ('fault', sa.text('fault IS NOT NULL')),
        )
    ),
    sa.Index('nodes_described_idx', 'id', sqlite_where=HAS_DESCRIPTION, postgresql_where=HAS_DESCRIPTION),
    sa.Index(None, 'driver'),
    sa.Index(None, 'chassis_uuid'),
    sa.Index(None, 'owner'),
    sa.Index(None, 'lessee'),
    sa.Index(None, 'shard'),
    # Partial: nearly all nodes have no parent, and no list should be read in the order of an index on them.
    sa.Index(None, 'parent_node', sqlite_where=HAS_PARENT, postgresql_where=HAS_PARENT),
    # For lists without children. PostgreSQL need not test the rows that it reads in the order of this index. For a test
    # of parent_node, it would have to skip all columns before it in each row.
    sa.Index('nodes_roots_idx', 'id', sqlite_where=IS_ROOT, postgresql_where=IS_ROOT),
    sa.Index(None, 'instance_name'),
    # Partial: a node that is not mirrored has no origin.
    sa.Index(None, 'origin', sqlite_where=HAS_ORIGIN, postgresql_where=HAS_ORIGIN),
    sqlite_autoincrement=True,
    mysql_engine='InnoDB',
)

node_vifs = sa.Table(
    'node_vifs',
    metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    node_column(),
    sa.Column('vif', exact_string(255), nullable=False),
    # The other fields of the client's request.
    sa.Column('info', Json, nullable=False),
    sa.Column('created_at', timestamp(), nullable=False),
    sa.UniqueConstraint('node_uuid', 'vif'),
    sqlite_autoincrement=True,
    mysql_engine='InnoDB',
)
