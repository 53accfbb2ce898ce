"""Traits: list, show, add, delete; and conditions on the traits of providers."""

import datetime
from collections.abc import Collection, Iterable

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.context import Context
from ironic_traits.db import names, tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import names_in
from ironic_traits.placement import failures

#: When a trait was changed last.
MOMENT = sa.func.coalesce(tables.traits.c.updated_at, tables.traits.c.created_at).label('moment')
_FOREIGN = sa.exists().where(tables.resource_provider_traits.c.trait_id == tables.traits.c.id)
_OWN = sa.exists().where(
    tables.node_traits.c.trait == tables.traits.c.name,
    tables.resource_providers.c.node_id == tables.node_traits.c.node_id,
)


def find(
    context: Context, name_in: Collection[str] | None = None, prefix: str | None = None, associated: bool | None = None
) -> tuple[list[str], datetime.datetime | None]:
    """List traits.

    :param name_in: only traits with one of these names; None for all.
    :param prefix: only traits whose name begins with this text; None for all.
    :param associated: True for traits that a provider has, False for the others; None for all.
    :returns: ([name, …], time of the last change of one of them), the names sorted; ([], None) for no traits.
    """
    # One row: to read a row for each of hundreds of traits takes longer.
    statement = prepared(sa.select(names_in(tables.traits.c.name), sa.func.max(MOMENT)))
    if name_in is not None:
        statement = statement.where(tables.traits.c.name.in_(name_in))
    if prefix:
        # Not LIKE, because SQLite's ignores case.
        name = tables.traits.c.name
        statement = statement.where(sa.func.substr(name, 1, len(prefix), type_=name.type) == prefix)
    if associated is not None:
        has_one = sa.or_(_FOREIGN, _OWN)
        statement = statement.where(has_one if associated else ~has_one)
    with context.read() as connection:
        found, moment = connection.execute(statement).one()
    return found, moment


def get(context: Context, name: str) -> sa.Row:
    """Return a trait.

    :returns: row with ``name``, ``created_at``, ``updated_at``.
    """
    with context.read() as connection:
        return _existing(names.read(connection, tables.traits, name), name)


@retried
def create(context: Context, name: str) -> tuple[sa.Row, bool]:
    """Create a custom trait unless it exists.

    :param name: a valid name, CUSTOM_….
    :returns: (row of the trait, whether it is new).
    """
    with context.write() as connection:
        new = names.ensure(connection, tables.traits, [name])
        row = names.read(connection, tables.traits, name)
        if row is None:
            # Another request has deleted the trait after ``ensure``.
            raise db_exception.RetryRequest(failures.TraitNotFound(names=name))
        return row, bool(new)


@retried
def delete(context: Context, name: str) -> None:
    """Delete a custom trait.

    :raises failures.BadRequest: it is a standard trait.
    :raises failures.Conflict: a provider or a node has it.
    """
    with context.write() as connection:
        _existing(names.lock(connection, tables.traits, name), name)
        if not name.startswith(names.PREFIX):
            raise failures.BadRequest(reason=f'Cannot delete standard trait {name}.')
        if not names.delete(connection, tables.traits, name):
            raise failures.Conflict(reason=f'The trait {name} is in use by a resource provider.')


def check(connection: sa.Connection, trait_names: Collection[str]) -> dict[str, int]:
    """Return the ids of traits, all of which must exist.

    :returns: {name: id}.
    :raises failures.TraitNotFound: some of them do not exist; the message names all of these.
    """
    existing = names.ids(connection, tables.traits, trait_names)
    refuse_unknown(trait_names, existing)
    return existing


def refuse_unknown(trait_names: Iterable[str], existing: Collection[str]) -> None:
    """Raise TraitNotFound, whose message names the traits that do not exist, unless all of them do.

    :param existing: those of them that exist.
    """
    unknown = sorted(set(trait_names).difference(existing))
    if unknown:
        raise failures.TraitNotFound(names=', '.join(unknown))


def _existing(row: sa.Row | None, name: str) -> sa.Row:
    if row is None:
        raise failures.TraitNotFound(names=name)
    return row
