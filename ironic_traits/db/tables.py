"""The tables. The migrations in ``alembic/`` create them; a test compares the two on each database."""

import sqlalchemy as sa

from ironic_traits.db.types import Json, ascii_string, exact_string, long_text, timestamp
from ironic_traits.resources.nodes import INTERFACES

metadata = sa.MetaData(
    naming_convention={
        'ix': '%(table_name)s_%(column_0_N_name)s_idx',
        'uq': '%(table_name)s_%(column_0_N_name)s_key',
        'fk': '%(table_name)s_%(column_0_N_name)s_fkey',
        'pk': '%(table_name)s_pkey',
    }
)

#: Condition of an index: the node is a child.
HAS_PARENT = sa.text('parent_node IS NOT NULL')

nodes = sa.Table(
    'nodes',
    metadata,
    # Never reused (sqlite_autoincrement, below), so that an id that is kept somewhere cannot come to mean another node.
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('uuid', ascii_string(36), nullable=False, unique=True),
    sa.Column('name', exact_string(255), unique=True),
    # Raised first by every write, which locks the row, before it reads who holds the node (invariant 1).
    sa.Column('generation', sa.BigInteger, nullable=False, server_default='0'),
    sa.Column('created_at', timestamp(), nullable=False),
    sa.Column('updated_at', timestamp()),
    sa.Column('driver', exact_string(255), nullable=False),
    sa.Column('resource_class', exact_string(80)),
    sa.Column('instance_uuid', ascii_string(36), unique=True),
    # Of the node's allocation, whose uuid is the instance_uuid, too. Written together with the row of the allocation.
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
    # Ironic's lock: the host whose worker works on the node. Until it is NULL, most writes fail with NodeLocked.
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
    # Never shown. It is large, so only few columns come after it: SQLite has to read past it to get to them.
    sa.Column('configdrive', long_text()),
    # The two fields as callers see them who may not see secrets (inventory/secrets.py).
    sa.Column('driver_info_masked', long_text()),
    sa.Column('instance_info_masked', long_text()),
    sa.Index(None, 'resource_class'),
    sa.Index(None, 'provision_state'),
    sa.Index(None, 'driver'),
    sa.Index(None, 'chassis_uuid'),
    sa.Index(None, 'owner'),
    sa.Index(None, 'lessee'),
    sa.Index(None, 'shard'),
    # Partial: nearly all nodes have no parent, and no list is to be read in the order of an index of those.
    sa.Index(None, 'parent_node', sqlite_where=HAS_PARENT, postgresql_where=HAS_PARENT),
    sa.Index(None, 'instance_name'),
    sqlite_autoincrement=True,
    mysql_engine='InnoDB',
)


def _names(name: str) -> sa.Table:
    """Return a table of standard names from the libraries of OpenStack, and of custom ones that clients add."""
    return sa.Table(
        name,
        metadata,
        sa.Column('id', sa.Integer, primary_key=True),
        sa.Column('name', ascii_string(255), nullable=False, unique=True),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.Column('updated_at', timestamp()),
        sqlite_autoincrement=True,
        mysql_engine='InnoDB',
    )


traits = _names('traits')
resource_classes = _names('resource_classes')


def _hold() -> list[sa.Column]:
    """Return the columns of a hold: who added a trait, and when.

    Both are NULL in rows from before they were recorded. A NULL writer is the operator, with an unknown user.
    """
    return [
        # The id of a row in trait_writers, which is never deleted. There is no foreign key: its checks would have all
        # concurrent writes lock the same few rows.
        sa.Column('writer_id', sa.Integer),
        # By the database's clock.
        sa.Column('since', timestamp()),
    ]


# Who writes traits. Few users write many traits, so rows of traits refer to a row here. It is never changed or deleted.
trait_writers = sa.Table(
    'trait_writers',
    metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('source', ascii_string(64), nullable=False),
    # '' if the request has none (noauth). NULLs would not be unique.
    sa.Column('user_id', exact_string(255), nullable=False),
    sa.Column('project_id', exact_string(255), nullable=False),
    sa.UniqueConstraint('source', 'user_id', 'project_id'),
    sqlite_autoincrement=True,
    mysql_engine='InnoDB',
)

