"""The aggregates of providers: list, replace."""

from collections.abc import Collection

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.placement.single_provider import bump, read, take

_TABLE = tables.resource_provider_aggregates


def find(context: Context, uuid: str) -> tuple[sa.Row, list[str]]:
    """Return the aggregates of a provider.

    :returns: (row of the provider, [uuid of an aggregate, …], sorted).
    """
    with context.read() as connection:
        provider = read(connection, uuid)
        return provider, _uuids(connection, provider)


@retried
def replace(context: Context, uuid: str, generation: int | None, aggregate_uuids: Collection[str]) -> sa.Row:
    """Set the aggregates of a provider.

    :param generation: the provider's generation in the request; None in versions without it, in which it does not move.
    :param aggregate_uuids: uuids of the aggregates.
    :returns: row of the provider.
    :raises failures.ConcurrentUpdate: the provider has another generation.
    """
    with context.write() as connection:
        provider = take(connection, uuid, generation)
        requested, existing = set(aggregate_uuids), set(_uuids(connection, provider))
        of_provider = _TABLE.c.resource_provider_id == provider.id
        connection.execute(sa.delete(_TABLE).where(of_provider, _TABLE.c.aggregate_uuid.in_(existing - requested)))
        new = [{'resource_provider_id': provider.id, 'aggregate_uuid': each} for each in sorted(requested - existing)]
        if new:
            connection.execute(sa.insert(_TABLE), new)
        # The generation of a node's provider moves only if something changes. That of another provider moves with each
        # request, as in Placement.
        if generation is not None and (requested != existing or not provider.node_id):
            bump(connection, provider)
        return read(connection, uuid)


def _uuids(connection: sa.Connection, provider: sa.Row) -> list[str]:
    statement = sa.select(_TABLE.c.aggregate_uuid).where(_TABLE.c.resource_provider_id == provider.id)
    return list(connection.scalars(prepared(statement.order_by(_TABLE.c.aggregate_uuid))))
