"""The setup that commands share: the configuration, logging, and the schema of the database."""

import contextlib
import importlib.util
import logging
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import sqlalchemy as sa
from oslo_config import cfg
from oslo_db import exception as db_exception
from oslo_log.log import LogConfigError

from ironic_traits import conf, extras
from ironic_traits.cmd import logs, tracing
from ironic_traits.conf import validation
from ironic_traits.db import revisions
from ironic_traits.db.engine import Database
from ironic_traits.db.failover import outage
from ironic_traits.deploy import drivers
from ironic_traits.placement import standard
from ironic_traits.printing import printable

if TYPE_CHECKING:
    from ironic_traits.service import Service

LOG = logging.getLogger(__name__)

#: Errors that the operator can fix: a wrong address, no driver, no server, no permission to write, a newer schema,
#: an upgrade that does not end.
_UNUSABLE = (
    sa.exc.SQLAlchemyError, db_exception.DBError, OSError,
    revisions.NewerRevision, revisions.UpgradeInProgress,
)  # fmt: skip

#: The extra of this package that installs the driver of a database, by the backend in the URL.
_EXTRAS = {'postgresql': 'postgresql', 'mysql': 'mariadb', 'mariadb': 'mariadb'}


def openstacksdk() -> None:
    """Exit with one sentence unless openstacksdk is installed. The service reads clouds with it."""
    if importlib.util.find_spec('openstack') is None:
        sys.exit(f'openstacksdk is not installed. Run: {extras.installation("mirror")}')


def configuration(argv: Sequence[str], cli: Sequence[cfg.Opt] = ()) -> cfg.ConfigOpts:
    """Read the configuration and set up logging. The default log is stderr, with the request id on each line.

    :param argv: command-line arguments, without the program's name.
    :param cli: options to add to the command line.
    :raises SystemExit: the configuration cannot be used; the message is one sentence.
    """
    with usable():
        try:
            settings = conf.make(argv, cli)
        except FileNotFoundError as error:
            # Some releases of oslo.config are packaged without the templates of --shell_completion.
            raise cfg.Error(str(error)) from error
        drivers.load(settings)
        tracing.check(settings)
        try:
            logs.setup(settings)
        except (OSError, LogConfigError, ValueError, TypeError, RuntimeError) as error:
            raise cfg.Error(f'logging cannot be set up: {error}') from error
    return settings


def warn(settings: cfg.ConfigOpts) -> None:
    """Log a warning for each unknown option in the configuration files; print it if the log does not go to stderr."""
    for problem in validation.problems(settings):
        LOG.warning('%s', problem)
        if not logs.on_stderr():
            print(f'WARNING: {problem}', file=sys.stderr)


@contextlib.contextmanager
def usable() -> Iterator[None]:
    """End the process with one line when the block raises oslo.config's Error.

    :raises SystemExit: the configuration cannot be used.
    """
    try:
        yield
    except cfg.Error as error:
        sys.exit(f'The configuration cannot be used: {printable(str(error).strip())}')


def policy(service: 'Service') -> None:
    """Check that the policy file can be read. Without an enforcer (noauth), there is no policy file.

    :raises SystemExit: the policy file cannot be read.
    """
    if service.enforcer is None:
        return
    try:
        service.enforcer.load_rules()
    except Exception as error:
        sys.exit(f'The policy file cannot be used: {printable(str(error).strip())}')


@contextlib.contextmanager
def database(settings: cfg.ConfigOpts, create: bool = False) -> Iterator[Database]:
    """Open the configured database, and close it when the block ends.

    :param create: whether to create a SQLite database that does not exist yet.
    :raises SystemExit: the database cannot be used; the message is one sentence.
    """
    try:
        with contextlib.closing(Database(settings, create)) as opened:
            yield opened
    except sa.exc.ArgumentError as error:
        sys.exit(f'The database cannot be used: {error} (set by --database or [database] connection)')
    except ImportError as error:
        extra = _EXTRAS.get(sa.make_url(settings.database.connection).get_backend_name(), 'postgresql')
        sys.exit(f'The database cannot be used: {error}. Install its driver: {extras.installation(extra)}')
    except Exception as error:
        if not isinstance(error, _UNUSABLE) and not outage.is_one(error):
            raise
        reason = outage.reason(error)
        url = sa.make_url(settings.database.connection)
        if 'file is not a database' in reason:
            reason = f'{url.database} is not a SQLite database'
        elif url.host and url.host not in reason:
            reason = f'{url.host}: {reason}'
        sys.exit(f'The database cannot be used: {reason} (set by --database or [database] connection)')


def schema(settings: cfg.ConfigOpts, create: bool = True) -> None:
    """Create or upgrade the schema of a SQLite database; check that of a database server.

    :param create: whether to create a SQLite database that does not exist yet.
    :raises SystemExit: this release cannot use the schema.
    """
    with database(settings, create) as opened:
        current = revisions.current(opened)
        if revisions.is_newer(current):
            _check_newer(opened, current)
        elif opened.url.get_backend_name() == 'sqlite':
            if current != revisions.newest():
                # Imported here: alembic makes the start longer, and few starts need it.
                from ironic_traits.db import migrations

                migrations.upgrade(opened)
            standard.sync(opened)
        elif current != revisions.newest():
            sys.exit(
                f'The schema of the database is at version {current or "none"}, this release needs '
                f'{revisions.newest()}. '
                'Run: ironic-traits-manage db upgrade (with the same --config-file or --database)'
            )


def _check_newer(opened: Database, current: str | None) -> None:
    """Log that the schema belongs to a newer release, or exit if this release cannot use it."""
    if not revisions.is_usable(opened, current):
        sys.exit(
            f'The schema of the database is at version {current}, which belongs to a newer release. This release, '
            f'whose newest version is {revisions.newest()}, cannot use it: start the newer one'
        )
    LOG.warning('The schema of the database is at version %s, of a newer release. This release can use it.', current)
