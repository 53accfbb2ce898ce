"""The implementation of ironic-traits-manage, except its commands in ``inventory``, ``placement`` and ``rules``."""

import collections
import pkgutil
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from oslo_config import cfg

from ironic_traits.changes import change_feed
from ironic_traits.cmd import rules, setup
from ironic_traits.conf import database_name, validation
from ironic_traits.db import migrations, online_migrations, revisions
from ironic_traits.db.engine import Database
from ironic_traits.inventory.core import history_purge
from ironic_traits.inventory.holds import reservations
from ironic_traits.placement import standard
from ironic_traits.printing import count


def run(argv: Sequence[str], add_commands: Callable[[Any], None]) -> None:
    """Run one command.

    :param argv: command line arguments, without the program's name.
    :param add_commands: function that adds the commands to an argparse parser.
    """
    commands = cfg.SubCommandOpt('command', title='commands', handler=add_commands)
    conf = setup.configuration(argv, cli=[commands])
    function = pkgutil.resolve_name(conf.command.function)
    if function in _WITHOUT_DATABASE:
        function(conf)
        return
    setup.warn(conf)
    # Otherwise a command in the wrong directory would create an empty database there, and report success.
    with setup.database(conf, create=function is upgrade) as database:
        function(conf, database)


def upgrade(conf: cfg.ConfigOpts, database: Database) -> None:
    """Upgrade the schema to the newest version, add missing standard names, and print the version."""
    migrations.upgrade(database)
    standard.sync(database)
    version(conf, database)


def _name(conf: cfg.ConfigOpts) -> None:
    """Print which database is used. It goes to stderr, because scripts read the version from stdout."""
    print(f'Database: {database_name(conf)}', file=sys.stderr)


def version(conf: cfg.ConfigOpts, database: Database) -> None:
    """Print the version of the schema."""
    current = revisions.current(database)
    _name(conf)
    print(current or 'none')


def check(conf: cfg.ConfigOpts, database: Database) -> None:
    """Exit with 1 unless the schema is the newest."""
    current, newest = revisions.current(database), revisions.newest()
    _name(conf)
    print(f'{current or "none"}, the newest is {newest}')
    if current != newest:
        sys.exit(1)


def online_data_migrations(conf: cfg.ConfigOpts, database: Database) -> None:
    """Migrate rows in batches, and print how many there were, and how many are left.

    The exit codes are those of ``ironic-dbsync online_data_migrations``: 0 when all rows are migrated, 1 when some are
    left because of --max-count, 2 when the schema is that of another release, 127 for an invalid --max-count.
    """
    max_count = conf.command.max_count
    if max_count is not None and max_count < 1:
        _exit(127, '--max-count must be at least 1')
    if revisions.current(database) != revisions.newest():
        _exit(2, f'The schema must be at version {revisions.newest()}. Run: ironic-traits-manage db upgrade')
    counts: collections.Counter[str] = collections.Counter()
    for name, number in online_migrations.run(database, online_migrations.MIGRATIONS, max_count):
        counts[name] += number
    left = online_migrations.unfinished(database, online_migrations.MIGRATIONS)
    for name in dict.fromkeys([*counts, *left]):
        print(f'{name}: {count(counts[name], "row")} migrated, {left.get(name, 0)} left')
    if left:
        sys.exit(1)
    print('All rows have the form of this release')


def _exit(code: int, message: str) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(code)


def purge(conf: cfg.ConfigOpts, database: Database) -> None:
    """Delete expired reservations, and print how many there were."""
    print(f'{reservations.purge(database)} reservations were deleted')


def reset_changes(conf: cfg.ConfigOpts, database: Database) -> None:
    """Make the tokens of the change feed invalid."""
    change_feed.begin_again(database)
    print('All tokens of the change feed are invalid now')


def purge_history(conf: cfg.ConfigOpts, database: Database) -> None:
    """Delete old entries of the history of nodes, and print how many there were."""
    command, options = conf.command, conf.history
    limits = (
        options.max_entries if command.max_entries is None else command.max_entries,
        options.max_days if command.max_days is None else command.max_days,
    )
    print(f'{history_purge.purge(database, *limits)} entries were deleted')


def sync(conf: cfg.ConfigOpts, database: Database) -> None:
    """Add the missing names of the installed os-traits and os-resource-classes, and print how many there were."""
    print(f'{standard.sync(database)} names were added')


def validate(conf: cfg.ConfigOpts) -> None:
    """Print the options in the configuration files that no code reads, and exit with 1 if there are any."""
    problems = validation.problems(conf)
    if problems:
        print('\n'.join(problems))
        sys.exit(1)
    files = validation.files(conf)
    print(f'{", ".join(files) or "no configuration file"}: no problems')


#: The commands that need no database.
_WITHOUT_DATABASE = (validate, rules.check, rules.import_rules)
