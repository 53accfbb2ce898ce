"""The tables of inspection: rules, the data of nodes, and expectations of rules that nodes do not meet."""

import sqlalchemy as sa

from ironic_traits.db.statements.types import Json, ascii_string, exact_string, long_bytes, long_text, timestamp
from ironic_traits.db.tables.base import metadata, records_table

inspection_rules = records_table(
    'inspection_rules',
    # NAME in the rule's source, which is rule:NAME; NULL for a rule whose source is rule:UUID.
    sa.Column('name', ascii_string(59), unique=True),
    sa.Column('description', exact_string(255)),
    # Rules with a higher priority run first.
    sa.Column('priority', sa.Integer, nullable=False),
    sa.Column('phase', ascii_string(16)),
    sa.Column('sensitive', sa.Boolean, nullable=False),
    # [condition, …] and [action, …], as the client wrote them.
    sa.Column('conditions', Json, nullable=False),
    sa.Column('actions', Json, nullable=False),
)

# The data of the last inspection of a node, and of the inspection before. It is in a separate table, so that reads of
# nodes do not read it.
node_inventories = sa.Table(
    'node_inventories',
    metadata,
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id', ondelete='CASCADE'), primary_key=True),
    # By the database's clock.
    sa.Column('received_at', timestamp(), nullable=False),
    # {"inventory": {…}, "plugin_data": {…}} as JSON, compressed by zlib.
    sa.Column('data', long_bytes(), nullable=False),
    sa.Column('previous_received_at', timestamp()),
    sa.Column('previous_data', long_bytes()),
    # The firmware in the last data (``inventory.inspection.firmware``), so that it is counted without reading the data.
    sa.Column('firmware', Json),
    mysql_engine='InnoDB',
)

# The nodes whose BMC is to be read again. That changes no state of a node, so it is no transition.
inventory_refreshes = sa.Table(
    'inventory_refreshes',
    metadata,
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id', ondelete='CASCADE'), primary_key=True),
    # By the database's clock.
    sa.Column('due_at', timestamp(), nullable=False),
    # Id of a worker's claim; NULL while no worker has claimed it.
    sa.Column('lease', ascii_string(36)),
    sa.Column('leased_until', timestamp()),
    sa.Index(None, 'due_at'),
    mysql_engine='InnoDB',
)

# The rules whose expectations a node did not meet when they last ran. Such a node is not offered to instances.
node_mismatches = sa.Table(
    'node_mismatches',
    metadata,
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id', ondelete='CASCADE'), primary_key=True),
    # Name of the rule.
    sa.Column('rule', ascii_string(59), primary_key=True),
    # The differences from the expectations, one sentence per line.
    sa.Column('message', long_text(), nullable=False),
    sa.Column('since', timestamp(), nullable=False),
    sa.Index(None, 'rule'),
    sqlite_with_rowid=False,
    mysql_engine='InnoDB',
)
