"""Allocations: what consumers take from providers; list, replace, delete.

What is asked for is decided under the locks of all providers that it touches, the nodes among them first: an allocation
of a node and a reservation of it are decided by the same lock.
"""

import dataclasses
from collections import Counter

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.db.engine import referring, retried
from ironic_traits.db.models import allocations, consumers, reservations, resource_classes, resource_providers
from ironic_traits.db.types import now
from ironic_traits.inventory.reservations import LIVE
from ironic_traits.placement import capacity, failures
from ironic_traits.placement import inventories as provider_inventories
from ironic_traits.placement import resource_classes as classes
from ironic_traits.placement.single_provider import bump, read, take_all

#: The generation of a claim whose client does not know of any.
ANY = object()


@dataclasses.dataclass(frozen=True)
class Claim:
    """What one consumer is to have, in place of what it has.

    :ivar consumer: uuid.
    :ivar resources: {uuid of a provider: {resource class: amount}}; empty for nothing.
    :ivar project_id: whose it is.
    :ivar user_id: whose it is.
    :ivar consumer_type: None when the client does not say.
    :ivar generation: the consumer's that the client knows, None for a new consumer; ANY when it does not say.
    """

    consumer: str
    resources: dict
    project_id: str
    user_id: str
    consumer_type: str | None = None
    generation: object = ANY


def of_consumer(context, uuid):
    """Give what a consumer has.

    :returns: (the consumer's row, None for none; rows with ``provider_uuid``, ``provider_generation``,
        ``resource_class``, ``used``, ``created_at``).
    """
    with context.read() as connection:
        consumer = connection.execute(sa.select(consumers).where(consumers.c.uuid == uuid)).first()
        return consumer, connection.execute(_LISTED.where(consumers.c.uuid == uuid)).all()


def of_provider(context, uuid):
    """Give what consumers have of a provider.

    :returns: (the provider's row, rows with ``consumer_uuid``, ``consumer_generation``, ``resource_class``, ``used``,
        ``created_at``).
    :raises failures.ProviderNotFound: there is no such provider.
    """
    with context.read() as connection:
        provider = read(connection, uuid)
        return provider, connection.execute(_LISTED.where(resource_providers.c.uuid == uuid)).all()


@retried
def replace(context, claims):
    """Give consumers what they claim, and nothing else; all of them or none.

    :param claims: [Claim, …].
    :raises failures.UnknownProvider: a provider is not there.
    :raises failures.ConcurrentUpdate: the generation of a consumer is another one.
    :raises failures.ResourceClassNotFound: a resource class is not there.
    :raises failures.InventoryInvalid: a provider has none of the class.
    :raises failures.CapacityExceeded: there is not so much left.
    :raises failures.ConstraintsViolated: so much cannot be had at once.
    """
    with context.write() as connection:
        providers = _lock(connection, claims)
        _write(connection, claims, providers)


@retried
def reshape(context, wanted, claims):
    """Give providers other inventories, and consumers other allocations, at once.

    :param wanted: {uuid of a provider: (the generation that the client knows, {resource class: {field: value}})}.
    :param claims: [Claim, …].
    :raises failures.ProviderNotFound: a provider with inventories is not there.
    :raises failures.InventoryInUse: something is taken from an inventory that is to go.
    :raises failures.PlacementFailure: what ``replace`` raises.
    """
    with context.write() as connection:
        providers = _lock(connection, claims, wanted)
        for uuid, (generation, _) in wanted.items():
            if uuid not in providers:
                raise failures.ProviderNotFound(uuid=uuid)
            if generation != providers[uuid].generation:
                raise failures.ConcurrentUpdate(
                    reason=f'resource provider generation conflict for provider {uuid}: actual: '
                    f'{providers[uuid].generation}, given: {generation}'
                )
        ids = classes.check(connection, {name for _, inventories in wanted.values() for name in inventories})
        reshaped = {
            uuid: {ids[name]: fields for name, fields in inventories.items()}
            for uuid, (_, inventories) in wanted.items()
            if not providers[uuid].node_id
        }
        for uuid, inventories in reshaped.items():
            provider_inventories.put(connection, providers[uuid], inventories)
        # As often as in the real service, which writes inventories before the allocations and after them.
        moves = Counter({providers[uuid].id: 2 if inventories else 1 for uuid, inventories in reshaped.items()})
        _write(connection, claims, providers, moves)
        for uuid, inventories in reshaped.items():
            provider_inventories.keep(connection, providers[uuid], inventories)


