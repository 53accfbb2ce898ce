"""One provider: read, or locked first and then read; and its generation."""

import sqlalchemy as sa

from ironic_traits.db.models import nodes, resource_providers
from ironic_traits.db.types import now
from ironic_traits.placement import failures


def read(connection, uuid):
    """Give the row of a provider.

    :raises failures.ProviderNotFound: there is none.
    """
    row = connection.execute(sa.select(resource_providers).where(resource_providers.c.uuid == uuid)).first()
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
    node_id = read(connection, uuid).node_id
    if node_id:
        connection.execute(sa.update(nodes).where(nodes.c.id == node_id).values(generation=nodes.c.generation + 1))
    statement = sa.select(resource_providers).where(resource_providers.c.uuid == uuid).with_for_update()
    provider = connection.execute(statement).first()
    if provider is None:
        raise failures.ProviderNotFound(uuid=uuid)
    if generation not in (None, provider.generation):
        raise failures.ConcurrentUpdate(
            reason="resource provider generation conflict: Resource provider's generation already changed. Please "
            'update the generation and try again.'
        )
    return provider


def bump(connection, provider):
    """Raise the generation of a provider that something has been changed of.

    :param provider: what ``take`` gave.
    :returns: the new generation.
    :raises failures.ConcurrentUpdate: somebody else did, on another machine of a cluster that shares no locks.
    """
    raised = connection.execute(
        sa.update(resource_providers)
        .where(resource_providers.c.id == provider.id, resource_providers.c.generation == provider.generation)
        .values(generation=provider.generation + 1, updated_at=now())
    )
    if not raised.rowcount:
        raise failures.ConcurrentUpdate(
            reason='Another thread concurrently updated the resource provider data. Please retry your update'
        )
    return provider.generation + 1
