"""The consumers to whom nodes are allocated in Placement."""

from collections.abc import Collection

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.prepared import prepared

# An alias, because the surrounding statement may also select from resource_providers.
_provider = tables.resource_providers.alias('provider_of_node')
_ALLOCATIONS = (
    sa.select(tables.allocations.c.consumer_id)
    .join(_provider, _provider.c.id == tables.allocations.c.resource_provider_id)
    .where(_provider.c.node_id == tables.nodes.c.id)
    .correlate(tables.nodes)
)
_CONSUMERS = _ALLOCATIONS.join(
    tables.consumers, tables.consumers.c.id == tables.allocations.c.consumer_id
).with_only_columns(tables.consumers.c.uuid)
#: ALLOCATED is the condition on nodes that a node is allocated to a consumer. CONSUMER is the uuid of that consumer, as
#: a column of a SELECT from nodes.
ALLOCATED = _ALLOCATIONS.exists()
CONSUMER = _CONSUMERS.limit(1).scalar_subquery().label('consumer_uuid')


def allocated_to_others(consumer: str) -> Condition:
    """Return the condition on nodes that a node is allocated to a consumer other than this one (a uuid)."""
    return _CONSUMERS.where(tables.consumers.c.uuid != consumer).exists()


def allocated_nodes(consumer: str | None) -> sa.Select:
    """Return the SELECT of the ids of the nodes that are allocated to other consumers.

    :param consumer: uuid of the consumer that does not count; None to select all allocated nodes.
    """
    nodes = sa.select(_provider.c.node_id).join(
        tables.allocations, tables.allocations.c.resource_provider_id == _provider.c.id
    )
    others = tables.consumers.c.uuid != consumer, tables.consumers.c.id == tables.allocations.c.consumer_id
    statement = nodes.join(tables.consumers, sa.and_(*others)) if consumer else nodes
    return statement.where(_provider.c.node_id.is_not(None))


def has_allocations(consumer: str) -> sa.Select:
    """Return the SELECT of whether a consumer (a uuid) has allocations. Only consumers with allocations are stored."""
    return prepared(sa.select(sa.exists().where(tables.consumers.c.uuid == consumer)))


def allocated_to(consumer: str) -> Condition:
    """Return the condition on nodes that a node is allocated to this consumer (a uuid)."""
    provider_ids = sa.select(tables.allocations.c.resource_provider_id).join(
        tables.consumers, tables.consumers.c.id == tables.allocations.c.consumer_id
    )
    return tables.nodes.c.id.in_(
        sa.select(tables.resource_providers.c.node_id).where(
            tables.resource_providers.c.id.in_(provider_ids.where(tables.consumers.c.uuid == consumer)),
            tables.resource_providers.c.node_id.is_not(None),
        )
    )


def with_nodes(consumers: Collection[str], *columns: sa.ColumnElement) -> sa.Select:
    """Return the SELECT of the nodes that are allocated to consumers.

    :param consumers: uuids.
    :param columns: columns of nodes. The uuid of the consumer, ``instance``, is before them.
    """
    return (
        sa.select(tables.consumers.c.uuid.label('instance'), *columns)
        .join_from(tables.consumers, tables.allocations, tables.allocations.c.consumer_id == tables.consumers.c.id)
        .join(_provider, _provider.c.id == tables.allocations.c.resource_provider_id)
        .join(tables.nodes, tables.nodes.c.id == _provider.c.node_id)
        .where(tables.consumers.c.uuid.in_(consumers))
    )


def check_allocation(connection: sa.Connection, node: sa.Row, consumer: str | None = None) -> None:
    """Raise NodeAllocated if a node is allocated to another consumer.

    :param node: a row with ``id`` and ``uuid``.
    :param consumer: uuid; None if no consumer may have the node.
    :raises failures.NodeAllocated: the node is allocated to another consumer.
    """
    holder = connection.scalar(
        prepared(sa.select(CONSUMER).select_from(tables.nodes).where(tables.nodes.c.id == node.id))
    )
    if holder not in (None, consumer):
        raise failures.NodeAllocated(node=node.uuid, consumer=holder)
