"""Pages by key: where a page begins is a condition on its first row, never a count of rows to skip."""

import dataclasses

import sqlalchemy as sa


@dataclasses.dataclass(frozen=True)
class Page:
    """One page of a list.

    :ivar limit: most rows on it.
    :ivar marker: uuid of the last row of the page before; None for the first page.
    :ivar sort_key: name of the column to sort by; the id breaks ties.
    :ivar descending: the other way round, ties too.
    """

    limit: int
    marker: str | None = None
    sort_key: str = 'id'
    descending: bool = False


def fetch(connection, statement, table, page, read_marker, key=None):
    """Run a list's statement for one page of it.

    :param statement: the SELECT, without an order.
    :param table: the table that the page is of, with an ``id``.
    :param page: Page.
    :param read_marker: function from columns to the row of the page's marker; raises when there is none.
    :param key: what to sort by, when it is not the column of that name.
    :returns: (rows, whether there are more).
    """
    key = table.c[page.sort_key] if key is None else key
    if page.marker:
        marker = read_marker((table.c.id, key.label('key')))
        statement = statement.where(after(key, table.c.id, marker, page.descending))
    statement = statement.order_by(*order(key, table.c.id, page.descending)).limit(page.limit + 1)
    rows = connection.execute(statement).all()
    return rows[: page.limit], len(rows) > page.limit


def order(key, identity, descending):
    """Give the ORDER BY of a list sorted by ``key``: rows without a key come last, equal keys by ``identity``.

    :param key: column, which may be NULL.
    :param identity: a unique column that is never NULL.
    :param descending: turns all of it round.
    """
    terms = [key.is_(None), key, identity] if _is_nullable(key) else [key, identity]
    return [term.desc() if descending else term for term in terms]


def after(key, identity, marker, descending):
    """Give the condition for the rows that ``order`` puts after the marker.

    :param marker: a row with the marker's ``id`` and ``key``.
    """
    further = identity < marker.id if descending else identity > marker.id
    if marker.key is None:
        same = sa.and_(key.is_(None), further)
        return sa.or_(same, key.is_not(None)) if descending else same
    beyond = key < marker.key if descending else key > marker.key
    condition = sa.or_(beyond, sa.and_(key == marker.key, further))
    if _is_nullable(key) and not descending:
        return sa.or_(condition, key.is_(None))
    return condition


def _is_nullable(key):
    """Whether a column, or an expression made of one, may be NULL."""
    return getattr(key, 'nullable', True)
