"""What a process does before it answers: logging, and a schema that fits."""

import contextlib
import sys

import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_log import log

from ironic_traits.db import migrations
from ironic_traits.db.engine import Database

#: What is the operator's to mend: a wrong address, no driver, no server, no right to write there.
_UNUSABLE = (sa.exc.SQLAlchemyError, db_exception.DBError, ImportError, OSError)


def logging(conf):
    """Log as configured: to stderr unless told otherwise, the request id on each line."""
    log.setup(conf, 'ironic_traits')


@contextlib.contextmanager
def database(conf):
    """Give the configured database.

    :raises SystemExit: it cannot be used; the reason in a sentence.
    """
    try:
        with contextlib.closing(Database(conf)) as opened:
            yield opened
    except _UNUSABLE as error:
        reason = str(error).strip().splitlines()[0]
        sys.exit(f'The database cannot be used: {reason} (--database, or [database] connection, names it)')


def schema(conf):
    """Make or upgrade the schema of a SQLite database; with a server, end the process when it is not the newest.

    :raises SystemExit: a server database has an old schema, or one from the future.
    """
    with database(conf) as opened:
        current, newest = migrations.version(opened), migrations.head()
        if current == newest:
            return
        if opened.url.get_backend_name() == 'sqlite':
            migrations.upgrade(opened)
            return
        sys.exit(
            f'The schema of the database is at version {current or "none"}, this release needs {newest}. '
            'Run: ironic-traits-manage db upgrade (with the same --config-file or --database)'
        )
