"""The implementation of ironic-traits-manage, apart from its commands in ``inventory`` and ``rules``."""

import pkgutil
import sys

from oslo_config import cfg

from ironic_traits import validation
from ironic_traits.cmd import rules, setup
from ironic_traits.db import migrations, revisions
from ironic_traits.inventory import change_feed, history_purge, reservations
from ironic_traits.placement import standard


def run(argv, add_commands):
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
    # In the wrong directory, the other commands would create an empty database there, and report success.
    with setup.database(conf, create=function is upgrade) as database:
        function(conf, database)


def upgrade(conf, database):
    """Upgrade the schema to the newest version, add missing standard names, and print the version."""
    migrations.upgrade(database)
    standard.sync(database)
    print(revisions.current(database))


def version(conf, database):
    """Print the version of the schema."""
    print(revisions.current(database) or 'none')


def check(conf, database):
    """Exit with 1 unless the schema is the newest."""
    current, newest = revisions.current(database), revisions.newest()
    print(f'{current or "none"}, the newest is {newest}')
    if current != newest:
        sys.exit(1)


def purge(conf, database):
    """Delete expired reservations, and print how many there were."""
    print(f'{reservations.purge(database)} reservations were deleted')


def reset_changes(conf, database):
    """Make the tokens of the change feed invalid."""
    change_feed.begin_again(database)
    print('All tokens of the change feed are invalid now')


def purge_history(conf, database):
    """Delete old entries of the history of nodes, and print how many there were."""
    command, options = conf.command, conf.history
    limits = (
        options.max_entries if command.max_entries is None else command.max_entries,
        options.max_days if command.max_days is None else command.max_days,
    )
    print(f'{history_purge.purge(database, *limits)} entries were deleted')


def sync(conf, database):
    """Add the missing names of the installed os-traits and os-resource-classes, and print how many there were."""
    print(f'{standard.sync(database)} names were added')


def validate(conf):
    """Print the options in the configuration files that no code reads, and exit with 1 if there are any."""
    problems = validation.problems(conf)
    if problems:
        print('\n'.join(problems))
        sys.exit(1)
    files = validation.files(conf)
    print(f'{", ".join(files) or "no configuration file"}: no problems')


#: The commands that need no database.
_WITHOUT_DATABASE = (validate, rules.check, rules.import_rules)
