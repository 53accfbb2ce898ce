"""ironic-traits-manage: maintenance commands for operators.

This module only declares the commands and their arguments, so that ``--help`` does not wait for imports. ``managing``,
``inventory``, ``placement`` and ``rules`` implement them.
"""

import argparse
import sys
from collections.abc import Callable
from typing import Any, TextIO

from ironic_traits.cmd import command
from ironic_traits.version import version


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'file', help='JSON if the name ends in .json, else YAML; - for stdout. Only the owner of the file can read it'
    )
    parser.add_argument('--force', '-f', action='store_true', help='overwrite the file if it exists')
    parser.add_argument(
        '--mirrored',
        action='store_true',
        help='include the nodes of mirrored clouds. A service that imports the file owns them',
    )


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('file', help='JSON or YAML; - for stdin')
    parser.add_argument(
        '--continue',
        '-c',
        dest='go_on',
        action='store_true',
        help='import each node in its own transaction. Nodes that cannot be imported are skipped and printed, and the '
        'exit code is then 1',
    )
    parser.add_argument('--dry-run', '-n', action='store_true', help='print what would change, and change nothing')
    parser.add_argument(
        '--source',
        '-s',
        metavar='NAME',
        help='write the traits as this source: other sources keep theirs. By default, traits are written as operator, '
        'or as the sources that the file names',
    )
    parser.add_argument(
        '--prune',
        action='store_true',
        help='with --source: nodes that are not in the file, or have no traits there, lose the traits of the source',
    )


def _purge_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--max-entries',
        '-e',
        type=_count,
        metavar='N',
        help='keep the newest N entries of each node; 0 to keep all. Entries of deleted nodes are deleted by age only',
    )
    parser.add_argument(
        '--max-days', '-d', type=_count, metavar='N', help='delete entries that are older than N days; 0 for no limit'
    )


def _online_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--max-count',
        '-m',
        type=int,
        metavar='N',
        help='migrate at most N rows. Run the command again until it exits with 0',
    )


def _check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('file', nargs='*', help='file with rules, YAML or JSON; without a file, the standard rules')
    parser.add_argument(
        '--inventory',
        '-i',
        # ``inventory`` is a group of the configuration.
        dest='inventories',
        action='append',
        default=[],
        metavar='FILE',
        help='inspection data of a node as "baremetal node inventory save" writes it, or as a ramdisk sends it. Print '
        'what the rules would do on the node. May be repeated',
    )
    parser.add_argument(
        '--node',
        '-N',
        dest='node_file',
        metavar='FILE',
        help='fields of the nodes, as "baremetal node show -f json" prints them',
    )
    parser.add_argument('--standard', '-s', action='store_true', help='evaluate the standard rules, too')
    _add_machines(parser)


def _add_machines(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--redfish',
        # ``redfish`` is a group of the configuration, too.
        dest='redfish_urls',
        action='append',
        default=[],
        metavar='URL',
        help='a BMC. Print what the rules would do on each of its machines. May be repeated',
    )
    parser.add_argument(
        '--redfish-user',
        metavar='NAME',
        help='user name at the BMC. Set the password in the environment variable REDFISH_PASSWORD',
    )
    parser.add_argument('--insecure', action='store_true', help='do not verify the certificate of the BMC')
    parser.add_argument(
        '--redfish-tree',
        dest='redfish_trees',
        action='append',
        default=[],
        metavar='DIRECTORY',
        help='the documents of a BMC, as Redfish mockups have them: index.json in a directory for each path. May be '
        'repeated',
    )
    parser.add_argument('--system', metavar='PATH', help='only the machine of this System, as /redfish/v1/Systems/1')


def _import_rules_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--from-inspector', required=True, metavar='FILE', help='rules of ironic-inspector, JSON or YAML; - for stdin'
    )


def _placement_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'url',
        nargs='?',
        help='URL of the other Placement. A token in the environment variable OS_TOKEN is sent to it',
    )
    parser.add_argument(
        '--cloud',
        '-C',
        metavar='NAME',
        help='cloud in clouds.yaml, for authentication, and for the URL if it is left out; "envvars" for the variables '
        'OS_*',
    )
    parser.add_argument('--dry-run', '-n', action='store_true', help='print what would change, and change nothing')
    parser.add_argument(
        '--prune',
        action='store_true',
        help='delete what the other side does not have: providers, and the allocations of consumers of its providers',
    )
    parser.add_argument(
        '--jobs',
        '-j',
        type=_jobs,
        default=4,
        metavar='N',
        help='number of requests at a time, from 1 to 10; 4 by default',
    )


def _jobs(text: str) -> int:
    number = _count(text)
    if not 1 <= number <= 10:
        raise argparse.ArgumentTypeError(f'{text} is not between 1 and 10')
    return number


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'{text!r} is not an integer') from None
    if number < 0:
        raise argparse.ArgumentTypeError(f'{text} is negative')
    return number


