"""Pages by key: a page begins with a WHERE condition on the sort key, not with an OFFSET."""

import dataclasses

import sqlalchemy as sa


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


def fetch(connection, statement, table, page, read_marker, key=None):
    """Return one page of a list.

    :param statement: the SELECT of the list, without ORDER BY.
    :param table: the table to page, with a column ``id``.
    :param page: Page.
    :param read_marker: function from columns to the marker's row with these columns; raises if there is no such row.
    :param key: expression to sort by in place of the column ``page.sort_key``; None for that column.
    :returns: ([row, …], whether there are more).
    """
    key = table.c[page.sort_key] if key is None else key
    if page.marker:
        marker = read_marker((table.c.id, key.label('key')))
        statement = statement.where(after(key, table.c.id, marker, page.descending))
    statement = statement.order_by(*order(key, table.c.id, page.descending)).limit(page.limit + 1)
    rows = connection.execute(statement).all()
    return rows[: page.limit], len(rows) > page.limit


def order(key, identity, descending):
    """Return the ORDER BY terms of a list sorted by ``key``: NULLs come last, equal keys are sorted by ``identity``.

    :param key: column or expression, which may be NULL.
    :param identity: a unique column that is never NULL.
    :param descending: whether the whole order is reversed, so that NULLs come first.
    :returns: [SQL expression, …].
    """
    terms = [identity] if key is identity else [key, identity]
    if _is_nullable(key):
        terms.insert(0, key.is_(None))
    return [term.desc() if descending else term for term in terms]


def after(key, identity, marker, descending):
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


def _is_nullable(key):
    """Whether a column or an expression may be NULL."""
    return getattr(key, 'nullable', True)
