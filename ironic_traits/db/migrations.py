"""Schema migrations: alembic, run in this process.

The scripts are in ``alembic/`` at the top of the checkout, and are installed as ``ironic_traits/db/alembic``.
"""

import contextlib
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from ironic_traits.db import repeatable, revisions
from ironic_traits.db.engine import Database

#: Name (MariaDB) and number (PostgreSQL) of the advisory lock that a process holds while it migrates.
LOCK = ('ironic-traits-migrations', 0x1807_1735)
#: Most seconds to wait for that lock on MariaDB.
_MAX_WAIT = 600


def _config(connection: sa.Connection | None = None) -> Config:
    config = Config(revisions.scripts() / 'alembic.ini')
    config.set_main_option('script_location', str(revisions.scripts()))
    config.attributes['connection'] = connection
    return config


def upgrade(database: Database, revision: str = 'head') -> None:
    """Upgrade a database to a revision. If several processes do so at the same time, one works and the others wait.

    An upgrade that fails, or is killed, can be run again.

    :param database: ironic_traits.db.engine.Database.
    :param revision: name of the revision.
    :raises revisions.NewerRevision: the database has a revision that this release does not have.
    """
    current = revisions.current(database)
    if current and current not in revisions.names():
        raise revisions.NewerRevision(f'it is at version {current}, which belongs to a newer release')
    with database.write_for_long() as connection, _locked(connection), repeatable.ddl(connection):
        command.upgrade(_config(connection), revision)


@contextlib.contextmanager
def _locked(connection: sa.Connection) -> Iterator[None]:
    """Hold the migration lock. SQLite needs none, because only one transaction can write at a time."""
    name, number = LOCK
    dialect = connection.dialect.name
    if dialect == 'postgresql':
        # It is released at the end of the transaction.
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))
        yield
    elif dialect in ('mysql', 'mariadb'):
        connection.execute(sa.select(sa.func.get_lock(name, _MAX_WAIT)))
        try:
            yield
            # Otherwise the next process would get the lock before it can see the new version. The tables are committed
            # already: each DDL statement is.
            connection.exec_driver_sql('COMMIT')
        finally:
            # The server releases it with the connection, if that has failed.
            with contextlib.suppress(Exception):
                connection.execute(sa.select(sa.func.release_lock(name)))
    else:
        yield
