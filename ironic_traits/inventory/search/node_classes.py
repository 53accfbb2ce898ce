"""The resource classes of nodes, as stored there. Several may have the same normalized name (CUSTOM_…).

They are read from an index: one entry for each class, for any number of nodes.
"""

import functools
from collections.abc import Iterable

import os_resource_classes
import sqlalchemy as sa

from ironic_traits.db import tables

#: Maximum number of classes to read.
MAX_CLASSES = 100


def statement(dialect: str, *columns: sa.ColumnElement) -> sa.Select:
    """Return the SELECT of the classes of nodes, and of further columns in each of its rows.

    :param columns: columns that do not depend on the classes.
    :returns: SELECT of ``name`` and the columns: a row for each class, and one or more with NULL. It is incomplete if
        it has MAX_CLASSES rows or more.
    """
    return sa.select((_recursive() if dialect in ('sqlite', 'postgresql') else _distinct()).c.name, *columns)


def read(connection: sa.Connection, normalized: str) -> list[str] | None:
    """Return the classes of nodes that have a normalized name; None if there are MAX_CLASSES classes or more.

    :param normalized: CUSTOM_….
    """
    names = connection.scalars(statement(connection.dialect.name)).all()
    return same(names, normalized) if len(names) < MAX_CLASSES else None


def same(names: Iterable[str | None], normalized: str) -> list[str]:
    """Return the classes of nodes that have a normalized name. (None and '' are not classes.)"""
    return [name for name in names if name and os_resource_classes.normalize_name(name) == normalized]


@functools.cache
def _recursive() -> sa.CTE:
    """Return the classes, and a NULL.

    ::

        WITH RECURSIVE classes (name, number) AS (
            SELECT min(resource_class), 1 FROM nodes
            UNION ALL SELECT (SELECT min(resource_class) FROM nodes WHERE resource_class > classes.name), number + 1
            FROM classes WHERE classes.name IS NOT NULL AND number < 100)
    """
    column = tables.nodes.c.resource_class
    first = sa.select(sa.func.min(column).label('name'), sa.literal(1).label('number'))
    classes = first.cte('classes', recursive=True)
    following = sa.select(sa.func.min(column)).where(column > classes.c.name).correlate(classes).scalar_subquery()
    more = sa.select(following, classes.c.number + 1)
    return classes.union_all(more.where(classes.c.name.is_not(None), classes.c.number < MAX_CLASSES))


@functools.cache
def _distinct() -> sa.Subquery:
    """Return the classes, and a NULL. MariaDB reads one index entry per class for DISTINCT, but not for min()."""
    some = sa.select(tables.nodes.c.resource_class).distinct().limit(MAX_CLASSES).subquery()
    return sa.union_all(sa.select(sa.null().label('name')), sa.select(some)).subquery()
