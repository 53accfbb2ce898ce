"""Reads a node, or locks it and reads it.

The lock is the row lock of the database. ``take`` gets it with an UPDATE that raises the node's generation.

The statements are built once and cached, with the uuid or name as a parameter.
doc/source/contributor/decisions/no_orm.rst says why.
"""

import functools
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.changes import change_feed
from ironic_traits.db import tables
from ironic_traits.db.statements import joined
from ironic_traits.db.statements.annotations import Columns, Condition, Values
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import clock, now
from ironic_traits.inventory.core import node_providers, origins
from ironic_traits.inventory.core.secrets import with_masks
from ironic_traits.uuids import is_canonical

#: A column for ``take``: the time by the database's clock after the lock is taken.
MOMENT = clock().label('moment')


def take(connection: sa.Connection, ident: str, *columns: sa.ColumnElement[Any]) -> sa.Row:
    """Lock a node until the end of the transaction, and read it.

    Every write begins with this, before it checks whether an instance or a reservation holds the node (invariant 1).

    :param columns: columns to read besides ``id``, ``uuid``, ``origin`` and ``node_providers.BEFORE``.
    :returns: a row with all these columns.
    """
    return lock(connection, ident, tables.nodes.c.origin, *node_providers.BEFORE, *columns)


def lock(connection: sa.Connection, ident: str, *columns: sa.ColumnElement[Any]) -> sa.Row:
    """Lock a node as ``take`` does, for a write that needs fewer columns. Each column costs the driver some time.

    :param columns: columns to read besides ``id`` and ``uuid``.
    """
    key = _key(ident)
    # Each column once, even if the caller also names the id or the uuid.
    columns = tuple(dict.fromkeys((tables.nodes.c.id, tables.nodes.c.uuid, *columns)))
    values = {'ident': ident, 'now': now()}
    # UPDATE … RETURNING is used only on PostgreSQL: MariaDB does not have it, and SQLite returns wrong values of
    # IS NULL. It is used only for columns of the locked row: for other tables, it would return the values from before
    # the wait for the lock.
    if connection.dialect.name == 'postgresql' and all(map(_of_the_row, columns)):
        row = connection.execute(_returning(key, columns), values).first()
    elif joined.has_blocks(connection):
        connection.execute(_raise_and_record(key), values)
        row = connection.execute(_select_one(columns, key), values).first()
    elif connection.execute(_raise_generation(key), values).rowcount:
        row = connection.execute(_select_one(columns, key), values).one()
        change_feed.record(connection, change_feed.NODE, [row.uuid])
    else:
        row = None
    if row is None:
        raise failures.NodeNotFound(node=ident)
    return row


def change(connection: sa.Connection, node: sa.Row, changes: Values) -> None:
    """Write to the row of a node of this service, as ``write`` does.

    :raises failures.NodeMirrored: the node is mirrored.
    """
    origins.check_own(connection, node)
    write(connection, node, changes)


def write(connection: sa.Connection, node: sa.Row, changes: Values) -> None:
    """Write to a node's row, and update its provider.

    :param node: the result of ``take``.
    :param changes: {column: value}.
    :raises failures.ProviderTaken: as ``node_providers.follow``.
    :raises failures.ProviderInUse: as ``node_providers.follow``.
    """
    statement = sa.update(tables.nodes).where(tables.nodes.c.id == node.id).values(with_masks(tables.nodes, changes))
    after = None
    if connection.dialect.name == 'postgresql':
        # One statement less: ``follow`` need not read the node.
        after = connection.execute(statement.returning(*node_providers.AFTER)).one()
    else:
        connection.execute(statement)
    node_providers.follow(connection, node, changes, after)


def read(connection: sa.Connection, ident: str, columns: Columns, visible: Sequence[Condition] = ()) -> sa.Row:
    """Read a node.

    :param columns: columns to select.
    :param visible: conditions on the nodes that the caller may see (``node_filters.visible``); () for all.
    :returns: a row with these columns.
    :raises failures.NodeNotFound: there is no such node, or the caller may not see it.
    """
    statement = _select_one(columns, _key(ident))
    row = connection.execute(statement.where(*visible) if visible else statement, {'ident': ident}).first()
    if row is None:
        raise failures.NodeNotFound(node=ident)
    return row


@functools.lru_cache(maxsize=256)
def _select_one(columns: Columns, key: str) -> sa.Select:
    """Return the SELECT of columns of the node whose column ``key`` equals the parameter ``ident``."""
    return prepared(sa.select(*columns).where(tables.nodes.c[key] == sa.bindparam('ident')))


@functools.cache
def _raise_generation(key: str) -> sa.Update:
    return sa.update(tables.nodes).where(tables.nodes.c[key] == sa.bindparam('ident')).values(origins.LOCKED)


@functools.lru_cache(maxsize=256)
def _returning(key: str, columns: Columns) -> sa.Select:
    """Return the statement that locks a node and reads columns of it, for PostgreSQL."""
    return prepared(change_feed.with_record(_raise_generation(key).returning(*columns).cte('taken')))


@functools.cache
def _raise_and_record(key: str) -> sa.TextClause:
    """Return the statement that locks a node and records the change, for MariaDB."""
    return joined.block(_raise_generation(key), change_feed.recording(tables.nodes.c[key] == sa.bindparam('ident')))


def _of_the_row(column: sa.ColumnElement[Any]) -> bool:
    return isinstance(column, sa.Column) or any(column is each for each in (*node_providers.BEFORE, MOMENT))


def _key(ident: str) -> str:
    return 'uuid' if is_canonical(ident) or uuidutils.is_uuid_like(ident) else 'name'
