"""Tables of names, for traits and resource classes.

Standard names come from a library, and are never deleted. Custom names begin with CUSTOM_. Clients create and delete
custom names.
"""

import functools
import logging
from collections.abc import Collection

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.db.engine import Writer, retried
from ironic_traits.db.statements.insert import insert_missing
from ironic_traits.db.statements.types import now

LOG = logging.getLogger(__name__)

PREFIX = 'CUSTOM_'


def ids(connection: sa.Connection, table: sa.Table, names: Collection[str]) -> dict[str, int]:
    """Return the ids of the names that exist, {name: id}.

    :param table: ``tables.traits`` or ``tables.resource_classes``.
    :param names: any strings.
    """
    if not names:
        return {}
    return {row.name: row.id for row in connection.execute(_select_ids(table), {'names': sorted(names)})}


@functools.cache
def _select_ids(table: sa.Table) -> sa.Select:
    """Return the statement of ``ids``. It is cached, because building it takes as long as executing it."""
    return sa.select(table.c.name, table.c.id).where(table.c.name.in_(sa.bindparam('names')))


def ensure(connection: sa.Connection, table: sa.Table, names: Collection[str]) -> int:
    """Insert the names that are missing. Another transaction may insert the same names at the same time.

    :param table: ``tables.traits`` or ``tables.resource_classes``.
    :param names: valid names.
    :returns: the number of inserted names.
    """
    existing = ids(connection, table, names)
    moment = now()
    # Sorted, so that two transactions that insert the same names cannot deadlock.
    missing = sorted(set(names).difference(existing))
    return insert_missing(connection, table, [{'name': name, 'created_at': moment} for name in missing])


@retried
def add(service: Writer, table: sa.Table, names: Collection[str]) -> None:
    """Insert the names that are missing, in a separate transaction.

    :param service: ironic_traits.service.Service or a Context.
    """
    with service.write() as connection:
        ensure(connection, table, names)


def sync(connection: sa.Connection, table: sa.Table, standard: Collection[str]) -> int:
    """Insert the standard names that are missing. Names that the library has dropped stay, and are logged.

    :param standard: the names of the installed library.
    :returns: the number of inserted names.
    """
    existing = set(connection.scalars(sa.select(table.c.name)))
    dropped = sorted(name for name in existing.difference(standard) if not name.startswith(PREFIX))
    if dropped:
        LOG.warning('These %s are no longer standard, but are kept: %s', table.name, ', '.join(dropped))
    return ensure(connection, table, set(standard).difference(existing))


def read(connection: sa.Connection, table: sa.Table, name: str) -> sa.Row | None:
    """Return the row of a name (any string); None if it does not exist."""
    return connection.execute(sa.select(table).where(table.c.name == name)).first()


def lock(connection: sa.Connection, table: sa.Table, name: str) -> sa.Row | None:
    """Lock a name (any string) until the end of the transaction, and return its row; None if it does not exist."""
    unlocked = read(connection, table, name)
    if unlocked is None:
        return None
    # Another transaction may have deleted or renamed it in the meantime.
    same = table.c.id == unlocked.id, table.c.name == name
    return connection.execute(sa.select(table).where(*same).with_for_update()).first()


def delete(connection: sa.Connection, table: sa.Table, name: str) -> bool:
    """Delete a name that is locked (``lock``), unless other rows refer to it.

    :returns: whether it was deleted. If not, the transaction cannot continue: it must be rolled back.
    """
    # Not in a savepoint: after a deadlock, MariaDB has dropped it, and the resulting error is not retried.
    try:
        connection.execute(sa.delete(table).where(table.c.name == name))
    except db_exception.DBReferenceError:
        return False
    return True
