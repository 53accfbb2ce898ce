"""How much of each inventory is there, how much of it is used: what is stored of providers, and derived of nodes.

A node has one unit of its class, which nobody gets while the node could not be had, which a live reservation uses for
everyone but its own instance, and which is one consumer's when it is allocated.
"""

import sqlalchemy as sa

from ironic_traits.db.models import (
    allocations,
    consumers,
    inventories,
    nodes,
    reservations,
    resource_classes,
    resource_providers,
)
from ironic_traits.inventory import node_providers
from ironic_traits.inventory.eligibility import ELIGIBLE, OF_NODE

#: What a client says of an inventory, and reads of it.
FIELDS = ('total', 'reserved', 'min_unit', 'max_unit', 'step_size', 'allocation_ratio')

_KEY = (resource_providers.c.id.label('provider_id'), resource_classes.c.id.label('class_id'))
_ALLOCATED = (
    sa.select(sa.func.coalesce(sa.func.sum(allocations.c.used), 0))
    .where(
        allocations.c.resource_provider_id == resource_providers.c.id,
        allocations.c.resource_class_id == resource_classes.c.id,
    )
    .correlate(resource_providers, resource_classes)
    .scalar_subquery()
)
#: That a node's live reservation is for an instance to which the node is not allocated yet.
_HELD = (
    sa.exists()
    .where(
        OF_NODE,
        # Named, because by itself a subquery is correlated to the statement directly around it only.
        ~sa.exists()
        .where(
            allocations.c.resource_provider_id == resource_providers.c.id,
            allocations.c.consumer_id == consumers.c.id,
            consumers.c.uuid == reservations.c.instance_uuid,
        )
        .correlate(resource_providers, reservations),
    )
    .correlate(nodes, resource_providers)
)
_TIMES = ('created_at', 'updated_at')
STORED = (
    sa.select(
        *_KEY,
        resource_classes.c.name.label('resource_class'),
        *(inventories.c[name] for name in (*FIELDS, *_TIMES)),
        _ALLOCATED.label('used'),
    )
    .select_from(inventories)
    .join(resource_providers, resource_providers.c.id == inventories.c.resource_provider_id)
    .join(resource_classes, resource_classes.c.id == inventories.c.resource_class_id)
)
_ONE = {field: sa.literal(1.0 if field == 'allocation_ratio' else 1).label(field) for field in FIELDS}
_RESERVED = sa.case((node_providers.OFFERED, 0), else_=1).label('reserved')
DERIVED = (
    sa.select(
        *_KEY,
        resource_classes.c.name.label('resource_class'),
        *(_ONE | {'reserved': _RESERVED}).values(),
        *(resource_providers.c[name] for name in _TIMES),
        (_ALLOCATED + sa.case((_HELD, 1), else_=0)).label('used'),
    )
    .select_from(resource_providers)
    .join(resource_classes, resource_classes.c.id == resource_providers.c.resource_class_id)
    .join(nodes, nodes.c.id == resource_providers.c.node_id)
)


def rows(connection, *conditions):
    """Give the inventories of the providers that conditions hold for.

    :param conditions: on ``resource_providers`` and ``resource_classes``.
    :returns: rows with ``provider_id``, ``class_id``, ``resource_class``, FIELDS, ``created_at``, ``updated_at`` and
        ``used``, by class.
    """
    both = STORED.where(*conditions).union_all(DERIVED.where(*conditions))
    return connection.execute(both.order_by('class_id')).all()


def capacity(row):
    """Give how much of an inventory there is in all."""
    return (row.total - row.reserved) * row.allocation_ratio


def units(row):
    """Give how much of an inventory there is in all, in whole units: no more than JSON can say in 64 bits."""
    return min(int(capacity(row)), 2**63 - 1)


def has_room(class_id, amount):
    """Give the condition on providers that so much can be had of a resource class."""
    table = inventories.c
    used = (
        sa.select(sa.func.coalesce(sa.func.sum(allocations.c.used), 0))
        .where(
            allocations.c.resource_provider_id == table.resource_provider_id,
            allocations.c.resource_class_id == class_id,
        )
        .scalar_subquery()
    )
    left = (
        sa.select((table.total - table.reserved) * table.allocation_ratio - used)
        .where(
            table.resource_provider_id == resource_providers.c.id,
            table.resource_class_id == class_id,
            table.min_unit <= amount,
            table.max_unit >= amount,
            amount % table.step_size == 0,
        )
        .correlate(resource_providers)
        .scalar_subquery()
    )
    # A number and not EXISTS, for which PostgreSQL looks at all inventories first: traits or a limit mostly leave few.
    stored = left >= amount
    if amount > 1:
        return stored
    node = sa.exists().where(nodes.c.id == resource_providers.c.node_id, ELIGIBLE).correlate(resource_providers)
    return sa.or_(stored, sa.and_(resource_providers.c.resource_class_id == class_id, node))
