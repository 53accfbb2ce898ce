"""What the commands of ironic-traits-manage do; ``inventory`` has those for files."""

import pkgutil
import sys

from oslo_config import cfg

from ironic_traits import validation
from ironic_traits.cmd import setup
from ironic_traits.db import migrations
from ironic_traits.inventory import reservations
from ironic_traits.placement import standard


def run(argv, add_commands):
    """Run one command.

    :param argv: command line arguments, without the program's name.
    :param add_commands: function that adds the commands to an argparse parser.
    """
    commands = cfg.SubCommandOpt('command', title='commands', handler=add_commands)
    conf = setup.configuration(argv, cli=[commands])
    function = pkgutil.resolve_name(conf.command.function)
    if function is validate:
        validate(conf)
        return
    setup.warn(conf)
    # In a wrong directory, the other commands would work on a new, empty database, and say that all is well.
    with setup.database(conf, create=function is upgrade) as database:
        function(conf, database)


def upgrade(conf, database):
    """Bring the schema to the newest version, and the standard names with it."""
    migrations.upgrade(database)
    standard.sync(database)
    print(migrations.version(database))


def version(conf, database):
    """Print the version of the schema."""
    print(migrations.version(database) or 'none')


def check(conf, database):
    """End with 1 when the schema is not the newest."""
    current, newest = migrations.version(database), migrations.head()
    print(f'{current or "none"}, the newest is {newest}')
    if current != newest:
        sys.exit(1)


def purge(conf, database):
    """Delete the reservations that have expired, and print how many there were."""
    print(f'{reservations.purge(database)} reservations were deleted')


def sync(conf, database):
    """Add the traits and resource classes of the installed os-traits and os-resource-classes that are missing, and
    print how many there were.
    """
    print(f'{standard.sync(database)} names were added')


def validate(conf):
    """Print what the configuration files say that nothing reads, and exit with 1 if there is anything."""
    problems = validation.problems(conf)
    if problems:
        print('\n'.join(problems))
        sys.exit(1)
    read = validation.files(conf)
    print(f'{", ".join(read) or "no configuration file"}: nothing is wrong')
