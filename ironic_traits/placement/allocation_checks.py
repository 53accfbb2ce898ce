"""Whether providers have room for claims."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.reservations import LIVE
from ironic_traits.placement import capacity, failures
from ironic_traits.placement.consumers import Claim

#: {uuid: row of a provider}.
Providers = Mapping[str, sa.Row]
#: {(uuid of a consumer, provider id, class id): amount}.
Used = Counter[tuple[str, int, int]]


class Amount(NamedTuple):
    """An amount of a resource class of a provider that a claim requests."""

    claim: Claim
    provider_id: int
    class_id: int
    amount: int


def amounts(claims: Sequence[Claim], providers: Providers, ids: Mapping[str, int]) -> list[Amount]:
    """Return [Amount, …] of all claims."""
    return [
        Amount(claim, providers[uuid].id, ids[name], amount)
        for claim in claims
        for uuid, resources in claim.resources.items()
        for name, amount in resources.items()
    ]


def used_by_consumers(connection: sa.Connection, consumer_ids: Iterable[int]) -> Used:
    """Return the allocations of consumers, as Counter of {(uuid of the consumer, provider id, class id): amount}."""
    columns = tables.allocations.c
    statement = (
        sa.select(tables.consumers.c.uuid, columns.resource_provider_id, columns.resource_class_id, columns.used)
        .join(tables.allocations, columns.consumer_id == tables.consumers.c.id)
        .where(tables.consumers.c.id.in_(consumer_ids))
    )
    rows = connection.execute(statement)
    return Counter({(row.uuid, row.resource_provider_id, row.resource_class_id): row.used for row in rows})


def used_of_providers(connection: sa.Connection, providers: Providers) -> dict[int, Counter[int]]:
    """Return the allocated amounts of providers, {provider id: Counter of {class id: amount}}."""
    used: dict[int, Counter[int]] = {provider.id: Counter() for provider in providers.values()}
    columns = tables.allocations.c
    key = columns.resource_provider_id, columns.resource_class_id
    statement = (
        sa.select(*key, sa.func.sum(columns.used).label('used'))
        .where(columns.resource_provider_id.in_(used))
        .group_by(*key)
    )
    for row in connection.execute(statement):
        used[row.resource_provider_id][row.resource_class_id] = int(row.used)
    return used


def check(
    connection: sa.Connection,
    providers: Providers,
    amounts: Sequence[Amount],
    before: Mapping[int, Counter[int]],
    own_before: Used,
) -> None:
    """Raise a failure unless providers have room for the requested amounts.

    An over-allocated inventory may keep its allocations or lose some. For that, ``before`` is compared, and for a node
    ``own_before``: if the node is not eligible, only the same consumer may keep its allocation. The instance of a
    node may always get one: ``nova-manage placement heal_allocations`` writes lost ones again.

    :param providers: {uuid: row}, locked. The present allocations of the claims' consumers are deleted already.
    :param amounts: [Amount, …].
    :param before: the result of ``used_of_providers`` before that.
    :param own_before: the result of ``used_by_consumers`` before that.
    """
    by_id = {provider.id: provider for provider in providers.values()}
    provider_ids = {each.provider_id for each in amounts}
    inventories = {
        (row.provider_id, row.class_id): row
        for row in capacity.rows(connection, tables.resource_providers.c.id.in_(provider_ids))
    }
    holders, instances = _reserved(connection, by_id, provider_ids), _instances(connection, by_id, provider_ids)
    sums: Counter[tuple[int, int]] = Counter()
    for each in amounts:
        sums[each.provider_id, each.class_id] += each.amount
    names = _names(connection, amounts)
    for claim, provider_id, class_id, amount in amounts:
        row, provider = inventories.get((provider_id, class_id)), by_id[provider_id]
        arguments = {'name': names[class_id], 'uuid': provider.uuid}
        if row is None:
            raise failures.InventoryInvalid(**arguments)
        if not row.min_unit <= amount <= row.max_unit or amount % row.step_size:
            raise failures.ConstraintsViolated(**arguments)
        used = _used_by_others(row, provider, holders, claim)
        after = used + sums[provider_id, class_id]
        allowed = before[provider_id][class_id]
        if provider.node_id:
            is_own = instances.get(provider.node_id) == claim.consumer
            allowed = row.total if is_own else own_before[claim.consumer, provider_id, class_id]
        if after > capacity.capacity(row) and after > allowed:
            raise failures.CapacityExceeded(**arguments)


def _used_by_others(row: sa.Row, provider: sa.Row, holders: Mapping[int, str], claim: Claim) -> int:
    """Return the used amount of an inventory without what the claim's consumer has reserved.

    Its allocations are deleted already.

    :param row: row of ``capacity.rows``.
    :param holders: the result of ``_reserved``.
    """
    used = int(row.used)
    # A reservation counts as one used unit. It must not keep its own instance from the node.
    return used - 1 if provider.node_id and holders.get(provider.node_id) == claim.consumer else used


def _reserved(
    connection: sa.Connection, providers: Mapping[int, sa.Row], provider_ids: Iterable[int]
) -> dict[int, str]:
    """Return {id of a node: uuid of the instance that has a live reservation of it}."""
    uuids = {providers[each].uuid: providers[each].node_id for each in provider_ids if providers[each].node_id}
    statement = sa.select(tables.reservations.c.node_uuid, tables.reservations.c.instance_uuid)
    rows = connection.execute(statement.where(tables.reservations.c.node_uuid.in_(uuids), LIVE)) if uuids else ()
    return {uuids[row.node_uuid]: row.instance_uuid for row in rows}


def _instances(
    connection: sa.Connection, providers: Mapping[int, sa.Row], provider_ids: Iterable[int]
) -> dict[int, str]:
    """Return {id of a node: uuid of its instance}."""
    columns = tables.nodes.c
    ids = [providers[each].node_id for each in provider_ids if providers[each].node_id]
    statement = sa.select(columns.id, columns.instance_uuid)
    rows = connection.execute(statement.where(columns.id.in_(ids), columns.instance_uuid.is_not(None))) if ids else ()
    return {row.id: row.instance_uuid for row in rows}


def _names(connection: sa.Connection, amounts: Iterable[Amount]) -> dict[int, str]:
    """Return {id of a resource class: name}."""
    ids = {each.class_id for each in amounts}
    columns = tables.resource_classes.c
    statement = sa.select(columns.id, columns.name).where(columns.id.in_(ids))
    return {row.id: row.name for row in connection.execute(statement)}
