"""Several writes in one statement, on the database that can: PostgreSQL.

WITH write_0 AS (DELETE FROM node_traits …), write_1 AS (INSERT INTO node_traits …) INSERT INTO node_history …

Each statement costs a round trip, and about as much time in SQLAlchemy and the driver. On the other databases the
writes are executed one after the other.
"""

import functools
from collections.abc import Iterable
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits.db.annotations import Values

_Statement = sa.Insert | sa.Update | sa.Delete


class Write(NamedTuple):
    """A statement to execute.

    :ivar statement: INSERT, UPDATE or DELETE, built once: built for each call, it would have to be compiled each time.
    :ivar parameters: {name: value} of all parameters; or a list of them, to execute the statement with each.
    :ivar rows: the number of rows that it should write; None if that does not matter.
    """

    statement: _Statement
    parameters: Values | list[Values]
    rows: int | None = None


class MissingRows(Exception):
    """A statement has written fewer rows than it should have. Nothing may be committed."""


def execute(connection: sa.Connection, writes: Iterable[Write]) -> None:
    """Execute writes, in any order. Each one is of other rows than the others, and none reads what another one writes.

    :raises MissingRows: a statement has written fewer rows than it should have.
    """
    statements: list[_Statement] = []
    parameters: Values = {}
    is_possible = connection.dialect.name == 'postgresql'
    for write in writes:
        names = write.parameters if is_possible and write.rows is None else []
        if isinstance(names, dict) and parameters.keys().isdisjoint(names):
            statements.append(write.statement)
            parameters |= names
            continue
        result = connection.execute(write.statement, write.parameters)
        if write.rows is not None and result.rowcount < write.rows:
            raise MissingRows
    if statements:
        connection.execute(_together(*statements), parameters)


@functools.lru_cache(maxsize=256)
def _together(*statements: _Statement) -> _Statement:
    *others, last = statements
    return last.add_cte(*(other.cte(f'write_{number}') for number, other in enumerate(others)))
