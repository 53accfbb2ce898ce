"""Inventories of providers with their capacity and usage: stored ones, and those that are derived from nodes.

A node's provider has one unit of the node's resource class:

- The unit is reserved while the node's state allows no instance, or it is a child (``node_providers.SCHEDULABLE``).
- It is used while the node has a live reservation, except for the reservation's own instance.
- It is used while it is allocated to a consumer.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.annotations import Condition
from ironic_traits.inventory import node_providers
from ironic_traits.inventory.eligibility import ELIGIBLE, OF_NODE

#: The fields of an inventory in the API.
FIELDS = ('total', 'reserved', 'min_unit', 'max_unit', 'step_size', 'allocation_ratio')

_KEY = (tables.resource_providers.c.id.label('provider_id'), tables.resource_classes.c.id.label('class_id'))
#: SELECT coalesce(sum(used), 0) FROM allocations
#: WHERE resource_provider_id = resource_providers.id AND resource_class_id = resource_classes.id
_ALLOCATED = (
    sa.select(sa.func.coalesce(sa.func.sum(tables.allocations.c.used), 0))
    .where(
        tables.allocations.c.resource_provider_id == tables.resource_providers.c.id,
        tables.allocations.c.resource_class_id == tables.resource_classes.c.id,
    )
    .correlate(tables.resource_providers, tables.resource_classes)
    .scalar_subquery()
)
#: Condition on nodes: the node has a live reservation for an instance to which it is not allocated yet.
#:
#: EXISTS (SELECT * FROM reservations WHERE node_uuid = nodes.uuid AND LIVE AND NOT EXISTS (
#:     SELECT * FROM allocations, consumers WHERE resource_provider_id = resource_providers.id
#:     AND consumer_id = consumers.id AND consumers.uuid = reservations.instance_uuid))
_HELD = (
    sa.exists()
    .where(
        OF_NODE,
        # With an explicit ``correlate``: by default, a subquery correlates only to the statement directly around it.
        ~sa.exists()
        .where(
            tables.allocations.c.resource_provider_id == tables.resource_providers.c.id,
            tables.allocations.c.consumer_id == tables.consumers.c.id,
            tables.consumers.c.uuid == tables.reservations.c.instance_uuid,
        )
        .correlate(tables.resource_providers, tables.reservations),
    )
    .correlate(tables.nodes, tables.resource_providers)
)
_TIMES = ('created_at', 'updated_at')
#: The stored inventories:
#:
#: SELECT resource_providers.id AS provider_id, resource_classes.id AS class_id,
#:     resource_classes.name AS resource_class, total, reserved, min_unit, max_unit, step_size, allocation_ratio,
#:     created_at, updated_at, (_ALLOCATED) AS used
#: FROM inventories JOIN resource_providers ON … JOIN resource_classes ON …
STORED = (
    sa.select(
        *_KEY,
        tables.resource_classes.c.name.label('resource_class'),
        *(tables.inventories.c[name] for name in (*FIELDS, *_TIMES)),
        _ALLOCATED.label('used'),
    )
    .select_from(tables.inventories)
    .join(tables.resource_providers, tables.resource_providers.c.id == tables.inventories.c.resource_provider_id)
    .join(tables.resource_classes, tables.resource_classes.c.id == tables.inventories.c.resource_class_id)
)
_ONE = {field: sa.literal(1.0 if field == 'allocation_ratio' else 1).label(field) for field in FIELDS}
_RESERVED = sa.case((node_providers.SCHEDULABLE, 0), else_=1).label('reserved')
#: The inventories that are derived from nodes, with the same columns:
#:
#: SELECT …, 1 AS total, CASE WHEN SCHEDULABLE THEN 0 ELSE 1 END AS reserved, 1 AS min_unit, 1 AS max_unit,
#:     1 AS step_size, 1.0 AS allocation_ratio, …, (_ALLOCATED) + CASE WHEN _HELD THEN 1 ELSE 0 END AS used
#: FROM resource_providers JOIN resource_classes ON … JOIN nodes ON nodes.id = resource_providers.node_id
DERIVED = (
    sa.select(
        *_KEY,
        tables.resource_classes.c.name.label('resource_class'),
        *(_ONE | {'reserved': _RESERVED}).values(),
        *(tables.resource_providers.c[name] for name in _TIMES),
        (_ALLOCATED + sa.case((_HELD, 1), else_=0)).label('used'),
    )
    .select_from(tables.resource_providers)
    .join(tables.resource_classes, tables.resource_classes.c.id == tables.resource_providers.c.resource_class_id)
    .join(tables.nodes, tables.nodes.c.id == tables.resource_providers.c.node_id)
)


def rows(connection: sa.Connection, *conditions: Condition) -> Sequence[sa.Row]:
    """Return the inventories that fulfil conditions, stored and derived ones.

    :param conditions: on ``resource_providers`` and ``resource_classes``.
    :returns: [row with ``provider_id``, ``class_id``, ``resource_class`` (the name), FIELDS, ``created_at``,
        ``updated_at`` and ``used`` (an amount), …], sorted by class id.
    """
    both = STORED.where(*conditions).union_all(DERIVED.where(*conditions))
    return connection.execute(both.order_by('class_id')).all()


def capacity(row: sa.Row) -> float:
    """Return the capacity of an inventory, used or not: an amount, which may be fractional.

    :param row: a row with FIELDS.
    """
    return (row.total - row.reserved) * row.allocation_ratio


def units(row: sa.Row) -> int:
    """Return the capacity of an inventory in whole units, limited to the range of a signed 64-bit integer.

    :param row: a row with FIELDS.
    """
    return min(int(capacity(row)), 2**63 - 1)


def has_room(class_id: int, amount: int) -> Condition:
    """Return the condition on providers that an amount of a resource class can be allocated.

    For a node's provider, the node must be eligible (``eligibility.ELIGIBLE``), and no child.

    :param class_id: id of the resource class.
    :param amount: 1 or more.

    The SQL for class 7 and amount 1::

        (SELECT (total - reserved) * allocation_ratio - (
                SELECT coalesce(sum(used), 0) FROM allocations
                WHERE resource_provider_id = inventories.resource_provider_id AND resource_class_id = 7)
            FROM inventories
            WHERE resource_provider_id = resource_providers.id AND resource_class_id = 7
            AND min_unit <= 1 AND max_unit >= 1 AND 1 % step_size = 0) >= 1
        OR resource_providers.resource_class_id = 7
            AND EXISTS (SELECT * FROM nodes WHERE nodes.id = resource_providers.node_id
                AND ELIGIBLE AND parent_node IS NULL)

    The part after OR is there for amount 1 only, because a node has one unit.
    """
    table = tables.inventories.c
    used = (
        sa.select(sa.func.coalesce(sa.func.sum(tables.allocations.c.used), 0))
        .where(
            tables.allocations.c.resource_provider_id == table.resource_provider_id,
            tables.allocations.c.resource_class_id == class_id,
        )
        .scalar_subquery()
    )
    left = (
        sa.select((table.total - table.reserved) * table.allocation_ratio - used)
        .where(
            table.resource_provider_id == tables.resource_providers.c.id,
            table.resource_class_id == class_id,
            table.min_unit <= amount,
            table.max_unit >= amount,
            amount % table.step_size == 0,
        )
        .correlate(tables.resource_providers)
        .scalar_subquery()
    )
    # A comparison with a number, not EXISTS: for EXISTS, PostgreSQL reads all inventories first. Mostly, traits or a
    # limit leave few providers.
    stored = left >= amount
    if amount > 1:
        return stored
    node = (
        sa.exists()
        .where(tables.nodes.c.id == tables.resource_providers.c.node_id, ELIGIBLE, tables.nodes.c.parent_node.is_(None))
        .correlate(tables.resource_providers)
    )
    return sa.or_(stored, sa.and_(tables.resource_providers.c.resource_class_id == class_id, node))
