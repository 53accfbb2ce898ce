"""Repeats migrations that were interrupted on MariaDB.

PostgreSQL and SQLite roll back an upgrade that fails. MariaDB commits each DDL statement, so an interrupted migration
leaves its first changes. A second run would fail at the first statement, for example because the table exists.
Therefore the DDL statements get MariaDB's IF [NOT] EXISTS, and statements that were executed before change nothing.

MySQL has no IF NOT EXISTS for columns and keys. There, restore the backup after a failed upgrade.
"""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

#: [(pattern of the beginning of a statement, replacement), …].
_FORMS = [
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r'(CREATE TABLE) (?!IF )', r'\1 IF NOT EXISTS '),
        (r'(CREATE (UNIQUE )?INDEX) (?!IF )', r'\1 IF NOT EXISTS '),
        (r'(ALTER TABLE \S+ ADD COLUMN) (?!IF )', r'\1 IF NOT EXISTS '),
        (r'(ALTER TABLE \S+ ADD CONSTRAINT \S+ FOREIGN KEY) ?(?=\()', r'\1 IF NOT EXISTS '),
        (r'(ALTER TABLE \S+ ADD CONSTRAINT) (?=\S+ (CHECK|UNIQUE))', r'\1 IF NOT EXISTS '),
        (r'(ALTER TABLE \S+ DROP (COLUMN|FOREIGN KEY|CONSTRAINT|INDEX)) (?!IF )', r'\1 IF EXISTS '),
        (r'(DROP (TABLE|INDEX)) (?!IF )', r'\1 IF EXISTS '),
    )
]


def repeatable(statement: str) -> str:
    """Return a DDL statement in a form that changes nothing if it was executed before.

    >>> repeatable('ALTER TABLE nodes ADD COLUMN shard VARCHAR(255)')
    'ALTER TABLE nodes ADD COLUMN IF NOT EXISTS shard VARCHAR(255)'
    >>> repeatable('DROP INDEX nodes_shard_idx ON nodes')
    'DROP INDEX IF EXISTS nodes_shard_idx ON nodes'

    :param statement: any statement. Statements of other forms are returned unchanged.
    """
    begin = statement.lstrip()
    for pattern, replacement in _FORMS:
        if pattern.match(begin):
            return pattern.sub(replacement, begin, count=1)
    return statement


@contextlib.contextmanager
def ddl(connection: sa.Connection) -> Iterator[None]:
    """Make the DDL statements of a connection repeatable during the block, on MariaDB."""
    if not getattr(connection.dialect, 'is_mariadb', False):
        yield
        return
    sa.event.listen(connection, 'before_cursor_execute', _rewrite, retval=True)
    try:
        yield
    finally:
        sa.event.remove(connection, 'before_cursor_execute', _rewrite)


def _rewrite(
    connection: sa.Connection, cursor: Any, statement: str, parameters: Any, context: Any, executemany: bool
) -> tuple[str, Any]:
    return repeatable(statement), parameters
