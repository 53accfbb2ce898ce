"""The tables of the holders of nodes, except the allocations of Placement."""

import sqlalchemy as sa

from ironic_traits.db.statements.types import Json, ascii_string, exact_string, long_text, timestamp
from ironic_traits.db.tables.base import metadata, records_table
from ironic_traits.db.tables.nodes import HAS_ORIGIN

reservations = records_table(
    'reservations',
    # A node, or an instance, has at most one reservation. A writer that needs the key of an expired one deletes it.
    sa.Column(
        'node_uuid', ascii_string(36), sa.ForeignKey('nodes.uuid', ondelete='CASCADE'), nullable=False, unique=True
    ),
    sa.Column('instance_uuid', ascii_string(36), nullable=False, unique=True),
    sa.Column('expires_at', timestamp()),
    sa.Index(None, 'expires_at'),
)

# Ironic's allocations. (Those of Placement are in ``allocations``.) An active allocation holds its node by the node's
# instance_uuid. An allocation in the state "error" has no node.
#
# Allocations of clouds are rows of this table, too, with the cloud as their origin. Therefore lists, filters, paging
# and the rules for projects work in the same way, and a node has at most one allocation. Adoption removes the origin.
node_allocations = records_table(
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
    # The cloud of the allocation; NULL if it is this service's own.
    sa.Column('origin', ascii_string(57)),
    sa.Index(None, 'owner'),
    sa.Index(None, 'origin', sqlite_where=HAS_ORIGIN, postgresql_where=HAS_ORIGIN),
)

# Promises of a number of nodes that match a request, for a project.
capacity_reservations = records_table(
    'capacity_reservations',
    sa.Column('name', exact_string(255), nullable=False, unique=True),
    sa.Column('project', exact_string(255), nullable=False),
    sa.Column('number', sa.Integer, nullable=False),
    # {'filters': {filter: value}, 'requirements': {argument of ``matching.requests.understand``: value}}, and, if all
    # nodes must be in one group, {'topology': as in a request, 'groups': {key: group}}
    sa.Column('request', long_text(), nullable=False),
    sa.Column('expires_at', timestamp()),
    # Raised by each transaction that takes nodes that match the promise, or one that it overlaps with.
    sa.Column('generation', sa.BigInteger, nullable=False, server_default='0'),
)
# Which promise a node was taken for. A row counts while something holds the node. Who takes the node next replaces it.
capacity_uses = sa.Table(
    'capacity_uses',
    metadata,
    sa.Column('node_id', sa.Integer, sa.ForeignKey('nodes.id', ondelete='CASCADE'), primary_key=True),
    sa.Column(
        'capacity_reservation_id',
        sa.Integer,
        sa.ForeignKey('capacity_reservations.id', ondelete='CASCADE'),
        nullable=False,
        index=True,
    ),
    mysql_engine='InnoDB',
)
