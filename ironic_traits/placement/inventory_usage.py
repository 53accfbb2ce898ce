"""Inventories of providers with their usage: those that clients store, and those that are derived from nodes.

A node's provider has one unit of the node's resource class:

- The unit is reserved while the node's state allows no instance, or it is a child (``node_providers.SCHEDULABLE``).
- It is used while the node has a live reservation, except for the reservation's own instance.
- It is used while it is allocated to a consumer.
"""

from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import no_row_of_few
from ironic_traits.inventory.core import mismatches, node_providers, trait_filters
from ironic_traits.inventory.core.eligibility import OF_NODE, RESERVED
from ironic_traits.matching.traits import Filter

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
#: Conditions on nodes and their providers, each of which means that the unit of the node is held, or not for use.
_HOLDS = (RESERVED, node_providers.HAS_ALLOCATIONS, mismatches.MISMATCHED)
#: Conditions on nodes and their providers: the unit of the node can be allocated. Those of ``eligibility.ELIGIBLE``,
#: with that on allocations in a form that needs fewer tables, and that the node is no child.
_FREE = (node_providers.SCHEDULABLE, *(~hold for hold in _HOLDS))
#: The same, for statements with a low limit.
_FEW_FREE = (node_providers.SCHEDULABLE, *map(no_row_of_few, _HOLDS))
_PROVIDER = tuple(tables.resource_providers.c[name] for name in ('id', 'uuid', 'root_provider_uuid'))
#: An amount that no inventory has. Larger ones may not fit into an integer of the database.
_TOO_MUCH = 2**31
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
    return connection.execute(_both(*conditions)).all()


def rows_of(connection: sa.Connection, provider_ids: Collection[int]) -> Sequence[sa.Row]:
    """Return the inventories of providers, as ``rows``.

    :param provider_ids: ids of providers.
    """
    return connection.execute(_ROWS_OF, {'provider_ids': list(provider_ids)}).all() if provider_ids else ()


def _both(*conditions: Condition) -> sa.CompoundSelect:
    return STORED.where(*conditions).union_all(DERIVED.where(*conditions)).order_by('class_id')


# Built once: to build it for each call takes as long as to execute it.
_ROWS_OF = prepared(_both(tables.resource_providers.c.id.in_(sa.bindparam('provider_ids'))))


def capacity(row: sa.Row) -> float:
    """Return the capacity of an inventory, used or not: an amount, which may be fractional.

    :param row: a row with FIELDS.
    """
    return (row.total - row.reserved) * row.allocation_ratio


def units(row: sa.Row) -> int:
    """Return the capacity of an inventory in whole units, limited to the range of a signed 64-bit integer.

    :param row: a row with FIELDS.
    """
    return whole_units(row.total, row.reserved, row.allocation_ratio)


def whole_units(total: int, reserved: int, allocation_ratio: float) -> int:
    """Return the capacity of an inventory as ``units``, from its fields."""
    return min(int((total - reserved) * allocation_ratio), 2**63 - 1)


def has_room(class_id: int, amount: int) -> Condition:
    """Return the condition on providers that an amount of a resource class can be allocated.

    :param class_id: id of the resource class.
    :param amount: 1 or more.
    """
    same = [statement.with_only_columns(tables.resource_providers.c.id) for statement in with_room({class_id: amount})]
    provider_ids = sa.union_all(*same).subquery()
    return tables.resource_providers.c.id.in_(sa.select(provider_ids.c.id))


def with_room(amounts: Mapping[int, int], nodes: bool = True) -> list[sa.Select]:
    """Return the SELECTs of the providers from which amounts can be allocated: those of clients, and those of nodes.

    :param amounts: {class id: amount}, the amounts 1 or more; empty for any providers.
    :param nodes: whether to include the providers of nodes.
    """
    statements = [select_client_providers(amounts)]
    if nodes and list(amounts.values()) == [1]:
        (class_id,) = amounts
        statements.append(select_node_providers().where(tables.resource_providers.c.resource_class_id == class_id))
    return statements


def select_client_providers(amounts: Mapping[int, int]) -> sa.Select:
    """Return the SELECT of the providers with stored inventories from which amounts can be allocated.

    :param amounts: {class id: amount}, the amounts 1 or more.
    :returns: SELECT of ``id``, ``uuid`` and ``root_provider_uuid``.

    For class 7 and amount 1::

        SELECT … FROM resource_providers JOIN inventories ON inventories.resource_provider_id = resource_providers.id
        WHERE inventories.resource_class_id = 7 AND min_unit <= 1 AND max_unit >= 1 AND 1 % step_size = 0
        AND (total - reserved) * allocation_ratio - (
            SELECT coalesce(sum(used), 0) FROM allocations
            WHERE resource_provider_id = inventories.resource_provider_id AND resource_class_id = 7) >= 1
    """
    statement = sa.select(*_PROVIDER)
    for class_id, amount in amounts.items():
        inventory = tables.inventories.alias()
        needed = sa.literal(min(amount, _TOO_MUCH), sa.BigInteger)
        table, allocations = inventory.c, tables.allocations.c
        same = allocations.resource_provider_id == table.resource_provider_id
        used = sa.select(sa.func.coalesce(sa.func.sum(allocations.used), 0)).where(
            same, allocations.resource_class_id == class_id
        )
        statement = statement.join(inventory, table.resource_provider_id == tables.resource_providers.c.id).where(
            table.resource_class_id == class_id,
            table.min_unit <= needed,
            table.max_unit >= needed,
            needed % table.step_size == 0,
            (table.total - table.reserved) * table.allocation_ratio - used.scalar_subquery() >= needed,
        )
    return statement


def select_node_providers(dialect: str = '', own_traits: Collection[str] = (), few: bool = False) -> sa.Select:
    """Return the SELECT of the providers of nodes of which the one unit can be allocated.

    The node must be eligible (``eligibility.ELIGIBLE``), and no child.

    :param dialect: name of SQLAlchemy's dialect, if there are traits.
    :param own_traits: that the nodes must have.
    :param few: whether a low limit leaves few nodes to read.
    :returns: SELECT of ``id``, ``uuid`` and ``root_provider_uuid`` from resource_providers and nodes.
    """
    free = _FEW_FREE if few else _FREE
    is_node = tables.nodes.c.id == tables.resource_providers.c.node_id
    if own_traits:
        providers = sa.select(*_PROVIDER).where(is_node, *free)
        return trait_filters.begin_with(providers, dialect, Filter(all_of=frozenset(own_traits)))
    return sa.select(*_PROVIDER).select_from(tables.resource_providers).join(tables.nodes, is_node).where(*free)
