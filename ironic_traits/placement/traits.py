"""Traits: list, show, add, delete; and conditions on the traits of providers."""

import datetime
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import names, tables
from ironic_traits.db.engine import retried
from ironic_traits.db.statements.annotations import Condition
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
#: Up to this number of sets of required traits, the databases may begin with the providers that have one of them. For
#: more, the planners' work grows too much.
_MAX_JOINS = 4


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


class Holders(NamedTuple):
    """Who has a trait.

    :ivar id: id of the trait.
    :ivar nodes: whether it is a node's own trait.
    :ivar clients: whether a client has set it on a provider.
    """

    id: int
    nodes: bool
    clients: bool


def holders(connection: sa.Connection, trait_names: Collection[str]) -> dict[str, Holders]:
    """Return who has traits, all of which must exist.

    :returns: {name: Holders}.
    :raises failures.TraitNotFound: some of them do not exist; the message names all of these.
    """
    existing = existing_holders(connection, trait_names)
    refuse_unknown(trait_names, existing)
    return existing


def existing_holders(connection: sa.Connection, trait_names: Collection[str]) -> dict[str, Holders]:
    """Return who has those of some traits that exist; parameters and result as for ``holders``."""
    if not trait_names:
        return {}
    rows = connection.execute(HOLDERS.where(tables.traits.c.name.in_(sorted(trait_names))))
    return {name: Holders(*values) for name, *values in rows}


def _is_any(statement: sa.Select) -> Condition:
    """Return the condition that a correlated SELECT has a row.

    Not EXISTS: for that, databases may read all rows first. A subquery for one value runs for each row that needs it.
    """
    return statement.limit(1).scalar_subquery().is_not(None)


#: SELECT of the name of a trait, and of its Holders.
HOLDERS = sa.select(
    tables.traits.c.name,
    tables.traits.c.id,
    _is_any(sa.select(tables.node_traits.c.node_id).where(tables.node_traits.c.trait == tables.traits.c.name)),
    _is_any(
        sa.select(tables.resource_provider_traits.c.resource_provider_id).where(
            tables.resource_provider_traits.c.trait_id == tables.traits.c.id
        )
    ),
)


def conditions(
    trait_holders: Mapping[str, Holders],
    required: Iterable[Collection[str]],
    forbidden: Collection[str] = (),
    few: bool = False,
    joins: bool = True,
) -> Iterator[Condition]:
    """Yield the conditions on providers that they have required traits and no forbidden ones, a node's own included.

    :param trait_holders: {name: Holders} of these traits, and perhaps of others.
    :param required: [{trait, …}, …]: one trait of each set is required.
    :param few: whether a limit leaves few providers to read.
    :param joins: whether the database may begin with the providers that have one of the traits. Without a limit,
        MariaDB takes longer for that: it reads the rows of the providers before it looks for the second trait.
    """
    for number, one_of in enumerate(required):
        kinds = list(_kinds(trait_holders, one_of))
        if joins and len(kinds) == 1 and number < _MAX_JOINS:
            ((provider, _, statement),) = kinds
            yield provider.in_(statement)
        elif few:
            yield sa.or_(sa.false(), *(_is_any(_of_provider(*kind)) for kind in kinds))
        else:
            # The last condition is never true. With an OR, the databases run each subquery once. With one UNION,
            # PostgreSQL makes a join, estimates its result as tiny, and runs it again and again.
            either = (sa.and_(provider.is_not(None), provider.in_(statement)) for provider, _, statement in kinds)
            yield sa.or_(tables.resource_providers.c.id < 0, *either)
    for kind in _kinds(trait_holders, forbidden):
        yield ~_of_provider(*kind).exists()


def _of_provider(provider: sa.Column, key: sa.Column, statement: sa.Select) -> sa.Select:
    return statement.where(provider == key).correlate(tables.resource_providers)


def _kinds(
    trait_holders: Mapping[str, Holders], trait_names: Collection[str]
) -> Iterator[tuple[sa.Column, sa.Column, sa.Select]]:
    """Yield (column of providers, the same in a table of traits, SELECT of that) of the tables with these traits."""
    own = sorted(name for name in trait_names if trait_holders[name].nodes)
    if own:
        table = tables.node_traits.c
        yield (
            tables.resource_providers.c.node_id,
            table.node_id,
            sa.select(table.node_id).where(_is_in(table.trait, own)),
        )
    ids = sorted(trait_holders[name].id for name in trait_names if trait_holders[name].clients)
    if ids:
        columns = tables.resource_provider_traits.c
        key = columns.resource_provider_id
        yield tables.resource_providers.c.id, key, sa.select(key).where(_is_in(columns.trait_id, ids))


def _is_in(column: sa.Column, values: Sequence[Any]) -> Condition:
    # An equality lets the databases read the providers with a trait in the order of their ids.
    return column == values[0] if len(values) == 1 else column.in_(values)


def _read(connection: sa.Connection, name: str) -> sa.Row:
    row = names.read(connection, tables.traits, name)
    if row is None:
        raise failures.TraitNotFound(names=name)
    return row
