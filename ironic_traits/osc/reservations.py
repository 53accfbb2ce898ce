"""openstack baremetal reservation …"""

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from osc_lib import exceptions

from ironic_traits import osc
from ironic_traits.client import Failed
from ironic_traits.osc import commands, requests, trait_options
from ironic_traits.osc.option_types import nonempty

COLUMNS = ('uuid', 'node_uuid', 'instance_uuid', 'created_at', 'updated_at', 'expires_at')
_LISTED = ('uuid', 'node_uuid', 'instance_uuid', 'expires_at')


def _labels(columns: Iterable[str]) -> tuple[str, ...]:
    return tuple(
        name.replace('_', ' ').capitalize().replace('uuid', 'UUID').replace('Uuid', 'UUID') for name in columns
    )


def _shown(reservation: Mapping[str, Any]) -> commands.Row:
    return COLUMNS, tuple(reservation[name] for name in COLUMNS)


def _add_lifetime(parser: argparse.ArgumentParser) -> None:
    until = parser.add_mutually_exclusive_group()
    until.add_argument('--expires-in', metavar='<seconds>', type=int, help='Seconds from now until it expires')
    until.add_argument('--expires-at', metavar='<time>', help='Time when it expires, such as 2027-01-01T00:00:00+00:00')


def _lifetime(parsed: argparse.Namespace) -> dict[str, Any]:
    until = {'expires_in': parsed.expires_in, 'expires_at': parsed.expires_at}
    return {name: value for name, value in until.items() if value is not None}


class CreateReservation(commands.ShowOne):
    """Hold a node for an instance"""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        # Optional for the parser: after a list of traits, argparse takes the UUID for a trait (``take_action``).
        parser.add_argument('instance', metavar='<instance>', nargs='?', help='UUID of the instance')
        parser.add_argument(
            '--node',
            metavar='<node>',
            action='append',
            dest='nodes',
            type=nonempty,
            help='UUID or name of a node to choose from, the preferred one first (repeat for more)',
        )
        requests.add_options(parser)
        _add_lifetime(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Row:
        lists = (parsed_args.trait, parsed_args.not_trait, parsed_args.prefer, *parsed_args.trait_any)
        instance = parsed_args.instance or trait_options.take_uuid(*lists)
        if not instance:
            raise exceptions.CommandError('The UUID of an instance is missing.')
        request = requests.request(self.app, parsed_args)
        if not request and not parsed_args.nodes:
            raise exceptions.CommandError(
                'Choose nodes with --node, or state requirements with --trait, --flavor or another option.'
            )
        client = osc.client(self.app)
        try:
            reservation = client.reserve(instance, parsed_args.nodes, **request, **_lifetime(parsed_args))
        except Failed as failed:
            reasons = ''.join(f'\n{each["node"]}: {each["message"]}' for each in failed.reasons or ())
            raise exceptions.CommandError(f'{failed}{reasons}') from failed
        return _shown(reservation)


class ListReservation(commands.Lister):
    """List reservations"""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('--node', metavar='<node>', type=nonempty, help='Only the reservation of this node')
        parser.add_argument(
            '--instance', metavar='<instance>', type=nonempty, help='Only the reservation for this instance'
        )
        parser.add_argument('--long', action='store_true', help='Show all fields')

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Table:
        filters = {'node': parsed_args.node, 'instance_uuid': parsed_args.instance}
        query = {name: value for name, value in filters.items() if value}
        columns = COLUMNS if parsed_args.long else _LISTED
        rows = osc.client(self.app).reservations(**query)
        return _labels(columns), (tuple(row[name] for name in columns) for row in rows)


class _OfOne(commands.Command):
    """A command about one reservation."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('reservation', metavar='<reservation>', help='UUID of the reservation')


class ShowReservation(_OfOne, commands.ShowOne):
    """Show a reservation"""

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Row:
        return _shown(osc.client(self.app).reservation(parsed_args.reservation))


class RenewReservation(_OfOne, commands.ShowOne):
    """Set a new expiry of a reservation"""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        _add_lifetime(parser)

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Row:
        return _shown(osc.client(self.app).renew(parsed_args.reservation, **_lifetime(parsed_args)))


class DeleteReservation(commands.Command):
    """Delete reservations, which releases their nodes"""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('reservations', metavar='<reservation>', nargs='+', help='UUIDs of the reservations')

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        client, problems = osc.client(self.app), []
        for uuid in parsed_args.reservations:
            try:
                client.release(uuid)
                print(f'Deleted reservation {uuid}')
            except (Failed, ValueError) as error:
                problems.append(f'Failed to delete reservation {uuid}: {error}')
        if problems:
            raise exceptions.CommandError('\n'.join(problems))
