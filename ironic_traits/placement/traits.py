"""Traits: list, show, add, delete; and conditions on the traits of providers."""

from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import names, tables
from ironic_traits.db.annotations import Condition
from ironic_traits.db.engine import retried
from ironic_traits.placement import failures

_FOREIGN = sa.exists().where(tables.resource_provider_traits.c.trait_id == tables.traits.c.id)
_OWN = sa.exists().where(
    tables.node_traits.c.trait == tables.traits.c.name,
    tables.resource_providers.c.node_id == tables.node_traits.c.node_id,
)


def find(
    context: Context, name_in: Collection[str] | None = None, prefix: str | None = None, associated: bool | None = None
) -> Sequence[sa.Row]:
    """List traits.

    :param name_in: only traits with one of these names; None for all.
    :param prefix: only traits whose name begins with this text; None for all.
    :param associated: True for traits that a provider has, False for the others; None for all.
    :returns: [row with ``name``, ``created_at``, ``updated_at``, …], sorted by name.
    """
    columns = tables.traits.c
    statement = sa.select(columns.name, columns.created_at, columns.updated_at).order_by(columns.name)
    if name_in is not None:
        statement = statement.where(tables.traits.c.name.in_(name_in))
    if prefix:
        # Not LIKE, because SQLite's ignores case. MariaDB refuses to compare an ascii column with non-ASCII text.
        begins = sa.func.substr(tables.traits.c.name, 1, len(prefix)) == prefix
        statement = statement.where(begins if prefix.isascii() else sa.false())
    if associated is not None:
        has_one = sa.or_(_FOREIGN, _OWN)
        statement = statement.where(has_one if associated else ~has_one)
    with context.read() as connection:
        return connection.execute(statement).all()


def get(context: Context, name: str) -> sa.Row:
    """Return a trait.

    :returns: row with ``name``, ``created_at``, ``updated_at``.
    :raises failures.TraitNotFound: there is no such trait.
    """
    with context.read() as connection:
        return _read(connection, name)


@retried
def create(context: Context, name: str) -> tuple[sa.Row, bool]:
    """Create a custom trait unless it exists.

    :param name: a valid name, CUSTOM_….
    :returns: (row of the trait, whether it is new).
    """
    with context.write() as connection:
        new = names.ensure(connection, tables.traits, [name])
        return _read(connection, name), bool(new)


@retried
def delete(context: Context, name: str) -> None:
    """Delete a custom trait.

    :raises failures.TraitNotFound: there is no such trait.
    :raises failures.BadRequest: it is a standard trait.
    :raises failures.Conflict: a provider or a node has it.
    """
    with context.write() as connection:
        _read(connection, name)
        if not name.startswith(names.PREFIX):
            raise failures.BadRequest(reason=f'Cannot delete standard trait {name}.')
        if not names.delete(connection, tables.traits, name):
            raise failures.Conflict(reason=f'The trait {name} is in use by a resource provider.')


def check(connection: sa.Connection, trait_names: Collection[str]) -> dict[str, int]:
    """Return the ids of traits, all of which must exist.

    :param trait_names: names.
    :returns: {name: id}.
    :raises failures.TraitNotFound: some of them do not exist; the message names all of these.
    """
    existing = names.ids(connection, tables.traits, trait_names)
    unknown = sorted(set(trait_names).difference(existing))
    if unknown:
        raise failures.TraitNotFound(names=', '.join(unknown))
    return existing


def ids(connection: sa.Connection, trait_names: Collection[str]) -> dict[str, int]:
    """Return the ids of the traits that exist.

    :param trait_names: names.
    :returns: {name: id}.
    """
    return names.ids(connection, tables.traits, trait_names)


def has_one_of(trait_ids: Mapping[str, int], trait_names: Collection[str]) -> Condition:
    """Return the condition on providers that a provider has at least one of these traits, a node's own included.

    :param trait_ids: {name: id}, the result of ``check`` or ``ids``.
    :param trait_names: names.
    """
    columns = tables.resource_provider_traits.c
    requested_ids = sorted(trait_ids[name] for name in trait_names)
    foreign = sa.select(columns.resource_provider_id).where(columns.trait_id.in_(requested_ids))
    own = sa.select(tables.node_traits.c.node_id).where(tables.node_traits.c.trait.in_(sorted(trait_names)))
    # Two subqueries, each of which the databases run once. With one UNION, PostgreSQL makes a join, estimates its
    # result as tiny, and runs it again and again.
    is_node = tables.resource_providers.c.node_id.is_not(None)
    return sa.or_(
        tables.resource_providers.c.id.in_(foreign), sa.and_(is_node, tables.resource_providers.c.node_id.in_(own))
    )


def _read(connection: sa.Connection, name: str) -> sa.Row:
    row = names.read(connection, tables.traits, name)
    if row is None:
        raise failures.TraitNotFound(names=name)
    return row
