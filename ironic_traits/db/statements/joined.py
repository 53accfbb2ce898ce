"""Joins several statements into one, on databases that support this.

PostgreSQL: WITH write_0 AS (DELETE FROM node_traits …), write_1 AS (UPDATE nodes …) INSERT INTO node_history …

MariaDB: BEGIN NOT ATOMIC DELETE FROM node_traits …; UPDATE nodes …; INSERT INTO node_history …; END

SQLite and MySQL have no such statements. There, the writes are executed one after the other.
doc/source/contributor/decisions/joined_statements.rst says why.
"""

import functools
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from ironic_traits.db.statements.annotations import Values

_Statement = sa.Insert | sa.Update | sa.Delete


class Write(NamedTuple):
    """A statement to execute.

    :ivar statement: INSERT, UPDATE or DELETE. It should be built once, because each new statement must be compiled.
    :ivar parameters: {name: value} of all parameters; or a list of these, to execute the statement with each.
    :ivar rows: the number of rows that it should write; None if that does not matter.
    """

    statement: _Statement
    parameters: Values | list[Values]
    rows: int | None = None


class MissingRows(Exception):
    """A statement has written fewer rows than expected. The transaction must not be committed."""


def execute(connection: sa.Connection, writes: Iterable[Write]) -> None:
    """Execute writes in any order. They must write different rows, and must not read rows that others write.

    :raises MissingRows: a statement has written fewer rows than expected.
    """
    statements: list[_Statement] = []
    parameters: Values = {}
    for write in writes:
        values = write.parameters if write.rows is None else []
        if isinstance(values, dict) and parameters.keys().isdisjoint(values) and _can_join(connection, values):
            statements.append(write.statement)
            parameters |= values
            continue
        # psycopg drops the number of rows together with the cursor.
        options = {'preserve_rowcount': True} if write.rows is not None else {}
        result = connection.execute(write.statement, write.parameters, execution_options=options)
        if write.rows is not None and result.rowcount < write.rows:
            raise MissingRows
    if statements:
        connection.execute(_joined(connection, *statements), parameters)


def has_blocks(connection: sa.Connection) -> bool:
    """Whether the database supports ``block``, that is, whether it is MariaDB, and not MySQL."""
    return bool(getattr(connection.dialect, 'is_mariadb', False))


@functools.lru_cache(maxsize=256)
def block(*statements: _Statement) -> sa.TextClause:
    """Return a statement for MariaDB that executes others one after the other. It has the parameters of all of them.

    It ends with the error of the first statement that fails. As usual, the writes of the others are rolled back with
    the transaction. Each statement sees the data that was committed when it began, as if it was executed alone.

    The statements must not return rows, because SQLAlchemy would ignore an error after the rows.

    :param statements: statements that are built once, as those of ``Write``. Parameters with the same name are shared.
    """
    texts = []
    parameters: dict[str, sa.BindParameter[Any]] = {}
    for statement in statements:
        compiled: Any = statement.compile(dialect=_MARIADB)
        if compiled.prefetch:
            raise ValueError(f'Python computes the defaults of {", ".join(map(str, compiled.prefetch))}')
        texts.append(_PARTS.sub(_part, compiled.string))
        for parameter, name in compiled.bind_names.items():
            if parameters.setdefault(name, parameter).value != parameter.value:
                raise ValueError(f'several statements have a parameter {name}, with different values')
    text = sa.text(f'BEGIN NOT ATOMIC {"; ".join(texts)}; END')
    return text.bindparams(*(_parameter(name, each) for name, each in parameters.items()))


_MARIADB = mysql.dialect(paramstyle='pyformat', is_mariadb=True)
#: The parts of a compiled statement that have another form in ``text``: parameters, percent signs and colons.
_PARTS = re.compile(r'%\((\w+)\)s|%%|:')


def _part(match: re.Match[str]) -> str:
    return {'%%': '%', ':': r'\:'}.get(match[0]) or f':{match[1]}'


def _parameter(name: str, parameter: sa.BindParameter[Any]) -> sa.BindParameter[Any]:
    if parameter.required:
        return sa.bindparam(name, type_=parameter.type)
    return sa.bindparam(name, parameter.value, parameter.type)


def _can_join(connection: sa.Connection, parameters: Values) -> bool:
    """Whether a write with these parameters can be executed together with others."""
    if has_blocks(connection):
        # The SQL of a parameter that is a list depends on its length.
        return not any(isinstance(value, list) for value in parameters.values())
    return connection.dialect.name == 'postgresql'


def _joined(connection: sa.Connection, *statements: _Statement) -> sa.Executable:
    if len(statements) == 1:
        return statements[0]
    return block(*statements) if has_blocks(connection) else _together(*statements)


@functools.lru_cache(maxsize=256)
def _together(*statements: _Statement) -> _Statement:
    *others, last = statements
    return last.add_cte(*(other.cte(f'write_{number}') for number, other in enumerate(others)))
