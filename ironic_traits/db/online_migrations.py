"""Data migrations that run in batches, while services of this release and of the previous one use the database.

A migration of the schema should take the same time for any number of rows: it adds a column, and leaves it empty. The
code reads both forms of a row. ``ironic-traits-manage db online-data-migrations`` converts the old rows to the new form
with the functions here. A later release may then rely on the new form. Its migration of the schema removes the old
form, and refuses to run before all rows are converted.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits.db.engine import Database, retried

#: Maximum number of rows in one transaction. This limits the time that other writers wait.
BATCH = 50


class OnlineMigration(NamedTuple):
    """A data migration. It must not find rows again that it has migrated.

    :ivar name: name for the operator.
    :ivar count: function of a connection that returns the number of rows to migrate.
    :ivar migrate: function (connection in a transaction, maximum number of rows) that locks and migrates rows, and
        returns the number of migrated rows.
    """

    name: str
    count: Callable[[sa.Connection], int]
    migrate: Callable[[sa.Connection, int], int]


#: The migrations of this release, in the order of execution. This release needs none.
MIGRATIONS: tuple[OnlineMigration, ...] = ()


def unfinished(database: Database, migrations: Sequence[OnlineMigration]) -> dict[str, int]:
    """Return the number of rows to migrate, {name of a migration: number}, without zeros."""
    with database.read() as connection:
        counts = {migration.name: migration.count(connection) for migration in migrations}
    return {name: count for name, count in counts.items() if count}


def run(
    database: Database, migrations: Sequence[OnlineMigration], max_count: int | None = None
) -> Iterator[tuple[str, int]]:
    """Run migrations batch by batch, and yield (name of the migration, number of rows) after each batch.

    Yielded batches are committed. After an interruption, the next run continues with the remaining rows.

    :param max_count: maximum number of rows to migrate in all; None for no limit.
    """
    left = max_count
    for migration in migrations:
        while left is None or left > 0:
            number = BATCH if left is None else min(BATCH, left)
            if not (done := _batch(database, migration, number)):
                break
            if left is not None:
                left -= done
            yield migration.name, done


@retried
def _batch(database: Database, migration: OnlineMigration, number: int) -> int:
    with database.write() as connection:
        return migration.migrate(connection, number)
