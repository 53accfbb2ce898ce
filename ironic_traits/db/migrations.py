"""Schema migrations: alembic, run in process from the scripts that travel with the package.

The scripts stand in ``alembic/`` at the top of the checkout and are installed as ``ironic_traits/db/alembic``.
"""

import contextlib
import importlib.resources
import pathlib

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

#: Name (MariaDB) and number (PostgreSQL) of the advisory lock under which one process at a time migrates.
LOCK = ('ironic-traits-migrations', 0x1807_1735)


def _scripts():
    installed = pathlib.Path(str(importlib.resources.files('ironic_traits.db'))) / 'alembic'
    if installed.is_dir():
        return installed
    return pathlib.Path(__file__).parents[2] / 'alembic'


def _config(connection=None):
    config = Config(_scripts() / 'alembic.ini')
    config.set_main_option('script_location', str(_scripts()))
    config.attributes['connection'] = connection
    return config


def head():
    """Name the newest revision of the scripts."""
    return ScriptDirectory.from_config(_config()).get_current_head()


def revisions():
    """Name all revisions of the scripts."""
    return {script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()}


def version(database):
    """Name the revision that a database is at; None for an empty one.

    :param database: ironic_traits.db.engine.Database.
    """
    with database.read() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def upgrade(database, revision='head'):
    """Bring a database to a revision.  Safe when several processes do it at once: one works, the others wait.

    :param database: ironic_traits.db.engine.Database.
    """
    with database.write_for_long() as connection, _locked(connection):
        command.upgrade(_config(connection), revision)


@contextlib.contextmanager
def _locked(connection):
    """Hold the migration lock; SQLite needs none, its writers take turns already."""
    name, number = LOCK
    dialect = connection.dialect.name
    if dialect == 'postgresql':
        # Let go by the end of the transaction.
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))
        yield
    elif dialect in ('mysql', 'mariadb'):
        connection.execute(sa.select(sa.func.get_lock(name, 600)))
        try:
            yield
        finally:
            connection.execute(sa.select(sa.func.release_lock(name)))
    else:
        yield
