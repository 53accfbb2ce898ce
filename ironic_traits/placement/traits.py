"""Traits: list, show, add, delete; and what providers must and must not have."""

import sqlalchemy as sa

from ironic_traits.db import names
from ironic_traits.db.engine import retried
from ironic_traits.db.models import node_traits, resource_provider_traits, resource_providers, traits
from ironic_traits.placement import failures

_FOREIGN = sa.exists().where(resource_provider_traits.c.trait_id == traits.c.id)
_OWN = sa.exists().where(node_traits.c.trait == traits.c.name, resource_providers.c.node_id == node_traits.c.node_id)


def find(context, name_in=None, prefix=None, associated=None):
    """List traits.

    :param name_in: only these names.
    :param prefix: only names that begin so.
    :param associated: True for those that a provider has, False for the others.
    :returns: rows with ``name``, ``created_at``, ``updated_at``, sorted by name.
    """
    statement = sa.select(traits.c.name, traits.c.created_at, traits.c.updated_at).order_by(traits.c.name)
    if name_in is not None:
        statement = statement.where(traits.c.name.in_(name_in))
    if prefix:
        # Not LIKE, of which SQLite's takes upper for lower case.  MariaDB does not compare ASCII with what is none.
        begins = sa.func.substr(traits.c.name, 1, len(prefix)) == prefix
        statement = statement.where(begins if prefix.isascii() else sa.false())
    if associated is not None:
        has_one = sa.or_(_FOREIGN, _OWN)
        statement = statement.where(has_one if associated else ~has_one)
    with context.read() as connection:
        return connection.execute(statement).all()


def get(context, name):
    """Give one trait.

    :returns: a row.
    :raises failures.TraitNotFound: there is none.
    """
    with context.read() as connection:
        return _read(connection, name)


@retried
def create(context, name):
    """Add a custom trait.  It may be there already.

    :param name: a valid one.
    :returns: (its row, whether it is new).
    """
    with context.write() as connection:
        new = names.ensure(connection, traits, [name])
        return _read(connection, name), bool(new)


@retried
def delete(context, name):
    """Delete a custom trait.

    :raises failures.TraitNotFound: there is none.
    :raises failures.BadRequest: it is a standard one.
    :raises failures.Conflict: a provider or a node has it.
    """
    with context.write() as connection:
        _read(connection, name)
        if not name.startswith(names.PREFIX):
            raise failures.BadRequest(reason=f'Cannot delete standard trait {name}.')
        if not names.delete(connection, traits, name):
            raise failures.Conflict(reason=f'The trait {name} is in use by a resource provider.')


def check(connection, wanted):
    """Give {name: id} of traits that must all be there.

    :param wanted: names.
    :raises failures.TraitNotFound: some are not; it names them all.
    """
    found = names.ids(connection, traits, wanted)
    unknown = sorted(set(wanted).difference(found))
    if unknown:
        raise failures.TraitNotFound(names=', '.join(unknown))
    return found


def ids(connection, wanted):
    """Give {name: id} of those traits that are there."""
    return names.ids(connection, traits, wanted)


def has_one_of(found, wanted):
    """Give the condition on providers that they have at least one of these traits, a node's own counted.

    :param found: what ``check`` gave.
    :param wanted: names.
    """
    foreign = sa.select(resource_provider_traits.c.resource_provider_id).where(
        resource_provider_traits.c.trait_id.in_(sorted(found[name] for name in wanted))
    )
    own = sa.select(node_traits.c.node_id).where(node_traits.c.trait.in_(sorted(wanted)))
    # Each subquery is run once, and asked for each provider.  As one UNION, PostgreSQL joins it, takes the result for
    # tiny, and runs it again and again.
    is_node = resource_providers.c.node_id.is_not(None)
    return sa.or_(resource_providers.c.id.in_(foreign), sa.and_(is_node, resource_providers.c.node_id.in_(own)))


def _read(connection, name):
    row = names.read(connection, traits, name)
    if row is None:
        raise failures.TraitNotFound(names=name)
    return row
