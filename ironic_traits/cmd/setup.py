"""What a process does before it answers: read its configuration, log, make or check the schema."""

import contextlib
import sys

import alembic.util
import sqlalchemy as sa
from oslo_config import cfg
from oslo_db import exception as db_exception
from oslo_log import log

from ironic_traits import conf
from ironic_traits.db import migrations
from ironic_traits.db.engine import Database
from ironic_traits.deploy import drivers
from ironic_traits.placement import standard

#: What is the operator's to mend: a wrong address, no driver, no server, no right to write there, a newer schema.
_UNUSABLE = (sa.exc.SQLAlchemyError, db_exception.DBError, alembic.util.CommandError, ImportError, OSError)


def configuration(argv, cli=()):
    """Read the configuration, and log as it says: to stderr unless told otherwise, the request id on each line.

    :param argv: command-line arguments, without the program's name.
    :param cli: more options that the command line takes.
    :returns: ConfigOpts.
    :raises SystemExit: it cannot be used; the reason in a sentence.
    """
    try:
        made = conf.make(argv, cli)
        drivers.load(made)
    except cfg.Error as error:
        sys.exit(f'The configuration cannot be used: {error}')
    log.setup(made, 'ironic_traits')
    return made


@contextlib.contextmanager
def database(settings):
    """Give the configured database.

    :param settings: ConfigOpts.
    :raises SystemExit: it cannot be used; the reason in a sentence.
    """
    try:
        with contextlib.closing(Database(settings)) as opened:
            yield opened
    except _UNUSABLE as error:
        reason = str(error).strip().splitlines()[0]
        sys.exit(f'The database cannot be used: {reason} (--database, or [database] connection, names it)')


def schema(settings):
    """Make or upgrade the schema of a SQLite database; with a server, end the process when it is not the newest.

    :param settings: ConfigOpts.
    :raises SystemExit: a server database has an old schema, or one from the future.
    """
    with database(settings) as opened:
        if opened.url.get_backend_name() == 'sqlite':
            migrations.upgrade(opened)
            standard.sync(opened)
            return
        current, newest = migrations.version(opened), migrations.head()
        if current == newest:
            return
        sys.exit(
            f'The schema of the database is at version {current or "none"}, this release needs {newest}. '
            'Run: ironic-traits-manage db upgrade (with the same --config-file or --database)'
        )
