"""Traits of resource providers: options for commands of osc-placement (hooks of cliff), and further commands."""

import argparse
import contextlib
from typing import Any

from osc_lib import exceptions

from ironic_traits.client.client import segment
from ironic_traits.osc import commands, trait_options
from ironic_traits.osc.option_types import nonempty

#: Maximum number of attempts to change a provider, when other clients change it at the same time.
_ATTEMPTS = 10
#: The first version with traits.
_VERSION = '1.6'


class TraitList(commands.OptionsHook):
    """trait list --starts-with P --name-in A B"""

    def get_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            '--starts-with',
            metavar='<prefix>',
            type=nonempty,
            help='Only traits whose name begins with this prefix',
        )
        trait_options.add(parser, '--name-in', help='Only these traits')

    def before(self, parsed_args: argparse.Namespace) -> argparse.Namespace:
        operands = {'startswith': parsed_args.starts_with, 'in': ','.join(parsed_args.name_in)}
        filters = [f'{operator}:{value}' for operator, value in operands.items() if value]
        if len(filters) + bool(parsed_args.name) > 1:
            raise exceptions.CommandError('Use only one of --name, --starts-with and --name-in')
        if filters:
            parsed_args.name = filters[0]
        return super().before(parsed_args)


class _Change(commands.Lister):
    """A command that changes some traits of a resource provider and keeps the others."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('provider', metavar='<resource-provider>', help='UUID of the resource provider')
        parser.add_argument('traits', metavar='<trait>', nargs='+', help='Names of the traits')

    def changed(self, existing: set[str], arguments: set[str]) -> set[str]:
        """Return the new traits of the provider.

        :param existing: its current traits.
        :param arguments: the traits on the command line.
        """
        raise NotImplementedError

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Table:
        for _ in range(_ATTEMPTS - 1):
            # After a conflict with another client, the next attempt reads the provider again.
            with contextlib.suppress(exceptions.Conflict):
                return self._attempt(parsed_args)
        return self._attempt(parsed_args)

    def _attempt(self, parsed_args: argparse.Namespace) -> commands.Table:
        app: Any = self.app
        http = app.client_manager.placement
        arguments = set(trait_options.required(parsed_args.traits, 'Name the traits.'))
        path = f'/resource_providers/{segment(parsed_args.provider)}/traits'
        current = http.request('GET', path, version=_VERSION).json()
        body = {**current, 'traits': sorted(self.changed(set(current['traits']), arguments))}
        traits = http.request('PUT', path, json=body, version=_VERSION).json()['traits']
        kept = sorted(arguments.intersection(traits).difference(body['traits']))
        if kept:
            raise exceptions.CommandError(
                f"The node itself has these traits; remove them with 'baremetal node remove trait': {', '.join(kept)}"
            )
        return ('name',), [(name,) for name in sorted(traits)]


class AddTrait(_Change):
    """Add traits to a resource provider"""

    def changed(self, existing: set[str], arguments: set[str]) -> set[str]:
        return existing | arguments


class RemoveTrait(_Change):
    """Remove traits from a resource provider

    A trait that a node itself has can only be removed from the node ('baremetal node remove trait').
    """

    def changed(self, existing: set[str], arguments: set[str]) -> set[str]:
        return existing - arguments
