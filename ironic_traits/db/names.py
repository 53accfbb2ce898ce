"""What traits and resource classes have in common: tables of names, standard ones and custom ones.

Standard names come from a library and stay; custom ones begin with CUSTOM_ and are the clients'.
"""

import logging

import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits.db.engine import retried
from ironic_traits.db.insert import insert_missing
from ironic_traits.db.types import now

LOG = logging.getLogger(__name__)

PREFIX = 'CUSTOM_'


def ids(connection, table, names):
    """Give {name: id} of those names that are there."""
    # MariaDB does not compare ASCII with what is none.
    names = [name for name in names if name.isascii()]
    if not names:
        return {}
    statement = sa.select(table.c.name, table.c.id).where(table.c.name.in_(sorted(names)))
    return {row.name: row.id for row in connection.execute(statement)}


def ensure(connection, table, names):
    """Insert those names that are missing; safe when another transaction does the same.

    :param connection: of a writer.
    :returns: how many were missing.
    """
    present = ids(connection, table, names)
    moment = now()
    # In order, so that two transactions that wait for each other's names do not do so in a circle.
    missing = sorted(set(names).difference(present))
    return insert_missing(connection, table, [{'name': name, 'created_at': moment} for name in missing])


@retried
def add(service, table, names):
    """Insert those names that are missing, in a transaction of its own.

    :param service: what has ``write``.
    """
    with service.write() as connection:
        ensure(connection, table, names)


def sync(connection, table, standard):
    """Insert the standard names that are missing; never take one away.

    :param standard: the names that the library gives.
    :returns: how many were missing.
    """
    present = set(connection.scalars(sa.select(table.c.name)))
    dropped = sorted(name for name in present.difference(standard) if not name.startswith(PREFIX))
    if dropped:
        LOG.warning('These %s are not standard any more, and stay: %s', table.name, ', '.join(dropped))
    return ensure(connection, table, set(standard).difference(present))


def read(connection, table, name):
    """Give the row of a name, None for none."""
    if not name.isascii():
        return None
    return connection.execute(sa.select(table).where(table.c.name == name)).first()


def delete(connection, table, name):
    """Delete a name.

    :returns: whether it is gone: nothing refers to it.
    """
    try:
        with connection.begin_nested():
            connection.execute(sa.delete(table).where(table.c.name == name))
    except db_exception.DBReferenceError:
        return False
    return True
