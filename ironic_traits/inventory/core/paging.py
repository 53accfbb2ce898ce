"""Keyset pagination: a page begins at a WHERE condition on the sort key, not at an OFFSET."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.db.statements.annotations import Columns, Condition

#: The databases that use an index for the comparison of pairs, ``(key, id) > (1, 2)``.
_COMPARE_PAIRS = ('sqlite', 'postgresql')


@dataclasses.dataclass(frozen=True)
class Page:
    """One page of a list.

    :ivar limit: maximum number of rows on the page.
    :ivar marker: uuid of the last row of the previous page; None for the first page.
    :ivar sort_key: name of the column to sort by. Rows with equal values are sorted by id.
    :ivar descending: whether the whole order is reversed.
    """

    limit: int
    marker: str | None = None
    sort_key: str = 'id'
    descending: bool = False


class Rows(NamedTuple):
    """The rows of a page.

    :ivar rows: [row, …].
    :ivar has_more: whether there are more rows after the page.
    """

    rows: Sequence[sa.Row]
    has_more: bool


def fetch(
    connection: sa.Connection,
    statement: sa.Select,
    table: sa.Table,
    page: Page,
    read_marker: Callable[[str, Columns], sa.Row],
    key: sa.ColumnElement[Any] | None = None,
) -> Rows:
    """Return one page of a list.

    :param statement: the SELECT of the list, without ORDER BY.
    :param table: the table to page, with a column ``id``.
    :param read_marker: function (marker, columns) that returns the marker's row with these columns, or raises a failure
        if there is no such row.
    :param key: expression to sort by; None for the column ``page.sort_key``.
    """
    key = table.c[page.sort_key] if key is None else key
    marker = read_marker(page.marker, (table.c.id, key.label('key'))) if page.marker else None
    pairs = connection.dialect.name in _COMPARE_PAIRS
    parts = [
        _ordered(statement.where(*part.conditions), part.order, page)
        for part in _parts(key, table.c.id, marker, page.descending, pairs)
    ]
    rows = connection.execute(parts[0]).all()
    if len(parts) > 1 and len(rows) <= page.limit:
        # One statement reads both parts. Otherwise a row that moves between the parts could be read twice.
        of_parts = (part.with_only_columns(table.c.id, maintain_column_froms=True).subquery() for part in parts)
        of_page = sa.union_all(*(sa.select(part.c.id) for part in of_parts)).subquery()
        both = statement.where(table.c.id.in_(sa.select(of_page.c.id)))
        rows = connection.execute(_ordered(both, (key.is_(None), key, table.c.id), page)).all()
    return Rows(rows[: page.limit], len(rows) > page.limit)


def _ordered(statement: sa.Select, order: Iterable[sa.ColumnElement[Any]], page: Page) -> sa.Select:
    """Return a statement with the order of a page, and a limit of one row more than the page."""
    return statement.order_by(*(term.desc() if page.descending else term for term in order)).limit(page.limit + 1)


class _Part(NamedTuple):
    """A part of a list that can be read from the marker on, in the order of an index on the key and the id.

    :ivar conditions: conditions on its rows.
    :ivar order: the terms of ORDER BY.
    """

    conditions: Sequence[Condition]
    order: Sequence[sa.ColumnElement[Any]]


def _parts(
    key: sa.ColumnElement[Any], identity: sa.ColumnElement[int], marker: sa.Row | None, descending: bool, pairs: bool
) -> list[_Part]:
    """Return the one or two parts of a list sorted by ``key``, in their order.

    The rows without a value are a separate part. It comes last, or first if the order is reversed.

    :param key: column or expression, which may be NULL.
    :param identity: a unique column that is never NULL.
    :param marker: a row with the marker's ``id`` and ``key``; None to begin with the first row.
    :param pairs: whether the database uses an index to compare pairs of values.
    """
    in_null = _is_nullable(key) and marker is not None and marker.key is None
    order = (key,) if _is_unique(key) else (key, identity)
    further = [] if in_null else _after(key, identity, marker, descending, pairs)
    if not _is_nullable(key):
        return [_Part(further, order)]
    having = _Part([key.is_not(None), *further], order)
    further = _after(identity, identity, marker, descending, pairs) if in_null else []
    # PostgreSQL uses the index only if ORDER BY includes the key, and MariaDB only if it does not.
    without = _Part([key.is_(None), *further], (key, identity) if pairs else (identity,))
    if descending:
        return [having] if marker is not None and not in_null else [without, having]
    return [without] if in_null else [having, without]


def _after(
    key: sa.ColumnElement[Any], identity: sa.ColumnElement[int], marker: sa.Row | None, descending: bool, pairs: bool
) -> list[Condition]:
    """Return the condition on the rows with a value that come after the marker. Parameters are those of ``_parts``."""
    if marker is None:
        return []
    value = sa.literal(marker.id if key is identity else marker.key, key.type)
    beyond = key < value if descending else key > value
    if _is_unique(key):
        return [beyond]
    if pairs:
        both, last = sa.tuple_(key, identity), sa.tuple_(value, sa.literal(marker.id))
        return [both < last if descending else both > last]
    further = identity < marker.id if descending else identity > marker.id
    return [sa.or_(beyond, sa.and_(key == value, further))]


def _is_unique(key: sa.ColumnElement[Any]) -> bool:
    """Whether the values of a column are unique."""
    return bool(getattr(key, 'unique', False) or getattr(key, 'primary_key', False))


def _is_nullable(key: sa.ColumnElement[Any]) -> bool:
    """Whether a column or an expression may be NULL."""
    return getattr(key, 'nullable', True)
