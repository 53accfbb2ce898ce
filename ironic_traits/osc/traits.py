"""What osc-placement lacks for traits: options of its commands (hooks of cliff), and commands beside them."""

import contextlib
from typing import Any

from cliff import hooks
from osc_lib import exceptions
from osc_lib.command import command

from ironic_traits.osc import trait_options

#: How often a change is tried when others change the provider at the same time.
_ATTEMPTS = 10
#: The version that brought traits.
_VERSION = '1.6'


class TraitList(hooks.CommandHook):
    """trait list --starts-with P --name-in A B"""

    def get_parser(self, parser):
        parser.add_argument('--starts-with', metavar='<prefix>', help='Only traits whose name begins so')
        trait_options.add(parser, '--name-in', help='Only these traits')

    def get_epilog(self):
        return ''

    def before(self, parsed_args):
        asked = {'startswith': parsed_args.starts_with, 'in': ','.join(parsed_args.name_in)}
        names = [f'{operator}:{value}' for operator, value in asked.items() if value]
        if len(names) + bool(parsed_args.name) > 1:
            raise exceptions.CommandError('--name, --starts-with or --name-in is said: one of them')
        if names:
            parsed_args.name = names[0]
        return parsed_args

    def after(self, parsed_args, return_code):
        return return_code


class _Change(command.Lister):
    """Changes the traits of a resource provider, and leaves those alone that are not named."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument('provider', metavar='<resource-provider>', help='UUID of the resource provider')
        parser.add_argument('traits', metavar='<trait>', nargs='+', help='Names of the traits')
        return parser

    def changed(self, there, named):
        """Give the traits that the provider is to have.

        :param there: those that it has, a set.
        :param named: those that the command names, a set.
        """
        raise NotImplementedError

    def take_action(self, parsed_args):
        for _ in range(_ATTEMPTS - 1):
            # Somebody else may change the provider meanwhile; the next try sees what they did.
            with contextlib.suppress(exceptions.Conflict):
                return self._take(parsed_args)
        return self._take(parsed_args)

    def _take(self, parsed_args):
        app: Any = self.app
        http, named = app.client_manager.placement, set(trait_options.split(parsed_args.traits))
        path = f'/resource_providers/{parsed_args.provider}/traits'
        there = http.request('GET', path, version=_VERSION).json()
        wanted = {**there, 'traits': sorted(self.changed(set(there['traits']), named))}
        shown = http.request('PUT', path, json=wanted, version=_VERSION).json()['traits']
        kept = sorted(named.intersection(shown).difference(wanted['traits']))
        if kept:
            raise exceptions.CommandError(
                f"'baremetal node remove trait' removes what is the node's own: {', '.join(kept)}"
            )
        return ('name',), [(name,) for name in sorted(shown)]


class AddTrait(_Change):
    """Give a resource provider traits, beside those that it has"""

    def changed(self, there, named):
        return there | named


class RemoveTrait(_Change):
    """Take traits away from a resource provider.

    Of a node only those that others gave to its provider.
    """

    def changed(self, there, named):
        return there - named