# The traits of nodes, each with the source that has held it the longest.
node_traits = sa.Table(
    'node_traits',
    metadata,
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id', ondelete='CASCADE'), primary_key=True),
    # The foreign key prevents the deletion of a trait (DELETE /placement/traits/NAME) that a node has.
    sa.Column('trait', ascii_string(255), sa.ForeignKey('traits.name'), primary_key=True),
    *_hold(),
    # With node_id in it, the index alone is enough to find the nodes with a trait.
    sa.Index('node_traits_trait_idx', 'trait', 'node_id'),
    sa.Index('node_traits_writer_id_idx', 'writer_id', 'node_id'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

# The further sources of a node's trait. Nearly every trait has one source only: in a table of their own, the others
# cost nothing to the readers of traits.
node_trait_sources = sa.Table(
    'node_trait_sources',
    metadata,
    # No foreign key to node_traits: its check would cost more than the deletion of a trait.
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id', ondelete='CASCADE'), primary_key=True),
    sa.Column('trait', ascii_string(255), primary_key=True),
    # A source holds a trait once. So the name is part of the key, and not only the writer, which names a user, too.
    sa.Column('source', ascii_string(64), primary_key=True),
    *_hold(),
    sa.Index('node_trait_sources_writer_id_idx', 'writer_id', 'node_id'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

# Traits that only the operator can add to a node.
node_trait_vetoes = sa.Table(
    'node_trait_vetoes',
    metadata,
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id', ondelete='CASCADE'), primary_key=True),
    sa.Column('trait', ascii_string(255), sa.ForeignKey('traits.name', ondelete='CASCADE'), primary_key=True),
    *_hold(),
    # For the deletion of a trait.
    sa.Index('node_trait_vetoes_trait_idx', 'trait', 'node_id'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

# What operators say about traits.
trait_notes = sa.Table(
    'trait_notes',
    metadata,
    sa.Column('trait', ascii_string(255), sa.ForeignKey('traits.name', ondelete='CASCADE'), primary_key=True),
    sa.Column('description', long_text()),
    sa.Column('retired', sa.Boolean, nullable=False, default=False, server_default='0'),
    sa.Column('replaced_by', ascii_string(255)),
    sa.Column('updated_at', timestamp(), nullable=False),
    mysql_engine='InnoDB',
)

# The history of nodes. Rows stay when their node is deleted, until they are purged. All rows of a node are inserted
# under the node's lock, so their ids are in the order of the commits.
node_history = sa.Table(
    'node_history',
    metadata,
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer, 'sqlite'), primary_key=True),
    sa.Column('uuid', ascii_string(36), nullable=False),
    sa.Column('node_uuid', ascii_string(36), nullable=False),
    # By the database's clock.
    sa.Column('created_at', timestamp(), nullable=False),
    sa.Column('event_type', ascii_string(32), nullable=False),
    sa.Column('severity', ascii_string(16), nullable=False),
    sa.Column('event', long_text()),
    sa.Column('conductor', exact_string(255)),
    sa.Column('user_id', exact_string(255)),
    sa.Column('project_id', exact_string(255)),
    sa.Column('request_id', exact_string(255)),
    sa.Column('provision_state', ascii_string(32)),
    sa.Column('target_provision_state', ascii_string(32)),
    # Of trait edits: who edited, and the names in one string, joined by commas.
    sa.Column('source', ascii_string(64)),
    sa.Column('added', long_text()),
    sa.Column('removed', long_text()),
    # Of changes of the provision state: how long the node was in the state before.
    sa.Column('duration_seconds', sa.Integer),
    sa.Index('node_history_node_uuid_idx', 'node_uuid', 'id'),
    # For the marker of /v1/history.
    sa.Index(None, 'uuid'),
    sa.Index(None, 'created_at'),
    sqlite_autoincrement=True,
    mysql_engine='InnoDB',
)


def _records(name: str, *parts: sa.schema.SchemaItem) -> sa.Table:
    """Return a table with the columns that all records have, and further parts.

    :param name: of the table.
    :param parts: columns, constraints and indexes.
    """
    return sa.Table(
        name,
        metadata,
        sa.Column('id', sa.Integer, primary_key=True),
        sa.Column('uuid', ascii_string(36), nullable=False, unique=True),
        sa.Column('created_at', timestamp(), nullable=False),
        sa.Column('updated_at', timestamp()),
        *parts,
        sqlite_autoincrement=True,
        mysql_engine='InnoDB',
    )


def _of_a_node() -> sa.Column:
    """Return a column for the node to which a row belongs, and with which it is deleted.

    It refers to the node's uuid, which never changes.
    """
    return sa.Column('node_uuid', ascii_string(36), sa.ForeignKey('nodes.uuid', ondelete='CASCADE'), nullable=False)


chassis = _records(
    'chassis',
    sa.Column('description', exact_string(255)),
    sa.Column('extra', Json, nullable=False),
)

portgroups = _records(
    'portgroups',
    _of_a_node(),
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

ports = _records(
    'ports',
    _of_a_node(),
    # SET NULL is for the deletion of a node with its ports and portgroups. inventory/portgroups.py refuses to delete a
    # portgroup with ports.
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

volume_connectors = _records(
    'volume_connectors',
    _of_a_node(),
    sa.Column('type', exact_string(255), nullable=False),
    sa.Column('connector_id', exact_string(255), nullable=False),
    sa.Column('extra', Json, nullable=False),
    sa.UniqueConstraint('type', 'connector_id'),
    sa.Index(None, 'node_uuid'),
)

volume_targets = _records(
    'volume_targets',
    _of_a_node(),
    sa.Column('volume_type', exact_string(255), nullable=False),
    sa.Column('boot_index', sa.Integer, nullable=False),
    sa.Column('volume_id', exact_string(255), nullable=False),
    sa.Column('properties', Json, nullable=False),
    sa.Column('extra', Json, nullable=False),
    # The properties as callers see them who may not see secrets.
    sa.Column('properties_masked', long_text()),
    sa.UniqueConstraint('node_uuid', 'boot_index'),
)

runbooks = _records(
    'runbooks',
    sa.Column('name', exact_string(255), nullable=False, unique=True),
    sa.Column('description', exact_string(255)),
    # Whether all projects see it.
    sa.Column('public', sa.Boolean, nullable=False),
    sa.Column('owner', exact_string(255)),
    sa.Column('disable_ramdisk', sa.Boolean, nullable=False),
    sa.Column('extra', Json, nullable=False),
    # [{'interface': …, 'step': …, 'args': …, 'order': …}, …].
    sa.Column('steps', Json, nullable=False),
    # The steps as responses show them.
    sa.Column('steps_masked', long_text()),
    sa.Index(None, 'owner'),
)

# The traits of runbooks: a node with one of them may be cleaned or serviced by the runbook. There is no foreign key to
# the traits, which can be deleted although a runbook names them.
runbook_traits = sa.Table(
    'runbook_traits',
    metadata,
    sa.Column('runbook_id', sa.Integer, sa.ForeignKey('runbooks.id', ondelete='CASCADE'), primary_key=True),
    sa.Column('trait', ascii_string(255), primary_key=True),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

node_vifs = sa.Table(
    'node_vifs',
    metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    _of_a_node(),
    sa.Column('vif', exact_string(255), nullable=False),
    # The other fields of the client's request.
    sa.Column('info', Json, nullable=False),
    sa.Column('created_at', timestamp(), nullable=False),
    sa.UniqueConstraint('node_uuid', 'vif'),
    sqlite_autoincrement=True,
    mysql_engine='InnoDB',
)

transitions = sa.Table(
    'transitions',
    metadata,
    # A node has at most one transition.
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id', ondelete='CASCADE'), primary_key=True),
    # One of deploy.states.ACTIONS.
    sa.Column('action', ascii_string(32), nullable=False),
    sa.Column('arguments', Json, nullable=False),
    # [step, …] of the action, with secrets; NULL if they are not put together yet, or if the action has none.
    sa.Column('steps', Json),
    # Number of the finished steps.
    sa.Column('step_index', sa.Integer, nullable=False, server_default='0'),
    # How often the driver has asked to be called again, in this step.
    sa.Column('phase', sa.Integer, nullable=False, default=0),
    sa.Column('due_at', timestamp(), nullable=False),
    # Id of a worker's claim; NULL while no worker has claimed the transition.
    sa.Column('lease', ascii_string(36)),
    sa.Column('leased_until', timestamp()),
    # Claims in this phase, including the present one.
    sa.Column('attempts', sa.Integer, nullable=False, default=0),
    # When it was first claimed.
    sa.Column('begun_at', timestamp()),
    sa.Index(None, 'due_at'),
    mysql_engine='InnoDB',
)

# The processes that carry out transitions. Heartbeats are times of the database's clock.
workers = sa.Table(
    'workers',
    metadata,
    sa.Column('id', sa.Integer, primary_key=True),
    sa.Column('uuid', ascii_string(36), nullable=False, unique=True),
    # Of the worker's machine.
    sa.Column('hostname', exact_string(255), nullable=False),
    sa.Column('pid', sa.Integer, nullable=False),
    sa.Column('conductor_group', exact_string(255), nullable=False, default='', server_default=sa.text("''")),
    # [name of an enabled driver, …].
    sa.Column('drivers', Json, nullable=False),
    sa.Column('started_at', timestamp(), nullable=False),
    sa.Column('heartbeat_at', timestamp(), nullable=False),
    sa.Index(None, 'heartbeat_at'),
    sqlite_autoincrement=True,
    mysql_engine='InnoDB',
)

deploy_templates = _records(
    'deploy_templates',
    # A trait. (There is no foreign key: any name of a trait is allowed, as in Ironic.)
    sa.Column('name', ascii_string(255), nullable=False, unique=True),
    # [step, …], with secrets.
    sa.Column('steps', Json, nullable=False),
    sa.Column('extra', Json, nullable=False),
    # The steps as callers see them (inventory/secrets.py).
    sa.Column('steps_masked', long_text()),
)

reservations = _records(
    'reservations',
    # A node, and an instance, has at most one reservation. A writer that needs the key of an expired one deletes it.
    sa.Column(
        'node_uuid', ascii_string(36), sa.ForeignKey('nodes.uuid', ondelete='CASCADE'), nullable=False, unique=True
    ),
    sa.Column('instance_uuid', ascii_string(36), nullable=False, unique=True),
    sa.Column('expires_at', timestamp()),
    sa.Index(None, 'expires_at'),
)

# Ironic's allocations. (Those of Placement are in ``allocations``.) An active one holds its node by the node's
# instance_uuid; one in the state "error" has no node.
node_allocations = _records(
    'node_allocations',
    sa.Column('name', exact_string(255), unique=True),
    sa.Column('node_uuid', ascii_string(36), sa.ForeignKey('nodes.uuid', ondelete='CASCADE'), unique=True),
    sa.Column('owner', exact_string(255)),
    sa.Column('resource_class', exact_string(80)),
    sa.Column('state', ascii_string(16), nullable=False),
    sa.Column('last_error', long_text()),
    # [trait, …] and [uuid of a node, …], as requested.
    sa.Column('traits', Json, nullable=False),
    sa.Column('candidate_nodes', Json, nullable=False),
    sa.Column('extra', Json, nullable=False),
    sa.Index(None, 'owner'),
)

resource_providers = _records(
    'resource_providers',
    sa.Column('name', exact_string(200), nullable=False, unique=True),
    sa.Column('generation', sa.BigInteger, nullable=False, server_default='0'),
    # Trees refer to uuids, which never change, so that a provider's row has all that the API shows of it.
    sa.Column('parent_provider_uuid', ascii_string(36), sa.ForeignKey('resource_providers.uuid')),
    sa.Column('root_provider_uuid', ascii_string(36), nullable=False),
    # The node, and the normalized resource class of the node; both NULL for a provider that a client has created.
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id'), unique=True),
    sa.Column('resource_class_id', sa.Integer, sa.ForeignKey('resource_classes.id')),
    sa.Index(None, 'parent_provider_uuid'),
    sa.Index(None, 'root_provider_uuid'),
    sa.Index(None, 'resource_class_id'),
)


def _of_a_provider() -> sa.Column:
    """Return a column for the provider to which a row belongs, and with which it is deleted."""
    return sa.Column(
        'resource_provider_id',
        sa.Integer,
        sa.ForeignKey('resource_providers.id', ondelete='CASCADE'),
        primary_key=True,
    )


# For a node's provider, only the foreign traits, not the node's own (invariant 6).
resource_provider_traits = sa.Table(
    'resource_provider_traits',
    metadata,
    _of_a_provider(),
    sa.Column('trait_id', sa.Integer, sa.ForeignKey('traits.id'), primary_key=True),
    sa.Index('resource_provider_traits_trait_id_idx', 'trait_id', 'resource_provider_id'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

# An aggregate has no row of its own: it is only a uuid.
resource_provider_aggregates = sa.Table(
    'resource_provider_aggregates',
    metadata,
    _of_a_provider(),
    sa.Column('aggregate_uuid', ascii_string(36), primary_key=True),
    sa.Index('resource_provider_aggregates_aggregate_uuid_idx', 'aggregate_uuid', 'resource_provider_id'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)

# Nodes' providers have no rows here: their inventories are derived from the nodes (placement/capacity.py).
inventories = sa.Table(
    'inventories',
    metadata,
    _of_a_provider(),
    sa.Column('resource_class_id', sa.Integer, sa.ForeignKey('resource_classes.id'), primary_key=True),
    sa.Column('total', sa.Integer, nullable=False),
    sa.Column('reserved', sa.Integer, nullable=False),
    sa.Column('min_unit', sa.Integer, nullable=False),
    sa.Column('max_unit', sa.Integer, nullable=False),
    sa.Column('step_size', sa.Integer, nullable=False),
    sa.Column('allocation_ratio', sa.Double, nullable=False),
    sa.Column('created_at', timestamp(), nullable=False),
    sa.Column('updated_at', timestamp()),
    sa.Index('inventories_resource_class_id_idx', 'resource_class_id', 'resource_provider_id'),
    mysql_engine='InnoDB',
)

consumers = _records(
    'consumers',
    sa.Column('generation', sa.BigInteger, nullable=False, server_default='0'),
    sa.Column('project_id', exact_string(255), nullable=False),
    sa.Column('user_id', exact_string(255), nullable=False),
    # NULL for consumers that were created by requests without a type (before 1.38).
    sa.Column('consumer_type', ascii_string(255)),
    sa.Index(None, 'project_id', 'user_id'),
)

allocations = sa.Table(
    'allocations',
    metadata,
    sa.Column('consumer_id', sa.Integer, sa.ForeignKey('consumers.id'), primary_key=True),
    sa.Column('resource_provider_id', sa.Integer, sa.ForeignKey('resource_providers.id'), primary_key=True),
    sa.Column('resource_class_id', sa.Integer, sa.ForeignKey('resource_classes.id'), primary_key=True),
    sa.Column('used', sa.Integer, nullable=False),
    sa.Column('created_at', timestamp(), nullable=False),
    sa.Index('allocations_resource_provider_id_idx', 'resource_provider_id', 'resource_class_id', 'used'),
    sa.Index(None, 'resource_class_id'),
    mysql_engine='InnoDB',
)
