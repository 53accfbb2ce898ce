"""One provider, or several: read, or locked first and then read; and their generations."""

import sqlalchemy as sa

from ironic_traits.db.models import nodes, resource_providers
from ironic_traits.db.types import now
from ironic_traits.placement import failures


def read(connection, uuid):
    """Give the row of a provider.

    :raises failures.ProviderNotFound: there is none.
    """
    # MariaDB does not compare ASCII with what is none.
    statement = sa.select(resource_providers).where(resource_providers.c.uuid == uuid)
    row = connection.execute(statement).first() if uuid.isascii() else None
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
    :returns: {uuid: row} of those that are there.
    """
    wanted = resource_providers.c.uuid.in_([uuid for uuid in uuids if uuid.isascii()])
    of_nodes = sa.select(resource_providers.c.node_id).where(wanted, resource_providers.c.node_id.is_not(None))
    for node_id in sorted(connection.scalars(of_nodes)):
        connection.execute(sa.update(nodes).where(nodes.c.id == node_id).values(generation=nodes.c.generation + 1))
    statement = sa.select(resource_providers).where(wanted).order_by(resource_providers.c.id)
    return {row.uuid: row for row in connection.execute(statement.with_for_update())}


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
        raise failures.ConcurrentUpdate(
            reason='Another thread concurrently updated the resource provider data. Please retry your update'
        )
    return provider.generation + times
