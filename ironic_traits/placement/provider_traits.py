"""The traits of providers: list, replace, remove.

A node's provider has the node's own traits, and foreign ones that others give it (nova's COMPUTE_*, …); only those are
stored here, and only those can be taken away here.
"""

import sqlalchemy as sa

from ironic_traits.db import names
from ironic_traits.db.engine import referring, retried
from ironic_traits.db.models import node_traits, resource_provider_traits, traits
from ironic_traits.placement.single_provider import bump, read, take
from ironic_traits.placement.traits import check


def find(context, uuid):
    """Give the traits of a provider.

    :returns: (the provider's row, rows with ``name``, ``created_at``, ``updated_at``, sorted by name).
    :raises failures.ProviderNotFound: there is no such provider.
    """
    with context.read() as connection:
        provider = read(connection, uuid)
        return provider, _rows(connection, provider)


@retried
def replace(context, uuid, generation, wanted):
    """Give a provider these traits and no others; a node's own stay, too, and custom ones of others are not kept there.

    :param generation: that the client knows; None when it does not say.
    :param wanted: names.
    :returns: as ``find``.
    :raises failures.ProviderNotFound: there is no such provider.
    :raises failures.ConcurrentUpdate: its generation is another one.
    :raises failures.TraitNotFound: traits are not there; it names them all.
    """
    with context.write() as connection:
        provider = take(connection, uuid, generation)
        ids = check(connection, set(wanted))
        own = set(connection.scalars(_own(provider)))
        stored = set(connection.scalars(_stored(provider)))
        kept = {name for name in ids if name not in own and not (provider.node_id and name.startswith(names.PREFIX))}
        if kept == stored:
            return provider, _rows(connection, provider)
        mine = resource_provider_traits.c.resource_provider_id == provider.id
        gone = sa.select(traits.c.id).where(traits.c.name.in_(stored - kept))
        connection.execute(
            sa.delete(resource_provider_traits).where(mine, resource_provider_traits.c.trait_id.in_(gone))
        )
        new = [{'resource_provider_id': provider.id, 'trait_id': ids[name]} for name in sorted(kept - stored)]
        if new:
            with referring():
                connection.execute(sa.insert(resource_provider_traits), new)
        bump(connection, provider)
        return read(connection, uuid), _rows(connection, provider)


def _rows(connection, provider):
    """Give the rows of all traits of a provider."""
    columns = (traits.c.name, traits.c.created_at, traits.c.updated_at)
    rows = _stored(provider).with_only_columns(*columns)
    if provider.node_id:
        own = sa.select(*columns).join(node_traits, node_traits.c.trait == traits.c.name)
        rows = rows.union(own.where(node_traits.c.node_id == provider.node_id))
    return connection.execute(rows.order_by('name')).all()


def _own(provider):
    """SELECT the names that a node gives its provider; none for a provider that is no node."""
    return sa.select(node_traits.c.trait).where(node_traits.c.node_id == provider.node_id)


def _stored(provider):
    return (
        sa.select(traits.c.name)
        .join(resource_provider_traits, resource_provider_traits.c.trait_id == traits.c.id)
        .where(resource_provider_traits.c.resource_provider_id == provider.id)
    )
