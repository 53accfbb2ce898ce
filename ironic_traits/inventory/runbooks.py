"""Runbooks: steps for cleaning and servicing, for the nodes that have one of their traits."""

from collections.abc import Iterable

import sqlalchemy as sa

from ironic_traits import failures, resources
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.db.annotations import Columns, Condition
from ironic_traits.db.engine import retried
from ironic_traits.db.insert import insert_missing
from ironic_traits.db.types import names_in
from ironic_traits.inventory import records
from ironic_traits.inventory.lock_wait import waiting_for_lock
from ironic_traits.inventory.records import Kind

_OF_RUNBOOK = tables.runbook_traits.c.runbook_id == tables.runbooks.c.id
_TRAITS = (
    sa.select(names_in(tables.runbook_traits.c.trait))
    .where(_OF_RUNBOOK)
    .correlate(tables.runbooks)
    .scalar_subquery()
    .label('traits')
)


def _visible(context: Context, grant: Grant) -> list[Condition]:
    """Return the conditions on the runbooks that a caller may see: all of them; or the public ones, and their own.

    :raises failures.Forbidden: the caller may not see all, and has no project.
    """
    if context.may('baremetal:runbook:list_all'):
        return []
    if not context.project_id:
        raise failures.Forbidden(rule='baremetal:runbook:list_all')
    return [sa.or_(tables.runbooks.c.owner == context.project_id, tables.runbooks.c.public)]


RUNBOOKS = Kind(
    resource=resources.RUNBOOKS,
    duplicates={'name': 'with name {name}'},
    list_all='baremetal:runbook:list_all',
    computed={'traits': _TRAITS},
    visible=_visible,
)


def owner(context: Context, ident: str) -> sa.Row:
    """Return who may see a runbook.

    :param ident: uuid or name of the runbook.
    :returns: a row with ``owner`` and ``public``.
    :raises failures.RecordNotFound: there is no such runbook.
    """
    return _read(context, ident, (tables.runbooks.c.owner, tables.runbooks.c.public))


def get(context: Context, ident: str) -> sa.Row:
    """Return what a worker needs of a runbook.

    :param ident: uuid or name of the runbook.
    :returns: a row with ``uuid``, ``name``, ``steps`` (with their secrets), ``disable_ramdisk``, ``owner``, and
        ``traits``, a sorted list.
    :raises failures.RecordNotFound: there is no such runbook.
    """
    names = ('uuid', 'name', 'steps', 'disable_ramdisk', 'owner')
    return _read(context, ident, (*(tables.runbooks.c[name] for name in names), _TRAITS))


def traits(context: Context, ident: str) -> list[str]:
    """Return the traits of a runbook, sorted.

    :param ident: uuid or name of the runbook.
    :raises failures.RecordNotFound: there is no such runbook.
    """
    return _read(context, ident, (_TRAITS,)).traits


@waiting_for_lock
@retried
def replace_traits(context: Context, ident: str, names: Iterable[str]) -> None:
    """Replace the traits of a runbook.

    :param ident: uuid or name of the runbook.
    :raises failures.RecordNotFound: there is no such runbook.
    """
    with context.write() as connection:
        runbook_id = records.lock(connection, RUNBOOKS, ident).id
        connection.execute(_delete(runbook_id))
        _insert(connection, runbook_id, names)


@waiting_for_lock
@retried
def add_trait(context: Context, ident: str, name: str) -> None:
    """Add a trait to a runbook, unless it has it.

    :param ident: uuid or name of the runbook.
    :raises failures.RecordNotFound: there is no such runbook.
    """
    with context.write() as connection:
        _insert(connection, records.lock(connection, RUNBOOKS, ident).id, [name])


@waiting_for_lock
@retried
def remove_traits(context: Context, ident: str, name: str | None = None) -> None:
    """Remove a trait from a runbook, if it has it.

    :param ident: uuid or name of the runbook.
    :param name: the trait; None for all traits.
    :raises failures.RecordNotFound: there is no such runbook.
    """
    with context.write() as connection:
        statement = _delete(records.lock(connection, RUNBOOKS, ident).id)
        connection.execute(statement if name is None else statement.where(tables.runbook_traits.c.trait == name))


def _read(context: Context, ident: str, columns: Columns) -> sa.Row:
    with context.read() as connection:
        return records.read(connection, RUNBOOKS, ident, columns)


def _delete(runbook_id: int) -> sa.Delete:
    return sa.delete(tables.runbook_traits).where(tables.runbook_traits.c.runbook_id == runbook_id)


def _insert(connection: sa.Connection, runbook_id: int, names: Iterable[str]) -> None:
    rows = [{'runbook_id': runbook_id, 'trait': name} for name in sorted(set(names))]
    insert_missing(connection, tables.runbook_traits, rows)
