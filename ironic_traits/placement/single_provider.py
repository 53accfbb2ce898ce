"""Read providers, or lock them and read them; and raise their generations."""

from collections.abc import Iterable, Mapping

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.changes import change_feed
from ironic_traits.db import tables
from ironic_traits.db.statements import joined
from ironic_traits.db.statements.annotations import Condition
from ironic_traits.db.statements.joined import Write
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import now
from ironic_traits.inventory.core import node_providers, node_selection
from ironic_traits.inventory.core.eligibility import EXPIRED
from ironic_traits.inventory.holds import promised_nodes
from ironic_traits.inventory.holds.reservations import settle_nodes
from ironic_traits.placement import failures

# When a reservation expires, its node is free again, so the generation of the node's provider has to move. Nothing is
# written at that moment. So reads add 1 to the stored generation until a writer deletes the expired row and raises the
# stored generation (``reservations.settle``).
_EXPIRED = (
    sa.exists()
    .where(tables.reservations.c.node_uuid == tables.resource_providers.c.uuid, EXPIRED)
    .correlate(tables.resource_providers)
)
# In a list: the expired reservations, which are few, are read once.
_IS_EXPIRED = tables.resource_providers.c.uuid.in_(sa.select(tables.reservations.c.node_uuid).where(EXPIRED))


def _generation(expired: Condition) -> sa.Label[int]:
    moved = sa.and_(tables.resource_providers.c.node_id.is_not(None), expired, node_providers.UNALLOCATED)
    return (tables.resource_providers.c.generation + sa.case((moved, 1), else_=0)).label('generation')


#: The generation that clients see.
GENERATION = _generation(_EXPIRED)
#: The columns of a provider, with the generation that clients see.
COLUMNS = tuple(GENERATION if column.name == 'generation' else column for column in tables.resource_providers.c)


def _unless_uuid(name: str) -> sa.Label[str | None]:
    column = tables.resource_providers.c[name]
    return sa.func.nullif(column, tables.resource_providers.c.uuid).label(name)


#: The columns that a list of providers shows, and the time of the last change. A list may have all providers, nearly
#: all of nodes: the name and the root are NULL where they are the uuid.
LISTED = (
    tables.resource_providers.c.uuid,
    _unless_uuid('name'),
    _generation(_IS_EXPIRED),
    tables.resource_providers.c.parent_provider_uuid,
    _unless_uuid('root_provider_uuid'),
    sa.func.coalesce(tables.resource_providers.c.updated_at, tables.resource_providers.c.created_at).label('moment'),
)
# Built once: to build the statement for each call takes as long as to execute it.
_ONE = prepared(sa.select(*COLUMNS).where(tables.resource_providers.c.uuid == sa.bindparam('uuid')))
_SAME = tables.resource_providers.c.uuid.in_(sa.bindparam('uuids'))
_NODES_OF = prepared(
    sa.select(tables.resource_providers.c.node_id, tables.resource_providers.c.uuid).where(
        _SAME, tables.resource_providers.c.node_id.is_not(None)
    )
)
_LOCK_NODE = (
    sa.update(tables.nodes)
    .values(generation=tables.nodes.c.generation + 1)
    .where(tables.nodes.c.id == sa.bindparam('locked_id'))
)
#: For PostgreSQL. The node of a provider has its uuid.
_LOCK_ONE_NODE = prepared(
    change_feed.with_record(
        sa.update(tables.nodes)
        .values(generation=tables.nodes.c.generation + 1)
        .where(tables.nodes.c.uuid == sa.bindparam('node_uuid'))
        .returning(tables.nodes.c.id, tables.nodes.c.uuid)
        .cte('taken')
    )
)
_RESERVATION = (
    sa.exists()
    .where(tables.reservations.c.node_uuid == tables.resource_providers.c.uuid)
    .correlate(tables.resource_providers)
    .label('has_reservation')
)
# The newest promise is read after the locks of the nodes (``inventory.holds.promise_claims``).
_LOCK = prepared(
    sa.select(tables.resource_providers, _RESERVATION, promised_nodes.NEWEST.label('newest_promise'))
    .where(_SAME)
    .order_by(tables.resource_providers.c.id)
    .with_for_update()
)
_SETTLED = sa.or_(tables.resource_providers.c.node_id.is_(None), ~_EXPIRED)
_LOCK_SETTLED = _LOCK.where(_SETTLED)
# Others may refer to the rows of the nodes meanwhile.
_UNLOCKED_NODES = prepared(
    sa.select(tables.nodes.c.uuid)
    .where(tables.nodes.c.uuid.in_(sa.bindparam('uuids')))
    .with_for_update(key_share=True, skip_locked=True)
)
_UNLOCKED = prepared(sa.select(tables.resource_providers).where(_SAME, _SETTLED).with_for_update(skip_locked=True))
_BUMP = (
    sa.update(tables.resource_providers)
    .where(
        tables.resource_providers.c.id == sa.bindparam('bumped_id'),
        tables.resource_providers.c.generation == sa.bindparam('old_generation'),
    )
    .values(
        generation=sa.bindparam('old_generation') + sa.bindparam('times', type_=sa.Integer),
        updated_at=sa.bindparam('moment'),
    )
)


