"""The traits of providers: list, replace, remove.

A node's provider has the node's own traits, and foreign ones that Placement clients have set (COMPUTE_* of nova, for
example). Only the foreign ones are stored in ``resource_provider_traits``, and only they can be removed here.
"""

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import names, tables
from ironic_traits.db.engine import referring, retried
from ironic_traits.placement.single_provider import bump, read, take
from ironic_traits.placement.traits import check


def find(context: Context, uuid: str) -> tuple[int, Sequence[sa.Row]]:
    """Return the traits of a provider.

    :param uuid: of the provider.
    :returns: (generation of the provider, [row with ``name``, ``created_at``, ``updated_at``, …], sorted by name).
    :raises failures.ProviderNotFound: there is no such provider.
    """
    with context.read() as connection:
        provider = read(connection, uuid)
        return provider.generation, _rows(connection, provider)


@retried
def replace(
    context: Context, uuid: str, generation: int | None, requested_names: Collection[str]
) -> tuple[int, Sequence[sa.Row]]:
    """Set the traits of a provider.

    On a node's provider, the node's own traits stay, and requested custom traits are ignored unless the node has them.

    :param uuid: of the provider.
    :param generation: the provider's generation in the request; None for no check.
    :param requested_names: names.
    :returns: as for ``find``.
    :raises failures.ProviderNotFound: there is no such provider.
    :raises failures.ConcurrentUpdate: the provider has another generation.
    :raises failures.TraitNotFound: traits do not exist; the message names all of them.
    """
    with context.write() as connection:
        provider = take(connection, uuid, generation)
        ids = check(connection, set(requested_names))
        both = _stored(provider).add_columns(sa.false()).union_all(_own(provider).add_columns(sa.true()))
        existing = connection.execute(both).all()
        own, stored = ({name for name, of_node in existing if bool(of_node) is kind} for kind in (True, False))
        target = {name for name in ids if name not in own and not (provider.node_id and name.startswith(names.PREFIX))}
        if target == stored:
            return provider.generation, _rows(connection, provider)
        columns = tables.resource_provider_traits.c
        gone = columns.trait_id.in_(sa.select(tables.traits.c.id).where(tables.traits.c.name.in_(stored - target)))
        delete = sa.delete(tables.resource_provider_traits).where(columns.resource_provider_id == provider.id, gone)
        connection.execute(delete)
        new = [{'resource_provider_id': provider.id, 'trait_id': ids[name]} for name in sorted(target - stored)]
        if new:
            with referring():
                connection.execute(sa.insert(tables.resource_provider_traits), new)
        return bump(connection, provider), _rows(connection, provider)


def _rows(connection: sa.Connection, provider: sa.Row) -> Sequence[sa.Row]:
    """Return the rows of all traits of a provider, as ``find``."""
    columns = (tables.traits.c.name, tables.traits.c.created_at, tables.traits.c.updated_at)
    stored = _stored(provider).with_only_columns(*columns)
    if not provider.node_id:
        return connection.execute(stored.order_by('name')).all()
    own = sa.select(*columns).join(tables.node_traits, tables.node_traits.c.trait == tables.traits.c.name)
    both = stored.union(own.where(tables.node_traits.c.node_id == provider.node_id))
    return connection.execute(both.order_by('name')).all()


def _own(provider: sa.Row) -> sa.Select:
    """Return the SELECT of the names of the node's own traits. For a provider that is not a node's it has no rows."""
    return sa.select(tables.node_traits.c.trait).where(tables.node_traits.c.node_id == provider.node_id)


def _stored(provider: sa.Row) -> sa.Select:
    """Return the SELECT of the names of the traits that clients have set."""
    return (
        sa.select(tables.traits.c.name)
        .join(tables.resource_provider_traits, tables.resource_provider_traits.c.trait_id == tables.traits.c.id)
        .where(tables.resource_provider_traits.c.resource_provider_id == provider.id)
    )
