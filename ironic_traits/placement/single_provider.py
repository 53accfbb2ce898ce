"""One provider, or several: read, or locked first and then read; and their generations."""

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.db.models import nodes, reservations, resource_providers
from ironic_traits.db.types import now
from ironic_traits.inventory import node_providers
from ironic_traits.inventory.eligibility import EXPIRED
from ironic_traits.inventory.reservations import settle
from ironic_traits.placement import failures

# A node is free again from the moment at which its reservation expires, and nobody writes at that moment.  The expired
# row counts as one move of the generation until a writer deletes it and moves the stored one (``reservations.settle``).
_EXPIRED = (
    sa.exists().where(reservations.c.node_uuid == resource_providers.c.uuid, EXPIRED).correlate(resource_providers)
)
_MOVED = sa.and_(resource_providers.c.node_id.is_not(None), _EXPIRED, node_providers.UNALLOCATED)
_GENERATION = (resource_providers.c.generation + sa.case((_MOVED, 1), else_=0)).label('generation')
#: The columns of a provider as clients see it.
COLUMNS = tuple(_GENERATION if column.name == 'generation' else column for column in resource_providers.c)
# Made once and kept: to make it anew takes as long as the database does.
_ONE = sa.select(*COLUMNS).where(resource_providers.c.uuid == sa.bindparam('uuid'))


def read(connection, uuid):
    """Give the row of a provider.

    :raises failures.ProviderNotFound: there is none.
    """
    # MariaDB does not compare ASCII with what is none.
    row = connection.execute(_ONE, {'uuid': uuid}).first() if uuid.isascii() else None
    if row is None:
        raise failures.ProviderNotFound(uuid=uuid)
    return row


def take(connection, uuid, generation=None):
    """Lock a provider until the end of the transaction, the node that it is first; and read it.

    :param connection: of a writer.
    :param generation: the one that the client knows; None when it does not say.
    :returns: its row.
    :raises failures.ProviderNotFound: there is none.
    :raises failures.ConcurrentUpdate: its generation is another one.
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


def take_all(connection, uuids):
    """Lock providers until the end of the transaction, the nodes that they are first; and read them.

    In the order of their ids, so that two that want the same do not wait for each other in a circle.

    :param connection: of a writer.
    :returns: {uuid: row} of those that are there; their stored generations are those that clients see.
    """
    wanted = resource_providers.c.uuid.in_([uuid for uuid in uuids if uuid.isascii()])
    columns = resource_providers.c.node_id, resource_providers.c.uuid
    of_nodes = sa.select(*columns).where(wanted, resource_providers.c.node_id.is_not(None))
    locked = {row.node_id: row.uuid for row in connection.execute(of_nodes)}
    for node_id in sorted(locked):
        connection.execute(sa.update(nodes).where(nodes.c.id == node_id).values(generation=nodes.c.generation + 1))
    if locked:
        settle(connection, reservations.c.node_uuid.in_(list(locked.values())))
    statement = sa.select(resource_providers).where(wanted).order_by(resource_providers.c.id)
    providers = {row.uuid: row for row in connection.execute(statement.with_for_update())}
    if not {row.node_id for row in providers.values()} <= {None, *locked}:
        # One of them has become a node's since, and that node is not locked.
        raise db_exception.RetryRequest(_overtaken())
    return providers


def bump(connection, provider, times=1):
    """Raise the generation of a provider that something has been changed of.

    :param provider: what ``take`` gave.
    :param times: by how much.
    :returns: the new generation.
    :raises failures.ConcurrentUpdate: somebody else did, on another machine of a cluster that shares no locks.
    """
    raised = connection.execute(
        sa.update(resource_providers)
        .where(resource_providers.c.id == provider.id, resource_providers.c.generation == provider.generation)
        .values(generation=provider.generation + times, updated_at=now())
    )
    if not raised.rowcount:
        raise _overtaken()
    return provider.generation + times


def _overtaken():
    return failures.ConcurrentUpdate(
        reason='Another thread concurrently updated the resource provider data. Please retry your update'
    )
