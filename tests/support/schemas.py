"""The schema of a database: its differences from the models, and the removals of a migration."""

from typing import NamedTuple

import alembic.autogenerate
import sqlalchemy as sa
from alembic.runtime.migration import MigrationContext

from ironic_traits.db import tables


def differences(database):
    """Return the changes that alembic would make in a database, including types and defaults."""
    with database.read() as connection:
        context = MigrationContext.configure(
            connection, opts={'compare_type': True, 'compare_server_default': True, 'target_metadata': tables.metadata}
        )
        return alembic.autogenerate.compare_metadata(context, tables.metadata)


class Column(NamedTuple):
    """The properties of a column that matter to a writer."""

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
    """Return the changes that break an older release: [sentence, …].

    :param before: result of ``inspect`` before a migration.
    :param after: result of ``inspect`` after it.
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