def read(connection: sa.Connection, uuid: str) -> sa.Row:
    """Return a provider.

    :param uuid: of the provider; any string.
    :returns: row with COLUMNS.
    """
    row = connection.execute(_ONE, {'uuid': uuid}).first()
    if row is None:
        raise failures.ProviderNotFound(uuid=uuid)
    return row


def take(connection: sa.Connection, uuid: str, generation: int | None = None) -> sa.Row:
    """Lock a provider until the end of the transaction, and read it. If it is a node's, lock the node first.

    :param generation: the provider's generation in the request; None for no check.
    :returns: row of the provider.
    :raises failures.ConcurrentUpdate: the provider has another generation.
    """
    provider = take_all(connection, [uuid]).get(uuid)
    if provider is None:
        raise failures.ProviderNotFound(uuid=uuid)
    if generation not in (None, provider.generation):
        raise failures.ConcurrentUpdate(
            reason="resource provider generation conflict: Resource provider's generation already changed. Please "
            'update the generation and try again.'
        )
    return provider


def take_all(connection: sa.Connection, uuids: Iterable[str]) -> dict[str, sa.Row]:
    """Lock providers until the end of the transaction, and read them. Lock the nodes of nodes' providers first.

    The nodes, and then the providers, are locked in the order of their ids, so that two transactions cannot deadlock.

    :param uuids: of the providers; any strings.
    :returns: {uuid: row} of the providers that exist. Expired reservations of their nodes are deleted, so the stored
        generations are those that clients see. ``has_reservation`` is whether a live one remains, which may expire;
        ``newest_promise`` is the id of the newest capacity reservation.
    """
    parameters = {'uuids': list(uuids)}
    locked = _lock_nodes(connection, parameters)
    # A provider whose node has an expired reservation is not locked before that is settled: others, too, lock the
    # reservation first.
    providers = {row.uuid: row for row in connection.execute(_LOCK_SETTLED, parameters)}
    if len(providers) < len(parameters['uuids']):
        settle_nodes(connection, locked.values())
        providers = {row.uuid: row for row in connection.execute(_LOCK, parameters)}
    if not {row.node_id for row in providers.values()} <= {None, *locked}:
        # Since the first SELECT, one of the providers has become a node's, and that node is not locked.
        raise db_exception.RetryRequest(_overtaken())
    return providers


def take_unlocked(connection: sa.Connection, uuids: Iterable[str]) -> dict[str, sa.Row]:
    """Lock the providers, and the nodes of nodes' providers, that no other transaction has locked.

    It waits for no lock. Nothing is recorded yet: ``take_all`` does that. A provider whose node has an expired
    reservation is left out: the reservation must be locked first.

    :returns: {uuid: row} of these providers.
    """
    parameters = {'uuids': list(uuids)}
    nodes = set(connection.scalars(_UNLOCKED_NODES, parameters))
    rows = connection.execute(_UNLOCKED, parameters)
    return {row.uuid: row for row in rows if row.node_id is None or row.uuid in nodes}


def _lock_nodes(connection: sa.Connection, parameters: Mapping[str, list[str]]) -> dict[int, str]:
    """Lock the nodes of providers in the order of their ids, and record the changes; return {node id: uuid}."""
    if connection.dialect.name == 'postgresql' and len(parameters['uuids']) == 1:
        rows = connection.execute(_LOCK_ONE_NODE, {'node_uuid': parameters['uuids'][0]})
        return {row.id: row.uuid for row in rows}
    locked = {row.node_id: row.uuid for row in connection.execute(_NODES_OF, parameters)}
    if len(locked) > 1:
        node_selection.lock(connection, sorted(locked), changes_nodes=False)
        return locked
    for node_id, uuid in locked.items():
        lock = Write(_LOCK_NODE, {'locked_id': node_id})
        joined.execute(connection, [lock, change_feed.write(change_feed.NODE, uuid)])
    return locked


def bump(connection: sa.Connection, provider: sa.Row, times: int = 1) -> int:
    """Raise the generation of a provider.

    :param provider: row of ``take`` or ``take_all``.
    :param times: by how much.
    :returns: the new generation.
    :raises failures.ConcurrentUpdate: another transaction has raised it: on another machine of a Galera cluster, which
        does not replicate locks.
    """
    values = {'bumped_id': provider.id, 'old_generation': provider.generation, 'times': times, 'moment': now()}
    result = connection.execute(_BUMP, values)
    if not result.rowcount:
        raise _overtaken()
    return provider.generation + times


def write_and_bump(connection: sa.Connection, provider: sa.Row, writes: Iterable[Write]) -> int:
    """Execute writes, and raise the generation of a provider by 1; parameters and result as for ``bump``.

    :param writes: of other tables.
    """
    if provider.node_id is None:
        joined.execute(connection, writes)
        return bump(connection, provider)
    # The lock of the node is an UPDATE, which excludes other machines of a cluster, too. So nothing is to be checked.
    joined.execute(connection, [*writes, node_providers.write_bump(provider.node_id)])
    return provider.generation + 1


def _overtaken() -> failures.ConcurrentUpdate:
    return failures.ConcurrentUpdate(
        reason='Another thread concurrently updated the resource provider data. Please retry your update'
    )
