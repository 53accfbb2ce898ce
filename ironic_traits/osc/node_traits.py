"""baremetal node trait set, unset and unveto, and options for baremetal node trait list (a hook of cliff)."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from osc_lib import exceptions

from ironic_traits import osc
from ironic_traits.client import Failed
from ironic_traits.osc import commands, trait_options
from ironic_traits.osc.option_types import nonempty

_COLUMNS = ('Trait', 'State', 'Source', 'Since', 'User', 'Project')
_SET_NOTHING = "Name the traits to set. To remove all traits, use 'baremetal node trait unset --all'."
_UNSET_NOTHING = 'Name the traits to remove, or use --all.'


class NodeTraitList(commands.OptionsHook):
    """baremetal node trait list --long | --at TIME"""

    def get_parser(self, parser: argparse.ArgumentParser) -> None:
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument(
            '--long', action='store_true', help='Show which sources hold each trait, and the traits that are vetoed'
        )
        mode.add_argument(
            '--at',
            metavar='<time>',
            type=nonempty,
            help='The traits that the node had at this time, such as 2026-01-31T12:00:00Z',
        )

    def after(self, parsed_args: argparse.Namespace, return_code: Any) -> Any:
        # The "return code" of a command that lists is (columns, rows).
        listed = return_code
        if not parsed_args.long and not parsed_args.at:
            return listed
        client = osc.client(self.app)
        try:
            if parsed_args.long:
                return _COLUMNS, list(_long(client.trait_details(parsed_args.node)))
            return listed[0], [(name,) for name in client.traits(parsed_args.node, at=parsed_args.at)]
        except Failed as error:
            raise exceptions.CommandError(str(error)) from error


def _long(details: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Generate a row for each source of each trait, then one for each veto."""
    for each in details['traits']:
        for hold in each['sources']:
            yield each['trait'], 'held', hold['source'], *_written(hold)
    for veto in details['vetoes']:
        yield veto['trait'], 'vetoed', None, *_written(veto)


def _written(hold: Mapping[str, Any]) -> tuple[Any, ...]:
    return hold['since'], hold['user'], hold['project']


class _Change(commands.Command):
    """A command that changes the traits of a node."""

    #: ``nargs`` of the positional argument with traits.
    _count = '+'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('node', metavar='<node>', help='Name or UUID of the node')
        parser.add_argument('traits', metavar='<trait>', nargs=self._count, help='Names of the traits')

    def _each(self, names: Iterable[str], change: Callable[[str], None], message: str) -> None:
        """Change each trait. If one fails, continue with the others.

        :param names: names of the traits.
        :param change: function that changes the trait with a name.
        :param message: what to print after each change, before the name.
        :raises exceptions.CommandError: changes failed; the message lists all reasons.
        """
        errors = []
        for name in names:
            try:
                change(name)
                print(f'{message} {name}', file=self.app.stdout)
            except (Failed, ValueError) as error:
                errors.append(f'{name}: {error}')
        if errors:
            raise exceptions.CommandError('\n'.join(errors))


class SetTrait(_Change):
    """Set the traits of a node, or those that a source holds

    With --source, the source then holds exactly these traits on the node, and other sources keep theirs. Without
    --source, the node then has exactly these traits.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument('--source', metavar='<source>', help='Source that holds the traits')
        parser.add_argument('--add', action='store_true', help='Add these traits, and keep the others')

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        client, node, source = osc.client(self.app), parsed_args.node, parsed_args.source
        if parsed_args.add:
            names = trait_options.required(parsed_args.traits, 'Name the traits to add.')
            self._each(names, lambda name: client.add_trait(node, name, source), 'Added trait')
            return
        names = trait_options.required(parsed_args.traits, _SET_NOTHING)
        try:
            vetoed = client.set_traits(node, names, source)
        except Failed as error:
            raise exceptions.CommandError(str(error)) from error
        print(f'Set traits {", ".join(sorted(set(names).difference(vetoed)))}', file=self.app.stdout)
        if vetoed:
            self.log.warning('Vetoed traits, which %s cannot add: %s', source, ', '.join(vetoed))


class UnsetTrait(_Change):
    """Remove traits from a node, or those that a source holds

    With --source, the node keeps the traits that other sources hold.
    """

    _count = '*'

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument('--all', action='store_true', help='Remove all traits')
        parser.add_argument('--source', metavar='<source>', help='Source that holds the traits')

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        client, node, source = osc.client(self.app), parsed_args.node, parsed_args.source
        if parsed_args.all and parsed_args.traits:
            raise exceptions.CommandError(_UNSET_NOTHING)
        if not parsed_args.all:
            names = trait_options.required(parsed_args.traits, _UNSET_NOTHING)
            self._each(names, lambda name: client.remove_trait(node, name, source), 'Removed trait')
            return
        try:
            client.remove_traits(node, source)
        except Failed as error:
            raise exceptions.CommandError(str(error)) from error
        print('Removed all traits' + (f' of source {source}' if source else ''), file=self.app.stdout)


class UnvetoTrait(_Change):
    """Lift vetoes of traits, so that all sources can add them again

    A trait is vetoed when an operator removes it while another source holds it. To add the trait at once, use
    'baremetal node add trait' instead.
    """

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        client = osc.client(self.app)
        names = trait_options.required(parsed_args.traits, 'Name the traits whose vetoes to lift.')
        self._each(names, lambda name: client.lift_veto(parsed_args.node, name), 'Lifted the veto of')