@retried
def delete(context, uuid):
    """Take everything away from a consumer.

    :raises failures.NotFound: it has nothing.
    """
    with context.write() as connection:
        claim = Claim(uuid, {}, '', '')
        providers = _lock(connection, [claim])
        consumer = connection.execute(sa.select(consumers).where(consumers.c.uuid == uuid).with_for_update()).first()
        if consumer is None:
            raise failures.NotFound(reason=f"No allocations for consumer '{uuid}'")
        before = _used_of_nodes(connection, providers)
        connection.execute(sa.delete(allocations).where(allocations.c.consumer_id == consumer.id))
        connection.execute(sa.delete(consumers).where(consumers.c.id == consumer.id))
        _bump(connection, providers, before, Counter())


_LISTED = (
    sa.select(
        resource_providers.c.uuid.label('provider_uuid'),
        resource_providers.c.generation.label('provider_generation'),
        consumers.c.uuid.label('consumer_uuid'),
        consumers.c.generation.label('consumer_generation'),
        resource_classes.c.name.label('resource_class'),
        allocations.c.used,
        allocations.c.created_at,
        sa.null().label('updated_at'),
    )
    .select_from(allocations)
    .join(consumers, consumers.c.id == allocations.c.consumer_id)
    .join(resource_providers, resource_providers.c.id == allocations.c.resource_provider_id)
    .join(resource_classes, resource_classes.c.id == allocations.c.resource_class_id)
    .order_by(allocations.c.consumer_id, allocations.c.resource_provider_id, allocations.c.resource_class_id)
)


def _lock(connection, claims, more=()):
    """Lock all providers that claims are about: those that consumers shall have something of, and those that they have.

    :param more: uuids of others.
    :returns: {uuid: row}.
    :raises failures.UnknownProvider: one that a claim names is not there.
    """
    named = {uuid for claim in claims for uuid in claim.resources}
    had = set(connection.scalars(_held_by(claims)))
    providers = take_all(connection, named.union(had, more))
    if not had.issuperset(connection.scalars(_held_by(claims))):
        # One of the consumers has got something more since: of a provider that is not locked.
        raise db_exception.RetryRequest(_lost())
    missing = sorted(named.difference(providers))
    if missing:
        raise failures.UnknownProvider(uuid=missing[0])
    return providers


def _held_by(claims):
    """SELECT the uuids of the providers that consumers have something of."""
    return (
        sa.select(resource_providers.c.uuid)
        .join(allocations, allocations.c.resource_provider_id == resource_providers.c.id)
        .join(consumers, consumers.c.id == allocations.c.consumer_id)
        .where(consumers.c.uuid.in_([claim.consumer for claim in claims]))
    )


def _write(connection, claims, providers, moves=None):
    """Write claims down.

    :param providers: {uuid: row}, locked.
    :param moves: Counter of {provider id: by how much its generation moves for other reasons}.
    """
    known = _check_generations(connection, claims)
    ids = classes.check(connection, {name for claim in claims for given in claim.resources.values() for name in given})
    before, nodes_before = _used(connection, providers), _used_of_nodes(connection, providers)
    present = [consumer.id for consumer in known.values()]
    had = _had(connection, present)
    moves = Counter(moves) + _given_back(connection, claims, known)
    connection.execute(sa.delete(allocations).where(allocations.c.consumer_id.in_(present)))
    rows = _rows(claims, providers, ids)
    if rows:
        _check_capacity(connection, providers, rows, before, had)
    made = _consumers(connection, claims, known)
    if rows:
        moment = now()
        values = [
            {
                'consumer_id': made[claim.consumer],
                'resource_provider_id': provider_id,
                'resource_class_id': class_id,
                'used': amount,
                'created_at': moment,
            }
            for claim, provider_id, class_id, amount in rows
        ]
        with referring():
            connection.execute(sa.insert(allocations), values)
    idle = [known[claim.consumer].id for claim in claims if not claim.resources and claim.consumer in known]
    connection.execute(sa.delete(consumers).where(consumers.c.id.in_(idle)))
    _bump(connection, providers, nodes_before, moves + Counter({provider_id for _, provider_id, _, _ in rows}))


