"""Options for commands of python-ironicclient, added by hooks of cliff."""

import argparse
import functools
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any

from osc_lib import exceptions

from ironic_traits.osc import commands, trait_options
from ironic_traits.osc.option_types import nonempty


class _Hook(commands.OptionsHook):
    """A hook that runs only before the command."""

    @property
    def _http(self) -> Any:
        return self.app.client_manager.baremetal.http_client


class NodeList(_Hook):
    """baremetal node list --trait A B --not-trait C --trait-any D E --not-all-traits F G --trait-source S
    --without FIELD,FIELD"""

    #: {filter of the API: ([option, alias that --help does not show, …], help text)}.
    _OPTIONS = {
        'traits': (['--trait'], 'Only nodes with all of these traits'),
        'traits-any': (['--trait-any'], 'Only nodes with at least one of these traits'),
        'not-traits-any': (['--not-trait', '--not-trait-any'], 'Only nodes with none of these traits'),
        'not-traits': (['--not-all-traits'], 'Only nodes that lack at least one of these traits'),
    }

    def get_parser(self, parser: argparse.ArgumentParser) -> None:
        for options, help_text in self._OPTIONS.values():
            trait_options.add(parser, options[0], help=help_text, action=trait_options.Groups)
            for alias in options[1:]:
                trait_options.add(parser, alias, help=None, action=trait_options.Groups)
        parser.add_argument(
            '--trait-source', metavar='<source>', type=nonempty, help='Only nodes on which this source holds a trait'
        )
        parser.add_argument(
            '--without',
            metavar='<fields>',
            type=nonempty,
            help='Only nodes that have none of these fields, such as owner,shard',
        )

    def before(self, parsed_args: argparse.Namespace) -> argparse.Namespace:
        trait_options.check_groups(parsed_args.trait_any, '--trait-any', several=False)
        query = {}
        for name, (options, _) in self._OPTIONS.items():
            dests = (option.removeprefix('--').replace('-', '_') for option in options)
            traits = [trait for dest in dests for group in getattr(parsed_args, dest) for trait in group]
            if traits:
                query[name] = ','.join(traits)
        for name in ('trait-source', 'without'):
            value = getattr(parsed_args, name.replace('-', '_'))
            if value is not None:
                query[name] = value
        if query:
            # python-ironicclient has no such filters.
            self._http.json_request = functools.partial(_with_query, self._http.json_request, query)
        return super().before(parsed_args)


class NodeDeploy(_Hook):
    """baremetal node deploy --reservation UUID --boot-iso URL"""

    def get_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            '--reservation',
            metavar='<reservation>',
            type=nonempty,
            help='UUID of the reservation that holds the node',
        )
        parser.add_argument(
            '--boot-iso',
            metavar='<url>',
            type=nonempty,
            help='URL of the ISO image that the machine boots (deploy interface ramdisk)',
        )

    def before(self, parsed_args: argparse.Namespace) -> argparse.Namespace:
        if parsed_args.reservation:
            if len(parsed_args.nodes) > 1:
                raise exceptions.CommandError('--reservation works with one node only')
            self._http.json_request = functools.partial(_with_reservation, self._http.json_request, parsed_args)
        for node in parsed_args.nodes if parsed_args.boot_iso else ():
            patch = [{'op': 'add', 'path': '/instance_info/boot_iso', 'value': parsed_args.boot_iso}]
            self.app.client_manager.baremetal.node.update(node, patch)
        return super().before(parsed_args)


def _with_query(
    json_request: Callable[..., Any], query: Mapping[str, str], method: str, url: str, **options: Any
) -> Any:
    """Send a request with the query parameters that its URL lacks. The link to the next page has them already."""
    present = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query, keep_blank_values=True)
    missing = {name: value for name, value in query.items() if name not in present}
    return json_request(method, url, params=missing, **options)


def _with_reservation(
    json_request: Callable[..., Any], parsed_args: argparse.Namespace, method: str, url: str, **options: Any
) -> Any:
    if method == 'PUT' and url.endswith('/states/provision'):
        options['body'] = {**options.get('body', {}), 'reservation_uuid': parsed_args.reservation}
    return json_request(method, url, **options)
