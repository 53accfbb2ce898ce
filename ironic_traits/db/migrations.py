"""Schema migrations. Alembic runs in this process.

The scripts are in ``alembic/`` at the top of the checkout, and are installed as ``ironic_traits/db/alembic``.
"""

import contextlib
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from oslo_db.exception import DBDuplicateEntry

from ironic_traits.db import repeatable, revisions
from ironic_traits.db.engine import Database
from ironic_traits.db.failover import outage

#: Name (MariaDB) and number (PostgreSQL) of the advisory lock that a process holds while it migrates.
LOCK = ('ironic-traits-migrations', 0x1807_1735)
#: Maximum number of seconds to wait for that lock.
MAX_WAIT = 600
#: The table in which alembic stores the revision. Its second column is unique and always has the same value, so that a
#: database has one revision at most. The name of the primary key is alembic's.
_VERSION = sa.Table(
    'alembic_version',
    sa.MetaData(),
    sa.Column('version_num', sa.String(32), nullable=False),
    sa.Column('single', sa.SmallInteger, nullable=False, server_default='1', unique=True),
    sa.PrimaryKeyConstraint('version_num', name='alembic_version_pkc'),
)
#: PostgreSQL's code for a timeout of a wait for a lock.
_LOCK_NOT_AVAILABLE = '55P03'


def _config(connection: sa.Connection | None = None) -> Config:
    config = Config(revisions.scripts() / 'alembic.ini')
    config.set_main_option('script_location', str(revisions.scripts()))
    config.attributes['connection'] = connection
    return config


def upgrade(database: Database, revision: str = 'head', max_wait: int = MAX_WAIT) -> None:
    """Upgrade a database to a revision. If several processes upgrade it at the same time, one works and others wait.

    Services may run at the same time. An upgrade that fails, or is killed, can be run again.

    :param revision: name of the revision.
    :param max_wait: maximum number of seconds to wait for another upgrade. For SQLite, the limit is ``[database]
        lock_timeout``.
    :raises revisions.NewerRevision: the database has a revision that this release does not have.
    :raises revisions.UpgradeInProgress: another upgrade has not ended in time, or has interfered.
    """
    current = revisions.current(database)
    if revisions.is_newer(current):
        raise revisions.NewerRevision(
            f'it is at version {current}, which belongs to a newer release: upgrade it with that release'
        )
    with database.write_for_long() as connection, _locked(connection, max_wait), repeatable.ddl(connection):
        command.upgrade(_config(connection), revision)


def _locked(connection: sa.Connection, max_wait: int) -> contextlib.AbstractContextManager[None]:
    """Hold the migration lock during the block. SQLite needs no lock: only one transaction can write at a time."""
    if connection.dialect.name == 'postgresql':
        return _locked_on_postgresql(connection, max_wait)
    if connection.dialect.name in ('mysql', 'mariadb'):
        return _locked_on_mariadb(connection, max_wait)
    return contextlib.nullcontext()


@contextlib.contextmanager
def _locked_on_postgresql(connection: sa.Connection, max_wait: int) -> Iterator[None]:
    """Hold the lock until the end of the transaction.

    The limit for waits for tables is kept: a statement that waits for a table blocks the services that use it.
    """
    limit = connection.exec_driver_sql('SHOW lock_timeout').scalar_one()
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{max_wait}s'")
    try:
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK[1])))
    except Exception as error:
        if outage.code(error.__cause__) == _LOCK_NOT_AVAILABLE:
            raise _in_progress(max_wait) from error
        raise
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{limit}'")
    yield


@contextlib.contextmanager
def _locked_on_mariadb(connection: sa.Connection, max_wait: int) -> Iterator[None]:
    """Hold the lock, which belongs to the connection.

    The lock belongs to one server. The other nodes of a Galera cluster do not have it. Therefore alembic may find that
    an upgrade through another node has changed the version, or has stored the first one.
    """
    # Each DDL statement waits for the transactions that use its table. During this, all other transactions wait for it.
    connection.exec_driver_sql('SET SESSION lock_wait_timeout = @@innodb_lock_wait_timeout')
    # The result is 1 for success, 0 after a timeout, and NULL after an error.
    if connection.scalar(sa.select(sa.func.get_lock(LOCK[0], max_wait))) != 1:
        raise _in_progress(max_wait)
    try:
        # Alembic would create the table with only the first column. Then two upgrades of an empty database would store
        # two rows, and no later upgrade would know which one is right.
        connection.execute(sa.schema.CreateTable(_VERSION, if_not_exists=True))
        yield
        # Otherwise the next process would get the lock before it can see the new version. The DDL statements are
        # committed already.
        connection.exec_driver_sql('COMMIT')
    except CommandError as error:
        raise _interference(error) from error
    except DBDuplicateEntry as error:
        if _VERSION.c.single.name not in error.columns:
            raise
        raise _interference(error.inner_exception.orig) from error
    finally:
        # If the connection has failed, the server releases the lock.
        with contextlib.suppress(Exception):
            connection.execute(sa.select(sa.func.release_lock(LOCK[0])))


def _interference(error: BaseException | None) -> revisions.UpgradeInProgress:
    return revisions.UpgradeInProgress(
        f'another process is upgrading it, perhaps through another node of a cluster ({error}). '
        'Wait for it, and try again'
    )


def _in_progress(max_wait: int) -> revisions.UpgradeInProgress:
    return revisions.UpgradeInProgress(
        f'another process has been upgrading it for {max_wait} seconds: wait for it, and try again'
    )