def _bump(connection, providers, before, moves):
    """Raise the generations of providers: a node's when what shows of its use has changed, another's as is said.

    :param before: what ``_used_of_nodes`` gave before.
    :param moves: Counter of {provider id: by how much}.
    """
    after = _used_of_nodes(connection, providers)
    for provider in providers.values():
        times = before[provider.id] != after[provider.id] if provider.node_id else moves[provider.id]
        if times:
            bump(connection, provider, int(times))


def _used_of_nodes(connection, providers):
    """Give {id of a provider that is a node: how much of it is used, what a reservation holds among it}."""
    ids = [provider.id for provider in providers.values() if provider.node_id]
    rows = capacity.rows(connection, resource_providers.c.id.in_(ids)) if ids else ()
    return {row.provider_id: row.used for row in rows}


def _rows(claims, providers, ids):
    """Give [(claim, provider id, class id, amount), …]."""
    return [
        (claim, providers[uuid].id, ids[name], amount)
        for claim in claims
        for uuid, resources in claim.resources.items()
        for name, amount in resources.items()
    ]


def _check_generations(connection, claims):
    """Lock the consumers that are there, and give them: {uuid: row}.

    :raises failures.ConcurrentUpdate: one is there that the client takes for new, is not that it takes for known, or
        has another generation.
    """
    uuids = [claim.consumer for claim in claims]
    statement = sa.select(consumers).where(consumers.c.uuid.in_(uuids)).order_by(consumers.c.id).with_for_update()
    known = {row.uuid: row for row in connection.execute(statement)}
    for claim in claims:
        consumer = known.get(claim.consumer)
        expected = consumer.generation if consumer else None
        if claim.generation is not ANY and claim.generation != expected:
            raise failures.ConcurrentUpdate(
                reason=f'consumer generation conflict - expected {"null" if expected is None else expected} '
                f'but got {claim.generation}'
            )
    return known


def _given_back(connection, claims, known):
    """Count the providers that consumers give back all of: Counter of {provider id: 1}."""
    ids = [known[claim.consumer].id for claim in claims if claim.consumer in known and not claim.resources]
    statement = sa.select(allocations.c.resource_provider_id).where(allocations.c.consumer_id.in_(ids))
    return Counter(set(connection.scalars(statement)))


def _had(connection, consumer_ids):
    """Give what consumers have: Counter of {(uuid of the consumer, provider id, class id): amount}."""
    columns = (allocations.c.resource_provider_id, allocations.c.resource_class_id, allocations.c.used)
    statement = sa.select(consumers.c.uuid, *columns).join(allocations, allocations.c.consumer_id == consumers.c.id)
    rows = connection.execute(statement.where(consumers.c.id.in_(consumer_ids)))
    return Counter({(row.uuid, row.resource_provider_id, row.resource_class_id): row.used for row in rows})


def _used(connection, providers):
    """Give {provider id: {class id: how much is allocated}}."""
    used: dict[int, Counter] = {provider.id: Counter() for provider in providers.values()}
    statement = (
        sa.select(
            allocations.c.resource_provider_id,
            allocations.c.resource_class_id,
            sa.func.sum(allocations.c.used).label('used'),
        )
        .where(allocations.c.resource_provider_id.in_(used))
        .group_by(allocations.c.resource_provider_id, allocations.c.resource_class_id)
    )
    for row in connection.execute(statement):
        used[row.resource_provider_id][row.resource_class_id] = int(row.used)
    return used