#: {noun: (description, {verb: (function, description, function that adds arguments to the parser, or None)})}
COMMANDS: dict[str, tuple[str, dict[str, tuple[str, str, Callable | None]]]] = {
    'db': (
        'the schema of the database',
        {
            'upgrade': ('managing:upgrade', 'Upgrade the schema and the standard names to this release.', None),
            'version': ('managing:version', 'Print the version of the schema.', None),
            'check': ('managing:check', 'Exit with 1 unless the schema is that of this release.', None),
            'online-data-migrations': (
                'managing:online_data_migrations',
                'Migrate rows to the form of this release in small transactions, while services run. Exit with 0 when '
                'all rows are migrated, with 1 when some are left, with 2 when the schema is not that of this '
                'release, and with 127 when --max-count is invalid.',
                _online_arguments,
            ),
        },
    ),
    'config': (
        'the configuration',
        {'validate': ('managing:validate', 'Print unknown options in the files; exit with 1 if there are any.', None)},
    ),
    'reservations': (
        'the reservations of nodes',
        {'purge': ('managing:purge', 'Delete expired reservations, and print how many there were.', None)},
    ),
    'history': (
        'the history of nodes',
        {
            'purge': (
                'managing:purge_history',
                'Delete old entries of the history of nodes, and print how many there were. The defaults of the '
                'options are those of [history] in the configuration.',
                _purge_arguments,
            ),
        },
    ),
    'changes': (
        'the change feed',
        {
            'reset': (
                'managing:reset_changes',
                'Make the tokens of all clients invalid. Run this after you have restored the database from a backup: '
                'the clients then read everything again.',
                None,
            )
        },
    ),
    'inventory': (
        'nodes, ports and traits, as a file',
        {
            'export': (
                'inventory:export_file',
                'Write the inventory, with secrets, to a file. Nodes of mirrored clouds are left out.',
                _export_arguments,
            ),
            'import': (
                'inventory:import_file',
                'Import a file in one transaction. New nodes are created, nodes that differ are updated, and nodes '
                'that are not in the file stay unchanged. If a part cannot be imported, nothing is imported.',
                _import_arguments,
            ),
        },
    ),
    'placement': (
        'providers and allocations of another Placement',
        {
            'import': (
                'placement:import_all',
                'Import the providers and allocations of another Placement, and compare the two. An import that was '
                'interrupted continues when it is run again. Exit with 1 if something differs.',
                _placement_arguments,
            ),
            'export': (
                'placement:export_all',
                'Export the providers and allocations of this service to another Placement, and compare the two. Exit '
                'with 1 if something differs.',
                _placement_arguments,
            ),
        },
    ),
    'rules': (
        'inspection rules in files',
        {
            'check': (
                'rules:check',
                'Check files with rules, and print what the rules would do on inspected nodes. No database is needed. '
                'Exit with 1 if a rule fails on a node or an expectation is not met, and with 2 if a file is invalid.',
                _check_arguments,
            ),
            'import': (
                'rules:import_rules',
                'Convert rules of ironic-inspector, and print them. Exit with 1 if a rule cannot be converted.',
                _import_rules_arguments,
            ),
        },
    ),
    'os-traits': (
        'the standard names of traits and resource classes',
        {'sync': ('managing:sync', 'Add missing names from os-traits and os-resource-classes; print how many.', None)},
    ),
}
#: For --help only; oslo.config parses the options.
_OPTIONS = (
    ('--config-file PATH', 'a configuration file; may be repeated'),
    ('--config-dir DIR', 'a folder of *.conf files'),
    ('--database URL', 'the database; write a URL with a password to a configuration file instead'),
    ('--debug', 'log more'),
    ('--log-file PATH', 'log to a file'),
    ('--version', 'print the version'),
    ('--help', 'print this; for a command: ironic-traits-manage COMMAND --help'),
)


def main() -> None:
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


def add_commands(subparsers: Any) -> None:
    """Add the commands to an argparse parser."""
    for noun, (subject, verbs) in COMMANDS.items():
        actions = subparsers.add_parser(noun, help=subject, description=f'{noun}: {subject}').add_subparsers(
            dest='action', required=True, metavar='ACTION'
        )
        for verb, (function, description, add_arguments) in verbs.items():
            parser = actions.add_parser(verb, help=description, description=description)
            parser.set_defaults(function=f'ironic_traits.cmd.{function}')
            if add_arguments:
                add_arguments(parser)


def _print_help(stream: TextIO) -> None:
    commands = [
        (f'{noun} {verb}', description)
        for noun, (_, verbs) in COMMANDS.items()
        for verb, (_, description, _) in verbs.items()
    ]
    lines = ['usage: ironic-traits-manage [OPTIONS] COMMAND', '', 'commands:']
    lines += [f'  {name:20}  {description.partition(". ")[0].rstrip(".")}' for name, description in commands]
    lines += ['', 'options (all options of ironic-traits-api work too; put them before the command):']
    lines += [f'  {name:20}  {description}' for name, description in _OPTIONS]
    print('\n'.join(lines), file=stream)
