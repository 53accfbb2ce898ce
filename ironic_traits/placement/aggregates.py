"""The aggregates that providers are members of: list, replace."""

import sqlalchemy as sa

from ironic_traits.db.engine import retried
from ironic_traits.db.models import resource_provider_aggregates
from ironic_traits.placement.single_provider import bump, read, take

_TABLE = resource_provider_aggregates


def find(context, uuid):
    """Give the aggregates of a provider.

    :returns: (the provider's row, sorted uuids).
    :raises failures.ProviderNotFound: there is no such provider.
    """
    with context.read() as connection:
        provider = read(connection, uuid)
        return provider, _uuids(connection, provider)


@retried
def replace(context, uuid, generation, wanted):
    """Make a provider a member of these aggregates and no others.

    :param generation: that the client knows; None for clients that know of none, for which it does not move.
    :param wanted: uuids.
    :returns: the provider's row.
    :raises failures.ProviderNotFound: there is no such provider.
    :raises failures.ConcurrentUpdate: its generation is another one.
    """
    with context.write() as connection:
        provider = take(connection, uuid, generation)
        wanted, present = set(wanted), set(_uuids(connection, provider))
        mine = _TABLE.c.resource_provider_id == provider.id
        connection.execute(sa.delete(_TABLE).where(mine, _TABLE.c.aggregate_uuid.in_(present - wanted)))
        new = [{'resource_provider_id': provider.id, 'aggregate_uuid': each} for each in sorted(wanted - present)]
        if new:
            connection.execute(sa.insert(_TABLE), new)
        # A node's generation moves with what changes only; a provider's with each of these, as in the real service.
        if generation is not None and (wanted != present or not provider.node_id):
            bump(connection, provider)
        return read(connection, uuid)


def _uuids(connection, provider):
    statement = sa.select(_TABLE.c.aggregate_uuid).where(_TABLE.c.resource_provider_id == provider.id)
    return list(connection.scalars(statement.order_by(_TABLE.c.aggregate_uuid)))