def _check_capacity(connection, providers, rows, before, had):
    """Do nothing when providers have what is wanted of them.

    :param providers: {uuid: row}.
    :param rows: [(claim, provider id, class id, amount), …].
    :param before: what was used of them until now: who has more than there is may have less of it.
    :param had: what the consumers had of them until now: of a node that could not be had, nobody else may take it over.
    """
    providers = {provider.id: provider for provider in providers.values()}
    wanted_ids = {provider_id for _, provider_id, _, _ in rows}
    found = {
        (row.provider_id, row.class_id): row
        for row in capacity.rows(connection, resource_providers.c.id.in_(wanted_ids))
    }
    held = _reserved(connection, providers, wanted_ids)
    sums: Counter = Counter()
    for _, provider_id, class_id, amount in rows:
        sums[provider_id, class_id] += amount
    names: dict[int, str] = {}
    for claim, provider_id, class_id, amount in rows:
        row, provider = found.get((provider_id, class_id)), providers[provider_id]
        names = names or _names(connection, rows)
        told = {'name': names[class_id], 'uuid': provider.uuid}
        if row is None:
            raise failures.InventoryInvalid(**told)
        if not row.min_unit <= amount <= row.max_unit or amount % row.step_size:
            raise failures.ConstraintsViolated(**told)
        used = _used_by_others(row, provider, held, claim)
        after = used + sums[provider_id, class_id]
        known = had[claim.consumer, provider_id, class_id] if provider.node_id else before[provider_id][class_id]
        if after > capacity.capacity(row) and after > known:
            raise failures.CapacityExceeded(**told)


def _used_by_others(row, provider, held, claim):
    """Give how much of an inventory is used when a consumer's own allocations are gone."""
    used = int(row.used)
    # What the consumer's own reservation holds is the consumer's.
    return used - 1 if provider.node_id and held.get(provider.node_id) == claim.consumer else used


def _reserved(connection, providers, wanted_ids):
    """Give {id of a node: the instance that a live reservation holds it for}."""
    uuids = {providers[each].uuid: providers[each].node_id for each in wanted_ids if providers[each].node_id}
    statement = sa.select(reservations.c.node_uuid, reservations.c.instance_uuid)
    rows = connection.execute(statement.where(reservations.c.node_uuid.in_(uuids), LIVE)) if uuids else ()
    return {uuids[row.node_uuid]: row.instance_uuid for row in rows}


def _names(connection, rows):
    ids = {class_id for _, _, class_id, _ in rows}
    statement = sa.select(resource_classes.c.id, resource_classes.c.name).where(resource_classes.c.id.in_(ids))
    return {row.id: row.name for row in connection.execute(statement)}


def _consumers(connection, claims, known):
    """Make consumers, and change those that are there.

    :returns: {uuid: id}.
    """
    made = {}
    for claim in claims:
        consumer = known.get(claim.consumer)
        values = {'project_id': claim.project_id, 'user_id': claim.user_id}
        if claim.consumer_type:
            values['consumer_type'] = claim.consumer_type
        if consumer is None and claim.resources:
            values |= {'uuid': claim.consumer, 'generation': 1, 'created_at': now()}
            try:
                made[claim.consumer] = connection.execute(sa.insert(consumers).values(values)).inserted_primary_key.id
            except db_exception.DBDuplicateEntry as error:
                # Somebody else has made it since: look again.
                raise db_exception.RetryRequest(_lost()) from error
        elif consumer is not None:
            made[claim.consumer] = consumer.id
            values |= {'generation': consumer.generation + 1, 'updated_at': now()}
            same = (consumers.c.id == consumer.id, consumers.c.generation == consumer.generation)
            if not connection.execute(sa.update(consumers).where(*same).values(values)).rowcount:
                raise db_exception.RetryRequest(_lost())
    return made


def _lost():
    return failures.ConcurrentUpdate(reason='Another thread concurrently updated the data. Please retry your update')
