"""Pages by key: a page begins with a WHERE condition on the sort key, not with an OFFSET."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.db.annotations import Columns, Condition

#: The databases that have NULLS LAST.
_NULLS_LAST = ('sqlite', 'postgresql')


@dataclasses.dataclass(frozen=True)
class Page:
    """One page of a list.

    :ivar limit: most rows on the page.
    :ivar marker: uuid of the last row of the page before; None for the first page.
    :ivar sort_key: name of the column to sort by; rows with equal values are sorted by id.
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
    :param read_marker: function from the marker and columns to its row with these columns; raises if there is no such
        row.
    :param key: expression to sort by in place of the column ``page.sort_key``; None for that column.
    """
    key = table.c[page.sort_key] if key is None else key
    if page.marker:
        marker = read_marker(page.marker, (table.c.id, key.label('key')))
        statement = statement.where(after(key, table.c.id, marker, page.descending))
    has_nulls_last = connection.dialect.name in _NULLS_LAST
    statement = statement.order_by(*order(key, table.c.id, page.descending, has_nulls_last)).limit(page.limit + 1)
    rows = connection.execute(statement).all()
    return Rows(rows[: page.limit], len(rows) > page.limit)


def order(
    key: sa.ColumnElement[Any], identity: sa.ColumnElement[int], descending: bool, has_nulls_last: bool = False
) -> list[sa.ColumnElement[Any]]:
    """Return the ORDER BY terms of a list sorted by ``key``: NULLs come last, equal keys are sorted by ``identity``.

    :param key: column or expression, which may be NULL.
    :param identity: a unique column that is never NULL.
    :param descending: whether the whole order is reversed, so that NULLs come first.
    :param has_nulls_last: whether the database has NULLS LAST, with which it reads a page from an index of the key.
    :returns: [SQL expression, …].
    """
    terms: list[sa.ColumnElement[Any]] = [identity] if key is identity else [key, identity]
    if _is_nullable(key) and not has_nulls_last:
        terms.insert(0, key.is_(None))
    terms = [term.desc() if descending else term for term in terms]
    if _is_nullable(key) and has_nulls_last:
        terms[0] = terms[0].nulls_first() if descending else terms[0].nulls_last()
    return terms


def after(key: sa.ColumnElement[Any], identity: sa.ColumnElement[int], marker: sa.Row, descending: bool) -> Condition:
    """Return the condition on the rows that come after the marker in the order of ``order``.

    :param marker: a row with the marker's ``id`` and ``key``.
    """
    further = identity < marker.id if descending else identity > marker.id
    if key is identity:
        return further
    if marker.key is None:
        same = sa.and_(key.is_(None), further)
        return sa.or_(same, key.is_not(None)) if descending else same
    beyond = key < marker.key if descending else key > marker.key
    condition = sa.or_(beyond, sa.and_(key == marker.key, further))
    if _is_nullable(key) and not descending:
        return sa.or_(condition, key.is_(None))
    return condition


def _is_nullable(key: sa.ColumnElement[Any]) -> bool:
    """Whether a column or an expression may be NULL."""
    return getattr(key, 'nullable', True)
