"""INSERT that ignores rows whose key exists already, in the syntax of each database."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite


def insert_missing(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> int:
    """Insert the rows whose unique keys do not exist yet.

    Another transaction may insert the same rows at the same time.

    :param table: SQLAlchemy table.
    :param rows: [{column: value}, …]; may be empty.
    :returns: the number of inserted rows.
    """
    if not rows:
        return 0
    insert = _INSERTS.get(connection.dialect.name, _ignore)
    # psycopg drops the number of rows together with the cursor.
    statement = insert(table).values(rows).execution_options(preserve_rowcount=True)
    return connection.execute(statement).rowcount


def _ignore(table: sa.Table) -> sa.Insert:
    return sa.insert(table).prefix_with('IGNORE')


_INSERTS: dict[str, Callable[[sa.Table], sa.Insert]] = {
    'postgresql': lambda table: postgresql.insert(table).on_conflict_do_nothing(),
    'sqlite': lambda table: sqlite.insert(table).on_conflict_do_nothing(),
}
