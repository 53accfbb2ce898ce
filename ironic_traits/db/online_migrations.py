"""Data migrations that run in batches, while services of this release and of the one before use the database.

A migration of the schema should take the same time for any number of rows: it adds a column, and leaves it empty. The
code reads both forms of a row. ``ironic-traits-manage db online-data-migrations`` brings the old rows into the new form
by the functions here. A later release may then rely on the new form; its migration of the schema, which takes the old
one away, refuses to run before.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from ironic_traits.db.engine import Database, retried

#: Rows in one transaction. Other writers wait no longer than for these.
BATCH = 50


class OnlineMigration(NamedTuple):
    """A data migration. Rows that it has migrated must not be found by it again.

    :ivar name: for the operator.
    :ivar count: function of a connection that returns the number of rows to migrate.
    :ivar migrate: function of a connection, in a transaction, and of a number of rows. It locks and migrates at most so
        many rows, and returns how many it has migrated.
    """

    name: str
    count: Callable[[sa.Connection], int]
    migrate: Callable[[sa.Connection, int], int]


#: The migrations of this release, in the order in which they run. None of its tables needs one.
MIGRATIONS: tuple[OnlineMigration, ...] = ()


def unfinished(database: Database, migrations: Sequence[OnlineMigration]) -> dict[str, int]:
    """Return how many rows are left to migrate: {name of a migration: number, not 0}.

    :param database: ironic_traits.db.engine.Database.
    """
    with database.read() as connection:
        counts = {migration.name: migration.count(connection) for migration in migrations}
    return {name: count for name, count in counts.items() if count}


def run(
    database: Database, migrations: Sequence[OnlineMigration], max_count: int | None = None
) -> Iterator[tuple[str, int]]:
    """Run migrations batch by batch, and yield (name of the migration, number of rows) after each batch.

    What was yielded is committed. If this is interrupted, the next run continues with the rows that are left.

    :param database: ironic_traits.db.engine.Database.
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
