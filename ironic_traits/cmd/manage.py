"""ironic-traits-manage: what operators do beside the service.

Here are the commands and their arguments only, so that ``--help`` answers at once; ``managing`` and ``inventory`` have
what they do.
"""

import argparse
import sys
from collections.abc import Callable

from ironic_traits.cmd import command
from ironic_traits.version import version


def _export_arguments(parser):
    parser.add_argument('file', help='created for its owner only; JSON if its name ends so, else YAML; - for stdout')
    parser.add_argument('--force', '-f', action='store_true', help='overwrite a file that exists')


def _import_arguments(parser):
    parser.add_argument('file', help='JSON or YAML; - for stdin')
    parser.add_argument(
        *('--continue', '-c'),
        dest='go_on',
        action='store_true',
        help='import each node by itself: those that cannot be imported are left out and named, and the exit code is 1',
    )
    parser.add_argument('--dry-run', '-n', action='store_true', help='do everything, print the result, undo it')


#: {noun: (what it is, {verb: (function, what it does, what adds its arguments)})}
COMMANDS: dict[str, tuple[str, dict[str, tuple[str, str, Callable | None]]]] = {
    'db': (
        'the schema of the database',
        {
            'upgrade': ('managing:upgrade', 'Bring the schema, and the standard names, to this release.', None),
            'version': ('managing:version', 'Print the version of the schema.', None),
            'check': ('managing:check', 'Exit with 1 unless the schema is that of this release.', None),
        },
    ),
    'config': (
        'the configuration',
        {'validate': ('managing:validate', 'Print what the files say that nothing reads; exit with 1 if any.', None)},
    ),
    'reservations': (
        'the reservations of nodes',
        {'purge': ('managing:purge', 'Delete expired reservations, and print how many there were.', None)},
    ),
    'inventory': (
        'nodes, ports and traits, from a file and to one',
        {
            'export': ('inventory:export_file', 'Write the whole inventory, secrets included.', _export_arguments),
            'import': (
                'inventory:import_file',
                'Make the inventory have what a file says: all of it, or nothing if a part cannot be imported. '
                'What differs is changed; what the file does not name stays.',
                _import_arguments,
            ),
        },
    ),
    'os-traits': (
        'the standard names of traits and resource classes',
        {'sync': ('managing:sync', 'Add the names of the installed libraries, and print how many were new.', None)},
    ),
}
#: For people; oslo.config parses the rest.
_OPTIONS = (
    ('--config-file PATH', 'a configuration file; may be repeated'),
    ('--config-dir DIR', 'a folder of *.conf files'),
    ('--database URL', 'the database'),
    ('--debug', 'log more'),
    ('--log-file PATH', 'log to a file'),
    ('--version', 'print the version'),
    ('--help', 'of a command: ironic-traits-manage COMMAND --help'),
)


def main():
    """Run one command."""
    argv = sys.argv[1:]
    if not argv:
        _print_help(sys.stderr)
        sys.exit(2)
    if argv[0] in ('-h', '--help'):
        _print_help(sys.stdout)
    elif argv[0] == '--version':
        print(version())
    elif argv[0] in COMMANDS and {'-h', '--help'} & set(argv):
        parser = argparse.ArgumentParser('ironic-traits-manage')
        add_commands(parser.add_subparsers())
        parser.parse_args(argv)
    else:
        command.run('ironic-traits-manage', 'ironic_traits.cmd.managing:run', argv, add_commands)


def add_commands(subparsers):
    """Add the commands to an argparse parser."""
    for noun, (about, verbs) in COMMANDS.items():
        actions = subparsers.add_parser(noun, help=about, description=f'{noun}: {about}').add_subparsers(
            dest='action', required=True, metavar='ACTION'
        )
        for verb, (function, does, add_arguments) in verbs.items():
            parser = actions.add_parser(verb, help=does, description=does)
            parser.set_defaults(function=f'ironic_traits.cmd.{function}')
            if add_arguments:
                add_arguments(parser)


def _print_help(stream):
    commands = [
        (f'{noun} {verb}', does) for noun, (_, verbs) in COMMANDS.items() for verb, (_, does, _) in verbs.items()
    ]
    lines = ['usage: ironic-traits-manage [OPTIONS] COMMAND', '', 'commands:']
    lines += [f'  {name:20}  {does.partition(":")[0].rstrip(".")}' for name, does in commands]
    lines += ['', 'options (every option of ironic-traits-api is taken, before the command):']
    lines += [f'  {name:20}  {does}' for name, does in _OPTIONS]
    print('\n'.join(lines), file=stream)
