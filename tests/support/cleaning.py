"""Empties databases between tests.

Most tests write to few tables. One statement finds the tables with rows, and only these are emptied, because a DELETE
for each table takes longer than most tests.
"""

import functools

import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support.service import database

#: Tables with standard names, which are not deleted.
_NAMES = (tables.traits, tables.resource_classes)
#: The tables to empty, in an order that foreign keys allow. Without the writers of traits, which processes cache.
_TABLES = [table for table in reversed(tables.metadata.sorted_tables) if table is not tables.trait_writers]


def empty(url):
    """Delete all rows of a database except the standard names, and the writers of traits, which processes cache."""
    with database(url) as opened, opened.write() as connection:
        has_rows = connection.execute(_are_there_rows()).one()
        for table, rows in zip(_TABLES, has_rows, strict=True):
            if not rows:
                continue
            if table is tables.resource_providers:
                # MariaDB checks foreign keys row by row, also those between the providers of a tree.
                connection.execute(sa.update(table).values(parent_provider_uuid=None))
            connection.execute(sa.delete(table).where(*_custom(table)))


@functools.cache
def _are_there_rows():
    """Return a statement that selects for each of the tables whether it has rows to delete."""
    return sa.select(*(sa.exists(sa.select(1).select_from(table).where(*_custom(table))) for table in _TABLES))


def _custom(table):
    """Return the conditions of the rows to delete."""
    return [table.c.name.startswith('CUSTOM_')] if table in _NAMES else []
