"""The schema of a database: what differs from the models, and what a migration has taken away."""

from typing import NamedTuple

import alembic.autogenerate
import sqlalchemy as sa
from alembic.runtime.migration import MigrationContext

from ironic_traits.db import tables


def differences(database):
    """Return what alembic would change in a database, types and defaults included."""
    with database.read() as connection:
        context = MigrationContext.configure(
            connection, opts={'compare_type': True, 'compare_server_default': True, 'target_metadata': tables.metadata}
        )
        return alembic.autogenerate.compare_metadata(context, tables.metadata)


class Column(NamedTuple):
    """What a writer must know of a column."""

    is_required: bool
    has_default: bool


def inspect(database):
    """Return the columns of all tables: {table: {column: Column}}."""
    with database.read() as connection:
        inspector = sa.inspect(connection)
        return {
            table: {column['name']: _column(column) for column in inspector.get_columns(table)}
            for table in sorted(inspector.get_table_names())
        }


def _column(column):
    has_default = column['default'] is not None or bool(column.get('autoincrement') is True)
    return Column(not column['nullable'], has_default)


def contractions(before, after):
    """Return what an older release cannot do any more: [sentence, …].

    :param before: what ``inspect`` returned before a migration.
    :param after: what it returned afterwards.
    """
    sentences = [f'table {table} is gone' for table in before if table not in after]
    for table, columns in after.items():
        if table not in before:
            continue
        sentences += [f'column {table}.{name} is gone' for name in before[table] if name not in columns]
        for name, column in sorted(columns.items()):
            was_required = name in before[table] and before[table][name].is_required
            if column.is_required and not column.has_default and not was_required:
                sentences.append(f'column {table}.{name} needs a value')
    return sentences
