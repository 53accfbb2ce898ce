"""Masks in SQL: integers for the conditions that a row does not fulfil, and the number of rows for each mask."""

from collections import Counter
from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from ironic_traits.db.statements.annotations import Condition

#: Maximum number of bits in one integer: a signed 64-bit integer has 63, and one of them is not used.
MAX_BITS = 62


def once(statement: sa.Select) -> sa.Subquery:
    """Return a subquery that is evaluated once.

    Its LIMIT excludes no rows. Without it, the databases would inline the expressions of its columns at each use, and
    evaluate them each time.
    """
    return statement.limit(2**31 - 1).subquery()


def number(conditions: Iterable[Condition]) -> sa.ColumnElement[int]:
    """Return the SQL expression of an integer in which bit n is set if condition n does not hold."""
    total: sa.ColumnElement = sa.literal(0, sa.BigInteger)
    for bit, condition in enumerate(conditions):
        total += sa.case((condition, sa.literal(0, sa.BigInteger)), else_=sa.literal(1 << bit, sa.BigInteger))
    return total


def count(connection: sa.Connection, statement: sa.Select, conditions: Sequence[Condition]) -> Counter[int]:
    """Let the database count the rows of a statement that fail the same conditions.

    :returns: {mask in which bit n is set if condition n does not hold: number of rows}.

    ::

        SELECT word_0, count(*)
        FROM (SELECT CASE WHEN (CONDITION 0) THEN 0 ELSE 1 END + … AS word_0 FROM … LIMIT 2147483647)
        GROUP BY word_0
    """
    words = [conditions[begin : begin + MAX_BITS] for begin in range(0, len(conditions), MAX_BITS)] or [()]
    labels = [number(word).label(f'word_{place}') for place, word in enumerate(words)]
    inner = once(statement.with_only_columns(*labels, maintain_column_froms=True))
    columns = [inner.c[label.name] for label in labels]
    counts: Counter[int] = Counter()
    for *numbers, rows in connection.execute(sa.select(*columns, sa.func.count()).group_by(*columns)):
        counts[sum(int(each) << place * MAX_BITS for place, each in enumerate(numbers))] += rows
    return counts
