"""Whether providers have room for demands."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.holds.reservations import LIVE
from ironic_traits.placement import failures, inventory_usage
from ironic_traits.placement.consumers import Demand

#: {uuid: row of a provider}.
Providers = Mapping[str, sa.Row]
#: {(uuid of a consumer, provider id, class id): amount}.
Used = Counter[tuple[str, int, int]]
#: {(provider id, class id): row of ``inventory_usage.rows``}.
Inventories = Mapping[tuple[int, int], sa.Row]

# Built once: to build it for each call takes as long as to execute it.
_USED_BY = (
    sa.select(
        tables.consumers.c.uuid,
        tables.allocations.c.resource_provider_id,
        tables.allocations.c.resource_class_id,
        tables.allocations.c.used,
    )
    .join(tables.allocations, tables.allocations.c.consumer_id == tables.consumers.c.id)
    .where(tables.consumers.c.id.in_(sa.bindparam('consumer_ids')))
)
_RESERVED = sa.select(tables.reservations.c.node_uuid, tables.reservations.c.instance_uuid).where(
    tables.reservations.c.node_uuid.in_(sa.bindparam('node_uuids')), LIVE
)
_INSTANCES = sa.select(tables.nodes.c.id, tables.nodes.c.instance_uuid).where(
    tables.nodes.c.id.in_(sa.bindparam('node_ids')), tables.nodes.c.instance_uuid.is_not(None)
)


class DemandedAmount(NamedTuple):
    """An amount of a resource class of a provider that a demand requests."""

    demand: Demand
    provider_id: int
    class_id: int
    class_name: str
    amount: int


def amounts(demands: Sequence[Demand], providers: Providers, ids: Mapping[str, int]) -> list[DemandedAmount]:
    """Return [DemandedAmount, …] of all demands."""
    return [
        DemandedAmount(demand, providers[uuid].id, ids[name], name, amount)
        for demand in demands
        for uuid, resources in demand.resources.items()
        for name, amount in resources.items()
    ]


def used_by_consumers(connection: sa.Connection, consumer_ids: Collection[int]) -> Used:
    """Return the allocations of consumers, as Counter of {(uuid of the consumer, provider id, class id): amount}."""
    rows = connection.execute(_USED_BY, {'consumer_ids': list(consumer_ids)}) if consumer_ids else ()
    return Counter({(row.uuid, row.resource_provider_id, row.resource_class_id): row.used for row in rows})


def inventories(connection: sa.Connection, providers: Providers) -> Inventories:
    """Return the inventories of providers with their usage."""
    rows = inventory_usage.rows_of(connection, {provider.id for provider in providers.values()})
    return {(row.provider_id, row.class_id): row for row in rows}


def with_room(connection: sa.Connection, demands: Iterable[Demand], providers: Providers) -> list[Demand]:
    """Return the demands for which these providers have room beside what is used, each alone.

    :param providers: {uuid: row}, locked.
    """
    rows = {
        (row.provider_id, row.resource_class): row
        for row in inventory_usage.rows_of(connection, {provider.id for provider in providers.values()})
    }

    def has_room(uuid: str, name: str, amount: int) -> bool:
        row = rows.get((providers[uuid].id, name)) if uuid in providers else None
        return row is not None and int(row.used) + amount <= inventory_usage.capacity(row)

    return [
        demand
        for demand in demands
        if all(has_room(uuid, *each) for uuid, resources in demand.resources.items() for each in resources.items())
    ]


def check(
    connection: sa.Connection,
    providers: Providers,
    amounts: Sequence[DemandedAmount],
    current: Inventories,
    before: Inventories,
    own_before: Used,
) -> None:
    """Raise a failure unless providers have room for the requested amounts.

    An over-allocated inventory may keep its allocations or lose some. For that, ``before`` is compared, and for a node
    ``own_before``: if the node is not eligible, only the same consumer may keep its allocation. The instance of a
    node may always get one: ``nova-manage placement heal_allocations`` writes lost ones again.

    :param providers: {uuid: row}, locked. The present allocations of the demands' consumers are deleted already.
    :param amounts: [DemandedAmount, …].
    :param current: the result of ``inventories``.
    :param before: the result of ``inventories`` before the deletion.
    :param own_before: the result of ``used_by_consumers`` before the deletion.
    """
    by_id = {provider.id: provider for provider in providers.values()}
    provider_ids = {each.provider_id for each in amounts}
    instances: dict[int, str] | None = None
    sums: Counter[tuple[int, int]] = Counter()
    for each in amounts:
        sums[each.provider_id, each.class_id] += each.amount
    for demand, provider_id, class_id, name, amount in amounts:
        row, provider = current.get((provider_id, class_id)), by_id[provider_id]
        arguments = {'name': name, 'uuid': provider.uuid}
        if row is None:
            raise failures.InventoryInvalid(**arguments)
        if not row.min_unit <= amount <= row.max_unit or amount % row.step_size:
            raise failures.ConstraintsViolated(**arguments)
        if int(row.used) + sums[provider_id, class_id] <= inventory_usage.capacity(row):
            continue
        if instances is None:
            holders, instances = _reserved(connection, by_id, provider_ids), _instances(connection, by_id, provider_ids)
            # Read again: a reservation that has expired since the first time holds nothing, and still counts there.
            current = inventories(connection, providers)
            row = current[provider_id, class_id]
        used = _used_by_others(row, provider, holders, demand)
        after = used + sums[provider_id, class_id]
        allowed = int(before[provider_id, class_id].used)
        if provider.node_id:
            is_own = instances.get(provider.node_id) == demand.consumer
            allowed = row.total if is_own else own_before[demand.consumer, provider_id, class_id]
        if after > inventory_usage.capacity(row) and after > allowed:
            raise failures.CapacityExceeded(**arguments)


def _used_by_others(row: sa.Row, provider: sa.Row, holders: Mapping[int, str], demand: Demand) -> int:
    """Return the used amount of an inventory without what the demand's consumer has reserved.

    Its allocations are deleted already.

    :param row: row of ``inventory_usage.rows``.
    :param holders: the result of ``_reserved``.
    """
    used = int(row.used)
    # A reservation counts as one used unit. It must not keep its own instance from the node.
    return used - 1 if provider.node_id and holders.get(provider.node_id) == demand.consumer else used


def _reserved(
    connection: sa.Connection, providers: Mapping[int, sa.Row], provider_ids: Iterable[int]
) -> dict[int, str]:
    """Return {id of a node: uuid of the instance that has a live reservation of it}."""
    uuids = {providers[each].uuid: providers[each].node_id for each in provider_ids if providers[each].node_id}
    rows = connection.execute(_RESERVED, {'node_uuids': list(uuids)}) if uuids else ()
    return {uuids[row.node_uuid]: row.instance_uuid for row in rows}


def _instances(
    connection: sa.Connection, providers: Mapping[int, sa.Row], provider_ids: Iterable[int]
) -> dict[int, str]:
    """Return {id of a node: uuid of its instance}."""
    ids = [providers[each].node_id for each in provider_ids if providers[each].node_id]
    rows = connection.execute(_INSTANCES, {'node_ids': ids}) if ids else ()
    return {row.id: row.instance_uuid for row in rows}
