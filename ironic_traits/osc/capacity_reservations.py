"""openstack baremetal capacity reservation …"""

import argparse
from collections.abc import Mapping
from typing import Any

from osc_lib.cli import format_columns

from ironic_traits import osc
from ironic_traits.osc import commands, requests, topology
from ironic_traits.osc.option_types import nonempty

COLUMNS = (
    'uuid', 'name', 'project', 'count', 'used', 'left', 'free', 'short', 'request', 'groups', 'created_at',
    'expires_at',
)  # fmt: skip
_LISTED = ('name', 'project', 'count', 'used', 'left', 'free', 'short', 'expires_at')


def _values(promise: Mapping[str, Any], columns: tuple[str, ...]) -> list[Any]:
    objects = ('request', 'groups')
    return [format_columns.DictColumn(promise[name]) if name in objects else promise[name] for name in columns]


class CreateCapacityReservation(commands.ShowOne):
    """Promise a number of nodes to a project"""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('name', metavar='<name>', type=nonempty, help='Name of the capacity reservation')
        parser.add_argument(
            '--project', metavar='<project>', required=True, type=nonempty, help='ID of the project that gets the nodes'
        )
        parser.add_argument('--count', metavar='<number>', required=True, type=int, help='Number of nodes')
        parser.add_argument(
            '--expires-at', metavar='<time>', help='Time when it expires, such as 2027-01-01T00:00:00+00:00'
        )
        parser.add_argument(
            '--same',
            metavar='<key>',
            action='append',
            type=topology.same,
            help='Promise nodes that are all in one group of this key: trait:PREFIX, or a field such as chassis_uuid '
            'or properties/rack (repeat for more)',
        )
        requests.add_options(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Row:
        request = requests.request(self.app, parsed_args)
        if parsed_args.expires_at:
            request['expires_at'] = parsed_args.expires_at
        if parsed_args.same:
            request['topology'] = parsed_args.same
        client = osc.client(self.app)
        promise = client.reserve_capacity(parsed_args.name, parsed_args.project, parsed_args.count, **request)
        for warning in promise.get('warnings', ()):
            self.log.warning(warning)
        return COLUMNS, _values(promise, COLUMNS)


class ListCapacityReservation(commands.Lister):
    """List the nodes that are promised to projects: how many they use, have left, and cannot get"""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('--long', action='store_true', help='Show all fields')

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Table:
        columns = COLUMNS if parsed_args.long else _LISTED
        return commands.labels(columns), (
            _values(promise, columns) for promise in osc.client(self.app).capacity_reservations()
        )


class ShowCapacityReservation(commands.ShowOne):
    """Show a capacity reservation"""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('capacity_reservation', metavar='<capacity-reservation>', help='Its name or UUID')

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Row:
        return COLUMNS, _values(osc.client(self.app).capacity_reservation(parsed_args.capacity_reservation), COLUMNS)


class DeleteCapacityReservation(commands.Command):
    """Delete capacity reservations. The nodes that are held for them stay held"""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'capacity_reservations', metavar='<capacity-reservation>', nargs='+', help='Their names or UUIDs'
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        client = osc.client(self.app)
        commands.delete('capacity reservation', parsed_args.capacity_reservations, client.release_capacity)
