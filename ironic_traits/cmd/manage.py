"""ironic-traits-manage: what operators do beside the service."""

import sys

from oslo_config import cfg

from ironic_traits.cmd import inventory, setup
from ironic_traits.db import migrations
from ironic_traits.inventory import reservations
from ironic_traits.placement import standard


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


DB_COMMANDS = {'upgrade': upgrade, 'version': version, 'check': check}


def _add_commands(subparsers):
    db = subparsers.add_parser('db', help='the schema of the database').add_subparsers(dest='action', required=True)
    for name, command in DB_COMMANDS.items():
        db.add_parser(name, help=command.__doc__).set_defaults(function=command)
    held = subparsers.add_parser('reservations', help='the nodes that are held')
    held.add_subparsers(dest='action', required=True).add_parser('purge', help=purge.__doc__).set_defaults(
        function=purge
    )
    inventory.add_commands(subparsers)
    names = subparsers.add_parser('os-traits', help='the names that everybody knows')
    names.add_subparsers(dest='action', required=True).add_parser('sync', help=sync.__doc__).set_defaults(function=sync)


def main():
    """Run one command."""
    commands = cfg.SubCommandOpt('command', title='commands', handler=_add_commands)
    conf = setup.configuration(sys.argv[1:], cli=[commands])
    with setup.database(conf) as database:
        conf.command.function(conf, database)
