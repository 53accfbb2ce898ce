"""Allocations: the resources of providers that consumers use: list, replace, delete.

A write locks all providers that it affects. A provider that is a node is locked by the node's lock first, so that
allocations and reservations of a node exclude each other.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import Writer, referring, retried
from ironic_traits.db.statements.annotations import Values
from ironic_traits.db.statements.joined import Write
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.core import node_providers
from ironic_traits.inventory.core.eligibility import EXPIRED
from ironic_traits.inventory.holds import promise_claims
from ironic_traits.placement import allocation_checks, consumers, failures, inventory_usage, node_claims
from ironic_traits.placement import inventories as provider_inventories
from ironic_traits.placement import resource_classes as classes
from ironic_traits.placement.allocation_checks import DemandedAmount, Inventories, Providers
from ironic_traits.placement.consumers import Demand
from ironic_traits.placement.inventories import Fields
from ironic_traits.placement.node_claims import NeedsClaim, never
from ironic_traits.placement.single_provider import bump, read, take_all, take_unlocked, write_and_bump

#: {uuid of a provider: (generation in the request, {resource class: {field: value}})}.
Reshapes = Mapping[str, tuple[int, Mapping[str, Fields]]]


def consumer_allocations(context: Context, uuid: str) -> tuple[sa.Row | None, Sequence[sa.Row]]:
    """Return the allocations of a consumer.

    :returns: (row of the consumer, [row with ``provider_uuid``, ``provider_generation``, ``resource_class``, ``used``,
        ``created_at``, …]); (None, []) if it has no allocations.
    """
    with context.read() as connection:
        consumer = connection.execute(sa.select(tables.consumers).where(tables.consumers.c.uuid == uuid)).first()
        rows = connection.execute(_LISTED.where(tables.consumers.c.uuid == uuid)).all()
    # Another transaction may have written the first allocations, or deleted the last ones, between the two statements.
    return (consumer, rows) if consumer and rows else (None, [])


def provider_allocations(context: Context, uuid: str) -> tuple[sa.Row, Sequence[sa.Row]]:
    """Return the allocations of a provider.

    :returns: (row of the provider, [row with ``consumer_uuid``, ``consumer_generation``, ``resource_class``, ``used``,
        ``created_at``, …]).
    """
    with context.read() as connection:
        provider = read(connection, uuid)
        return provider, connection.execute(_LISTED.where(tables.resource_providers.c.uuid == uuid)).all()


@promise_claims.beginning_again
@retried
def replace(context: Writer, demands: Sequence[Demand], needs_claim: NeedsClaim = never) -> None:
    """Replace the allocations of consumers, in one transaction.

    :param demands: [Demand, …].
    :param needs_claim: which mirrored nodes must be held in their clouds.
    :raises failures.UnknownProvider: a provider does not exist.
    :raises failures.ConcurrentUpdate: a consumer has another generation than its demand.
    :raises failures.InventoryInvalid: a provider has no inventory of a resource class.
    :raises failures.CapacityExceeded: a provider has less free capacity than requested.
    :raises failures.ConstraintsViolated: an amount violates ``min_unit``, ``max_unit`` or ``step_size``.
    :raises failures.NodeNotHeld: a mirrored node is not held in its cloud.
    :raises ironic_traits.failures.CapacityPromised: capacity reservations need a node. Imports do not check this.
    """
    with context.write() as connection:
        providers = _lock(connection, demands)
        node_claims.check(connection, demands, needs_claim)
        _write(context, connection, demands, providers)


@promise_claims.beginning_again
@retried
def replace_some(context: Writer, demands: Sequence[Demand]) -> set[str]:
    """Write the allocations of new consumers, of one provider each, as ``replace``, as far as it is possible at once.

    Consumers are left out that have allocations already, or whose provider is locked by others, or has no room.

    :returns: the uuids of the consumers that have got their allocations.
    :raises failures.PlacementFailure: what ``replace`` raises. Nothing was written then.
    """
    with context.write() as connection:
        providers = take_unlocked(connection, {uuid for demand in demands for uuid in demand.resources})
        known = consumers.known(connection, [demand.consumer for demand in demands])
        new = [demand for demand in demands if demand.consumer not in known]
        free = allocation_checks.with_room(connection, new, providers)
        if free:
            _write(context, connection, free, _lock(connection, free))
        return {demand.consumer for demand in free}


@promise_claims.beginning_again
@retried
def reshape(context: Context, reshapes: Reshapes, demands: Sequence[Demand], needs_claim: NeedsClaim = never) -> None:
    """Replace the inventories of providers and the allocations of consumers, in one transaction.

    :param needs_claim: as for ``replace``.
    :raises failures.ProviderNotFound: one of these providers does not exist.
    :raises failures.ConcurrentUpdate: one of these providers has another generation.
    :raises failures.InventoryInUse: an inventory that is to be deleted has allocations.
    :raises failures.PlacementFailure: what ``replace`` raises.
    """
    with context.write() as connection:
        providers = _lock(connection, demands, reshapes)
        node_claims.check(connection, demands, needs_claim)
        for uuid, (generation, _) in reshapes.items():
            if uuid not in providers:
                raise failures.ProviderNotFound(uuid=uuid)
            if generation != providers[uuid].generation:
                raise failures.ConcurrentUpdate(
                    reason=f'resource provider generation conflict for provider {uuid}: actual: '
                    f'{providers[uuid].generation}, given: {generation}'
                )
        ids = classes.check(connection, {name for _, inventories in reshapes.values() for name in inventories})
        reshaped = {
            uuid: {ids[name]: fields for name, fields in inventories.items()}
            for uuid, (_, inventories) in reshapes.items()
            if not providers[uuid].node_id
        }
        for uuid, inventories in reshaped.items():
            provider_inventories.put(connection, providers[uuid], inventories)
        # The generation moves twice, as in Placement, which writes inventories both before and after the allocations.
        moves = Counter({providers[uuid].id: 2 if inventories else 1 for uuid, inventories in reshaped.items()})
        _write(context, connection, demands, providers, moves)
        for uuid, inventories in reshaped.items():
            provider_inventories.keep(connection, providers[uuid], inventories)


@retried
def delete(context: Context, uuid: str) -> None:
    """Delete all allocations of a consumer.

    :raises failures.NotFound: the consumer has no allocations.
    """
    with context.write() as connection:
        demand = Demand(consumer=uuid, resources={}, project_id='', user_id='')
        providers = _lock(connection, [demand])
        statement = sa.select(tables.consumers).where(tables.consumers.c.uuid == uuid)
        consumer = connection.execute(prepared(statement.with_for_update())).first()
        if consumer is None:
            raise failures.NotFound(reason=f"No allocations for consumer '{uuid}'")
        before = used_of_nodes(connection, providers)
        connection.execute(sa.delete(tables.allocations).where(tables.allocations.c.consumer_id == consumer.id))
        connection.execute(sa.delete(tables.consumers).where(tables.consumers.c.id == consumer.id))
        _bump(connection, providers, before, Counter())


_LISTED = prepared(
    sa.select(
        tables.resource_providers.c.uuid.label('provider_uuid'),
        tables.resource_providers.c.generation.label('provider_generation'),
        tables.consumers.c.uuid.label('consumer_uuid'),
        tables.consumers.c.generation.label('consumer_generation'),
        tables.resource_classes.c.name.label('resource_class'),
        tables.allocations.c.used,
        tables.allocations.c.created_at,
        sa.null().label('updated_at'),
    )
    .select_from(tables.allocations)
    .join(tables.consumers, tables.consumers.c.id == tables.allocations.c.consumer_id)
    .join(tables.resource_providers, tables.resource_providers.c.id == tables.allocations.c.resource_provider_id)
    .join(tables.resource_classes, tables.resource_classes.c.id == tables.allocations.c.resource_class_id)
    .order_by(
        tables.allocations.c.consumer_id,
        tables.allocations.c.resource_provider_id,
        tables.allocations.c.resource_class_id,
    )
)


# These statements are built once: to build one for each call takes as long as to execute it.
# The uuids of the providers of which consumers have allocations.
_HELD_BY = prepared(
    sa.select(tables.resource_providers.c.uuid)
    .join(tables.allocations, tables.allocations.c.resource_provider_id == tables.resource_providers.c.id)
    .join(tables.consumers, tables.consumers.c.id == tables.allocations.c.consumer_id)
    .where(tables.consumers.c.uuid.in_(sa.bindparam('consumer_uuids')))
)
_INSERT = sa.insert(tables.allocations).values(
    {column.name: sa.bindparam(f'new_{column.name}') for column in tables.allocations.c}
)
_DELETE_OF = sa.delete(tables.allocations).where(tables.allocations.c.consumer_id.in_(sa.bindparam('consumer_ids')))


def _lock(connection: sa.Connection, demands: Sequence[Demand], more: Iterable[str] = ()) -> Providers:
    """Lock the providers that demands affect: those in the demands, and those of the consumers' present allocations.

    :param more: uuids of further providers.
    :returns: {uuid: row}.
    :raises failures.UnknownProvider: a provider in a demand does not exist.
    """
    requested = {uuid for demand in demands for uuid in demand.resources}
    # A demand with the generation None is that of a consumer without allocations: ``consumers`` checks that.
    consumer_uuids = {'consumer_uuids': [demand.consumer for demand in demands if demand.generation is not None]}
    present = _held_by(connection, consumer_uuids)
    providers = take_all(connection, requested.union(present, more))
    if not present >= _held_by(connection, consumer_uuids):
        # Before the locks were taken, a consumer got an allocation of a provider that is not locked now.
        raise db_exception.RetryRequest(consumers.lost())
    missing = sorted(requested.difference(providers))
    if missing:
        raise failures.UnknownProvider(uuid=missing[0])
    return providers


def _take_free_nodes(
    context: Writer,
    connection: sa.Connection,
    amounts: Iterable[DemandedAmount],
    providers: Providers,
    nodes_before: Mapping[int, int],
    projects: Mapping[int, str],
) -> None:
    """Check that capacity reservations leave the nodes to the projects of the consumers, if they are free, or move.

    :param nodes_before: the result of ``used_of_nodes`` before the write.
    :param projects: {provider id: the project that had an allocation of it before the write}.
    """
    rows = {provider.id: provider for provider in providers.values()}
    of_nodes = [each for each in amounts if each.provider_id in nodes_before]
    if not of_nodes or not isinstance(context, Context):
        return
    newest = rows[of_nodes[0].provider_id].newest_promise
    taken, moved = {}, {}
    for each in of_nodes:
        node_id, project = rows[each.provider_id].node_id, each.demand.project_id
        if not nodes_before[each.provider_id]:
            taken[node_id] = project
        # Without an allocation before, the instance of the consumer holds the node by a reservation.
        elif newest is not None and projects.get(each.provider_id, project) != project:
            moved[node_id] = project
    promise_claims.check_moved(context, connection, moved)
    if newest is not None and taken:
        # That of the consumer: others would have been refused. It counts for what it counted for before.
        has_instance = tables.nodes.c.id.in_(taken), tables.nodes.c.instance_uuid.is_not(None)
        for node_id in connection.scalars(sa.select(tables.nodes.c.id).where(*has_instance)).all():
            del taken[node_id]
    if taken:
        promise_claims.take(context, connection, taken, newest)


def _check_settled(connection: sa.Connection, providers: Providers) -> None:
    """Begin the transaction again if a reservation of a node has expired since the lock: it raises the generation."""
    reserved = [provider.uuid for provider in providers.values() if provider.has_reservation]
    if reserved and connection.scalar(
        sa.select(sa.exists().where(tables.reservations.c.node_uuid.in_(reserved), EXPIRED))
    ):
        raise db_exception.RetryRequest(consumers.lost())


def _held_by(connection: sa.Connection, parameters: Mapping[str, list[str]]) -> set[str]:
    return set(connection.scalars(_HELD_BY, parameters)) if parameters['consumer_uuids'] else set()


def _write(
    context: Writer,
    connection: sa.Connection,
    demands: Sequence[Demand],
    providers: Providers,
    moves: Counter[int] | None = None,
) -> None:
    """Write the allocations of demands, after all checks.

    :param providers: {uuid: row}, locked.
    :param moves: Counter of {provider id: by how much its generation increases for other reasons}; None if no
        generation does.
    """
    existing = consumers.check_generations(connection, demands)
    before = allocation_checks.inventories(connection, providers)
    ids = _class_ids(connection, demands, before)
    nodes_before = _of_nodes(before.values(), providers)
    consumer_ids = [consumer.id for consumer in existing.values()]
    own_before = allocation_checks.used_by_consumers(connection, consumer_ids)
    idle = [existing[demand.consumer].id for demand in demands if not demand.resources and demand.consumer in existing]
    written = _given_back(connection, idle)
    amounts = allocation_checks.amounts(demands, providers, ids)
    if consumer_ids:
        connection.execute(_DELETE_OF, {'consumer_ids': consumer_ids})
    if amounts:
        current = allocation_checks.inventories(connection, providers) if consumer_ids else before
        allocation_checks.check(connection, providers, amounts, current, before, own_before)
        _check_settled(connection, providers)
        projects = {provider_id: existing[consumer].project_id for consumer, provider_id, _ in own_before}
        _take_free_nodes(context, connection, amounts, providers, nodes_before, projects)
    ids_of_consumers = consumers.write(connection, demands, existing)
    rows = _rows(amounts, ids_of_consumers)
    if _takes_one_free_node(rows, providers, nodes_before) and not (consumer_ids or moves):
        # Nearly always. It raises the usage of the node, so the generation moves.
        (provider,) = providers.values()
        with referring():
            write_and_bump(connection, provider, [Write(_INSERT, {f'new_{name}': rows[0][name] for name in rows[0]})])
        return
    if rows:
        with referring():
            connection.execute(sa.insert(tables.allocations), rows)
    if idle:
        connection.execute(sa.delete(tables.consumers).where(tables.consumers.c.id.in_(idle)))
    # As in Placement, a provider moves once, also if its resources go from one consumer to another.
    written |= {each.provider_id for each in amounts}
    _bump(connection, providers, nodes_before, Counter(moves) + Counter(written))


def _rows(amounts: Iterable[DemandedAmount], consumer_ids: Mapping[str, int]) -> list[Values]:
    """Return the rows of new allocations.

    :param consumer_ids: {uuid: id}.
    """
    moment = now()
    return [
        {
            'consumer_id': consumer_ids[each.demand.consumer],
            'resource_provider_id': each.provider_id,
            'resource_class_id': each.class_id,
            'used': each.amount,
            'created_at': moment,
        }
        for each in amounts
    ]


def _takes_one_free_node(rows: Sequence[Values], providers: Providers, before: Mapping[int, int]) -> bool:
    """Whether new allocations are one of the only provider, which is a node that is neither used nor reserved.

    :param before: the result of ``used_of_nodes`` before the write.
    """
    return len(rows) == len(providers) == 1 and before.get(rows[0]['resource_provider_id']) == 0


def _class_ids(connection: sa.Connection, demands: Sequence[Demand], inventories: Inventories) -> dict[str, int]:
    """Return the ids of the resource classes in demands, {name: id}.

    :param inventories: of the providers in the demands.
    :raises failures.ResourceClassNotFound: one of them does not exist.
    """
    ids = {row.resource_class: row.class_id for row in inventories.values()}
    class_names = {name for demand in demands for resources in demand.resources.values() for name in resources}
    return ids if ids.keys() >= class_names else classes.check(connection, class_names)


def _bump(connection: sa.Connection, providers: Providers, before: Mapping[int, int], moves: Counter[int]) -> None:
    """Raise the generations of providers.

    That of a node's provider moves by 1 if its usage has changed. Those of the others move as ``moves`` says.

    :param before: the result of ``used_of_nodes`` before the write.
    :param moves: Counter of {provider id: by how much}.
    """
    after = used_of_nodes(connection, providers)
    changed = [each.node_id for each in providers.values() if each.node_id and before[each.id] != after[each.id]]
    if changed:
        # The locks of the nodes are UPDATEs, which exclude other machines of a cluster, too: nothing is to be checked.
        node_providers.bump_all(connection, changed)
    for provider in providers.values():
        if moves[provider.id] and not provider.node_id:
            bump(connection, provider, moves[provider.id])


def used_of_nodes(connection: sa.Connection, providers: Providers) -> dict[int, int]:
    """Return {id of a provider that is a node: used amount}. A reservation of the node counts as used."""
    ids = [provider.id for provider in providers.values() if provider.node_id]
    return _of_nodes(inventory_usage.rows_of(connection, ids), providers)


def _of_nodes(rows: Iterable[sa.Row], providers: Providers) -> dict[int, int]:
    """Return the used amounts in rows of ``inventory_usage.rows``, as ``used_of_nodes``."""
    ids = {provider.id for provider in providers.values() if provider.node_id}
    return {row.provider_id: row.used for row in rows if row.provider_id in ids}


def _given_back(connection: sa.Connection, idle: Collection[int]) -> set[int]:
    """Return the ids of the providers of the consumers whose demand is empty.

    :param idle: ids of these consumers.
    """
    if not idle:
        return set()
    statement = sa.select(tables.allocations.c.resource_provider_id).where(tables.allocations.c.consumer_id.in_(idle))
    return set(connection.scalars(statement))
