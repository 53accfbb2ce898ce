"""What a process does before it answers: logging, and a schema that fits."""

import sys

from oslo_log import log

from ironic_traits.db import migrations
from ironic_traits.db.engine import Database


def logging(conf):
    """Log as configured: to stderr unless told otherwise, the request id on each line."""
    log.setup(conf, 'ironic_traits')


def schema(conf):
    """Make or upgrade the schema of a SQLite database; with a server, end the process when it is not the newest.

    :raises SystemExit: a server database has an old schema, or one from the future.
    """
    database = Database(conf)
    try:
        current, newest = migrations.version(database), migrations.head()
        if current == newest:
            return
        if database.url.get_backend_name() == 'sqlite':
            migrations.upgrade(database)
            return
        sys.exit(
            f'The schema of the database is at version {current or "none"}, this release needs {newest}. '
            'Run: ironic-traits-manage db upgrade (with the same --config-file or --database)'
        )
    finally:
        database.dispose()
