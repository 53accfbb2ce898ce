"""baremetal discover"""

import argparse
import getpass
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import tqdm
from osc_lib import exceptions
from osc_lib.cli import format_columns

from ironic_traits import extras, osc
from ironic_traits.client.discoveries import Enrolled
from ironic_traits.osc import commands
from ironic_traits.osc.option_types import nonempty
from ironic_traits.printing import count, printable

if TYPE_CHECKING:
    from ironic_traits.redfish.discovery import Discovered, Target

#: The environment variable with the password of the BMCs.
PASSWORD = 'REDFISH_PASSWORD'  # noqa: S105, it is a name
_COLUMNS = ('Address', 'System', 'Vendor', 'Model', 'Serial', 'CPU', 'Traits', 'Node', 'Result')


class Discover(commands.Lister):
    """Find BMCs, and show the nodes that their machines would be

    The client sends requests to the BMCs, by Redfish, and only reads them. With --enroll, it creates a node for each
    machine, with its ports and its facts. A second run creates only what is missing. The password comes from the
    environment variable REDFISH_PASSWORD, or is asked for. The exit code is 1 if a BMC cannot be read, or a machine
    cannot be enrolled.
    """

    _is_failed = False

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        _add_addresses(parser)
        parser.add_argument('--user', metavar='<name>', type=nonempty, help='User name at the BMCs')
        parser.add_argument('--insecure-bmc', action='store_true', help='Do not verify the certificates of the BMCs')
        parser.add_argument('--enroll', action='store_true', help='Create nodes, ports, and what is missing of them')
        parser.add_argument(
            '--resource-class', metavar='<class>', type=nonempty, help='Resource class of the nodes that are created'
        )
        parser.add_argument('--long', action='store_true', help='Show the names of traits, and what could not be read')
        parser.add_argument(
            '--jobs', metavar='<number>', type=_number(3600), default=64, help='Number of BMCs at a time (default: 64)'
        )
        parser.add_argument(
            '--timeout',
            metavar='<seconds>',
            type=_number(3600),
            default=10,
            help='Seconds for one answer (default: 10)',
        )

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command, and return its exit code."""
        return super().run(parsed_args) or int(self._is_failed)

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Table:
        targets, client = _targets(parsed_args), osc.client(self.app)
        # A service that cannot be used is better known before all BMCs are read.
        client.ask('GET', '/v1')
        found = list(_found(targets, parsed_args))
        enroll = client.enroll(found, parsed_args.resource_class, preview=not parsed_args.enroll)
        results = list(tqdm.tqdm(enroll, 'Nodes', len(found), leave=False, disable=None, file=sys.__stderr__))
        failed = sum(each.is_failed for each in results)
        self._is_failed = bool(failed)
        machines = count(sum(not each.problem for each in found), 'machine')
        print(f'Found {machines}. {count(failed, "failure")}.', file=self.app.stderr)
        columns = (*_COLUMNS, 'Unread') if parsed_args.long else _COLUMNS
        return columns, [_row(each, parsed_args.long) for each in results]


def _add_addresses(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--range',
        dest='ranges',
        metavar='<network>',
        action='append',
        type=nonempty,
        default=[],
        help='Addresses of BMCs, as 10.0.0.0/24. May be repeated. At most 65,536 addresses',
    )
    parser.add_argument(
        '--port', metavar='<port>', type=_number(65535), help='Port of the BMCs of the ranges (default: 443)'
    )
    parser.add_argument(
        '--file',
        metavar='<file>',
        type=nonempty,
        help='File with a line for the address of each BMC, or with a list in YAML of objects with redfish_address, '
        'and maybe redfish_username, redfish_password, redfish_verify_ca and redfish_system_id; - for stdin',
    )


def _targets(parsed_args: argparse.Namespace) -> 'list[Target]':
    """Return the BMCs that the options name.

    :raises exceptions.CommandError: they name none, an option is invalid, or sushy is not installed.
    """
    if sentence := extras.missing('redfish', 'archspec', 'sushy'):
        raise exceptions.CommandError(sentence)
    from ironic_traits.redfish import bmc_files, discovery

    if not parsed_args.ranges and parsed_args.file is None:
        raise exceptions.CommandError('Name the addresses of BMCs: --range or --file.')
    login: dict[str, Any] = {'redfish_verify_ca': False} if parsed_args.insecure_bmc else {}
    try:
        bmcs = bmc_files.read(parsed_args.file) if parsed_args.file is not None else []
        if parsed_args.user is not None:
            login |= {'redfish_username': parsed_args.user}
        every = [{**login, **each} for each in (*bmcs, *({} for _ in parsed_args.ranges))]
        if any(each.get('redfish_username') and 'redfish_password' not in each for each in every):
            login |= {'redfish_password': _password()}
        ranges = discovery.targets(parsed_args.ranges, login, parsed_args.port)
    except ValueError as error:
        raise exceptions.CommandError(str(error)) from None
    return ranges + [discovery.Target({**login, **each}) for each in bmcs]


def _password() -> str:
    """Return the password of the environment, or ask for it.

    :raises exceptions.CommandError: there is none, and no terminal.
    """
    if (password := os.environ.get(PASSWORD)) is not None:
        return password
    if not sys.stdin or not sys.stdin.isatty():
        raise exceptions.CommandError(f'Set the password of the BMCs in the environment variable {PASSWORD}.')
    return getpass.getpass('Password of the BMCs: ')


def _found(targets: 'list[Target]', parsed_args: argparse.Namespace) -> 'Iterator[Discovered]':
    """Generate what the BMCs show. On a terminal, print the progress, and a line for each machine."""
    from ironic_traits.redfish import discovery

    limits = discovery.Limits(parsed_args.jobs, timeout=parsed_args.timeout, total=12 * parsed_args.timeout)
    with tqdm.tqdm(total=len(targets), unit='address', leave=False, disable=None, file=sys.__stderr__) as bar:
        for each in discovery.discover(targets, limits, bar.update):
            if not bar.disable:
                model = ' '.join(filter(None, map(each.vendor.get, ('manufacturer', 'product_name'))))
                bar.write(printable(f'{each.address}{each.system}: {each.problem or model}'), file=sys.__stderr__)
            yield each


def _row(each: Enrolled, is_long: bool) -> tuple[Any, ...]:
    found = each.found
    vendor = (found.vendor.get(name, '') for name in ('manufacturer', 'product_name', 'serial_number'))
    traits = format_columns.ListColumn(found.traits) if is_long else len(found.traits)
    unread = found.inspection.unread if found.inspection else {}
    more = [format_columns.DictColumn(unread)] if is_long else []
    return (found.address, found.system, *vendor, found.cpu, traits, each.node, each.result, *more)


def _number(maximum: int) -> Callable[[str], int]:
    """Return a type of argparse: a number from 1 to a maximum."""

    def number(value: str) -> int:
        if not value.isdecimal() or not 0 < int(value) <= maximum:
            raise argparse.ArgumentTypeError(f'{value!r} is no number from 1 to {maximum}')
        return int(value)

    return number
