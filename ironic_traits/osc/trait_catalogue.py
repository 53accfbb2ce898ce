"""openstack baremetal trait catalog, show, set"""

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

from cliff import columns

from ironic_traits import osc
from ironic_traits.osc import commands
from ironic_traits.osc.option_types import nonempty

COLUMNS = ('name', 'description', 'custom', 'nodes', 'sources', 'retired', 'replaced_by', 'exclusive')
_LISTED = ('name', 'nodes', 'sources', 'retired', 'replaced_by', 'exclusive', 'description')


class _Sources(columns.FormattableColumn):
    """Numbers of nodes by source."""

    def human_readable(self) -> str:
        return ', '.join(f'{source}: {count}' for source, count in self._value.items())


def _values(trait: Mapping[str, Any], names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(_Sources(trait[name]) if name == 'sources' else trait[name] for name in names)


class TraitCatalog(commands.Lister):
    """List traits: how many nodes have them, from which sources, and what they mean

    Without --all or --unused, the list has the traits that a node has, and those that were described or retired.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            '--starts-with',
            metavar='<prefix>',
            type=nonempty,
            help='Only traits whose name begins with this prefix',
        )
        kind = parser.add_mutually_exclusive_group()
        kind.add_argument('--custom', action='store_true', default=None, help='Only custom traits')
        kind.add_argument(
            '--standard', action='store_false', default=None, dest='custom', help='Only traits of os-traits'
        )
        parser.add_argument('--retired', action='store_true', default=None, help='Only retired traits')
        parser.add_argument('--exclusive', action='store_true', default=None, help='Only exclusive traits')
        use = parser.add_mutually_exclusive_group()
        use.add_argument('--in-use', action='store_true', default=None, help='Only traits that a node has')
        use.add_argument(
            '--unused', action='store_false', default=None, dest='in_use', help='Only traits that no node has'
        )
        use.add_argument('--all', action='store_true', default=None, help='All traits, also those of os-traits')

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Table:
        query = {name: getattr(parsed_args, name) for name in ('custom', 'retired', 'exclusive', 'in_use', 'all')}
        if parsed_args.starts_with:
            query['name'] = f'startswith:{parsed_args.starts_with}'
        traits = osc.client(self.app).catalogue(**{name: value for name, value in query.items() if value is not None})
        # A description may have many paragraphs: 'baremetal trait show' shows all of them.
        short = (trait | {'description': (trait['description'] or '').partition('\n')[0]} for trait in traits)
        return commands.labels(_LISTED), (_values(trait, _LISTED) for trait in short)


class _OfOne(commands.ShowOne):
    """A command about one trait."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument('trait', metavar='<trait>', help='Name of the trait')


class ShowTrait(_OfOne):
    """Show what a trait means, and how many nodes have it"""

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Row:
        return COLUMNS, _values(osc.client(self.app).trait(parsed_args.trait), COLUMNS)


class SetTrait(_OfOne):
    """Describe a custom trait, retire a trait, or make it exclusive

    A retired trait can still be used. The service then warns, and names the replacement. A node with an exclusive trait
    only matches requests that require the trait.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        text = parser.add_mutually_exclusive_group()
        text.add_argument('--description', metavar='<text>', help='What the trait means')
        text.add_argument('--no-description', action='store_true', help='Remove the description')
        retired = parser.add_mutually_exclusive_group()
        retired.add_argument('--retire', action='store_true', default=None, dest='retired', help='Retire the trait')
        retired.add_argument(
            '--restore', action='store_false', default=None, dest='retired', help='Undo the retirement'
        )
        parser.add_argument('--replaced-by', metavar='<trait>', help='Trait to use instead of the retired one')
        exclusive = parser.add_mutually_exclusive_group()
        exclusive.add_argument('--exclusive', action='store_true', default=None, help='Make the trait exclusive')
        exclusive.add_argument(
            '--not-exclusive', action='store_false', default=None, dest='exclusive', help='Make it not exclusive'
        )

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Row:
        names = ('description', 'retired', 'replaced_by', 'exclusive')
        changes = {name: getattr(parsed_args, name) for name in names if getattr(parsed_args, name) is not None}
        if parsed_args.no_description:
            changes['description'] = None
        trait = osc.client(self.app).update_trait(parsed_args.trait, **changes)
        return COLUMNS, _values(trait, COLUMNS)
