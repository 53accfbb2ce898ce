"""What a process does before it answers: read its configuration, log, make or check the schema."""

import contextlib
import logging
import sys

import alembic.util
import sqlalchemy as sa
from oslo_config import cfg
from oslo_db import exception as db_exception
from oslo_log.log import LogConfigError

from ironic_traits import conf, logs, validation
from ironic_traits.db import migrations
from ironic_traits.db.engine import Database
from ironic_traits.deploy import drivers
from ironic_traits.placement import standard

LOG = logging.getLogger(__name__)

#: What is the operator's to mend: a wrong address, no driver, no server, no right to write there, a newer schema.
_UNUSABLE = (sa.exc.SQLAlchemyError, db_exception.DBError, alembic.util.CommandError, OSError)


#: Which extra of this package brings the driver of a database, by the backend of its URL.
_EXTRAS = {'postgresql': 'postgresql', 'mysql': 'mariadb', 'mariadb': 'mariadb'}


def configuration(argv, cli=()):
    """Read the configuration, and log as it says: to stderr unless told otherwise, the request id on each line.

    :param argv: command-line arguments, without the program's name.
    :param cli: more options that the command line takes.
    :returns: ConfigOpts.
    :raises SystemExit: it cannot be used; the reason in a sentence.
    """
    with usable():
        try:
            made = conf.make(argv, cli)
        except FileNotFoundError as error:
            # Releases of oslo.config that come without the templates of --shell_completion.
            raise cfg.Error(str(error)) from error
        drivers.load(made)
        try:
            logs.setup(made)
        except (OSError, LogConfigError, ValueError, TypeError, RuntimeError) as error:
            raise cfg.Error(f'cannot log as it says: {error}') from error
    return made


def warn(settings):
    """Log what the configuration files say that nothing reads; on stderr, too, when the log goes elsewhere.

    :param settings: ConfigOpts.
    """
    for problem in validation.problems(settings):
        LOG.warning('%s', problem)
        if not logs.on_stderr():
            print(f'WARNING: {problem}', file=sys.stderr)


@contextlib.contextmanager
def usable():
    """End the process with one line when the configuration turns out to be unusable in the block.

    :raises SystemExit: it did.
    """
    try:
        yield
    except cfg.Error as error:
        sys.exit(f'The configuration cannot be used: {logs.escaped(str(error).strip())}')


def policy(service):
    """Check the policy file, if policy decides anything.

    :param service: ironic_traits.service.Service.
    :raises SystemExit: it cannot be read.
    """
    if service.enforcer is None:
        return
    try:
        service.enforcer.load_rules()
    except Exception as error:
        sys.exit(f'The policy file cannot be used: {logs.escaped(str(error).strip())}')


@contextlib.contextmanager
def database(settings, create=False):
    """Return the configured database.

    :param settings: ConfigOpts.
    :param create: whether to create a SQLite database that does not exist yet.
    :raises SystemExit: it cannot be used; the reason in a sentence.
    """
    try:
        with contextlib.closing(Database(settings, create)) as opened:
            yield opened
    except sa.exc.ArgumentError as error:
        sys.exit(f'The database cannot be used: {error} (--database, or [database] connection, names it)')
    except ImportError as error:
        extra = _EXTRAS.get(sa.make_url(settings.database.connection).get_backend_name(), 'postgresql')
        sys.exit(f"The database cannot be used: {error}. Its driver: pip install 'ironic-traits[{extra}]'")
    except _UNUSABLE as error:
        reason = str(error).strip().splitlines()[0]
        url = sa.make_url(settings.database.connection)
        if 'file is not a database' in reason:
            reason = f'{url.database} is not a SQLite database'
        elif url.host and url.host not in reason:
            reason = f'{url.host}: {reason}'
        sys.exit(f'The database cannot be used: {reason} (--database, or [database] connection, names it)')


def schema(settings):
    """Make or upgrade the schema of a SQLite database; with a server, end the process when it is not the newest.

    :param settings: ConfigOpts.
    :raises SystemExit: a server database has an old schema, or one from the future.
    """
    with database(settings, create=True) as opened:
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
