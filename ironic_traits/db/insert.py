"""INSERT that leaves rows alone that are there already: each database has its own word for it."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite


def insert_missing(connection, table, rows):
    """Insert those rows of which no key is taken; safe when another transaction inserts the same.

    :param connection: of a writer.
    :param rows: [{column: value}, …]; may be empty.
    :returns: how many were inserted.
    """
    if not rows:
        return 0
    insert = _INSERTS.get(connection.dialect.name, _ignore)
    return connection.execute(insert(table).values(rows)).rowcount


def _ignore(table):
    return sa.insert(table).prefix_with('IGNORE')


_INSERTS = {
    'postgresql': lambda table: postgresql.insert(table).on_conflict_do_nothing(),
    'sqlite': lambda table: sqlite.insert(table).on_conflict_do_nothing(),
}
