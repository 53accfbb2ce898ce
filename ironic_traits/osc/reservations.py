"""openstack baremetal reservation …"""

import argparse
import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from osc_lib import exceptions
from osc_lib.cli import format_columns

from ironic_traits import osc
from ironic_traits.client import Failed
from ironic_traits.osc import commands, requests, topology, trait_options
from ironic_traits.osc.option_types import nonempty

COLUMNS = ('uuid', 'node_uuid', 'instance_uuid', 'created_at', 'updated_at', 'expires_at')
_LISTED = ('uuid', 'node_uuid', 'instance_uuid', 'expires_at')
_GROUPED = ('uuid', 'node_uuid', 'instance_uuid', 'groups', 'expires_at')


def _shown(reservation: Mapping[str, Any]) -> commands.Row:
    columns = (*COLUMNS, 'groups') if 'groups' in reservation else COLUMNS
    return columns, _values(reservation, columns)


def _values(reservation: Mapping[str, Any], columns: Iterable[str]) -> tuple[Any, ...]:
    return tuple(
        format_columns.DictColumn(reservation.get(name, {})) if name == 'groups' else reservation[name]
        for name in columns
    )


def _add_lifetime(parser: argparse.ArgumentParser) -> None:
    until = parser.add_mutually_exclusive_group()
    until.add_argument('--expires-in', metavar='<seconds>', type=int, help='Seconds from now until it expires')
    until.add_argument('--expires-at', metavar='<time>', help='Time when it expires, such as 2027-01-01T00:00:00+00:00')


def _lifetime(parsed: argparse.Namespace) -> dict[str, Any]:
    until = {'expires_in': parsed.expires_in, 'expires_at': parsed.expires_at}
    return {name: value for name, value in until.items() if value is not None}


def _add_request(parser: argparse.ArgumentParser, instances: str) -> None:
    """Add the arguments of a request for reservations.

    :param instances: help text of the instances.
    """
    # Optional for the parser: after a list of traits, argparse takes the UUIDs for traits (``_instances``).
    parser.add_argument('instances', metavar='<instance>', nargs='*', type=nonempty, help=instances)
    parser.add_argument(
        '--node',
        metavar='<node>',
        action='append',
        dest='nodes',
        type=nonempty,
        help='UUID or name of a node to choose from, the preferred one first (repeat for more)',
    )
    parser.add_argument(
        '--capacity-reservation',
        metavar='<capacity-reservation>',
        type=nonempty,
        help='Name or UUID of a capacity reservation that the nodes count for',
    )
    requests.add_options(parser)
    topology.add_options(parser)
    _add_lifetime(parser)


def _instances(parsed: argparse.Namespace) -> list[str]:
    """Return the UUIDs of the instances, also those that argparse took for traits.

    :raises osc_lib.exceptions.CommandError: there are none.
    """
    lists = (parsed.trait, parsed.not_trait, parsed.prefer, *parsed.trait_any)
    instances = [*parsed.instances, *trait_options.take_uuids(*lists)]
    if not instances:
        place = " Write it before --relative-to, or after '--'." if parsed.relative_to else ''
        raise exceptions.CommandError(f'The UUID of an instance is missing.{place}')
    return instances


def _request(app: Any, parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the request of the options, as arguments of ``Client.reserve``.

    :raises osc_lib.exceptions.CommandError: the options choose no nodes.
    """
    request = requests.request(app, parsed) | topology.request(parsed)
    if parsed.capacity_reservation:
        request['capacity_reservation'] = parsed.capacity_reservation
    if not request and not parsed.nodes:
        raise exceptions.CommandError(
            'Choose nodes with --node, or state requirements with --trait, --flavor or another option.'
        )
    return request | {'nodes': parsed.nodes} | _lifetime(parsed)


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Raise CommandError with the reasons of a refusal."""
    try:
        yield
    except Failed as failed:
        reasons = ''.join(f'\n{each["node"]}: {each["message"]}' for each in failed.reasons or ())
        raise exceptions.CommandError(f'{failed}{reasons}') from failed


class CreateReservation(commands.ShowOne):
    """Hold a node for an instance"""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        _add_request(parser, 'UUID of the instance')

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Row:
        instance, *more = _instances(parsed_args)
        if more:
            raise exceptions.CommandError("For several instances, use 'baremetal reservation group create'.")
        with _refusals():
            return _shown(osc.client(self.app).reserve(instance, **_request(self.app, parsed_args)))


class CreateReservationGroup(commands.Lister):
    """Hold a node for each of several instances, or hold no nodes if one of them cannot get a node"""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        _add_request(parser, 'UUIDs of the instances')

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Table:
        instances = _instances(parsed_args)
        with _refusals():
            reservations = osc.client(self.app).reserve_all(instances, **_request(self.app, parsed_args))
        return commands.labels(_GROUPED), [_values(row, _GROUPED) for row in reservations]


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
        return commands.labels(columns), (tuple(row[name] for name in columns) for row in rows)


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
        commands.delete('reservation', parsed_args.reservations, osc.client(self.app).release)
