"""Options of commands that python-ironicclient has: hooks of cliff."""

import functools
from typing import Any

from cliff import hooks
from osc_lib import exceptions


class _Hook(hooks.CommandHook):
    """A hook that only adds options, and does something before the command."""

    def get_epilog(self):
        return ''

    def after(self, parsed_args, return_code):
        return return_code

    @property
    def _http(self):
        app: Any = self.cmd.app
        return app.client_manager.baremetal.http_client


class NodeList(_Hook):
    """baremetal node list --trait A B --not-trait C --trait-any D E --not-trait-any F"""

    _OPTIONS = {
        'trait': ('traits', 'Only nodes with all of these traits'),
        'trait-any': ('traits-any', 'Only nodes with one of these traits'),
        'not-trait': ('not-traits', 'Only nodes without all of these traits: one may be there'),
        'not-trait-any': ('not-traits-any', 'Only nodes with none of these traits'),
    }

    def get_parser(self, parser):
        for option, (_, told) in self._OPTIONS.items():
            parser.add_argument(f'--{option}', metavar='<trait>', nargs='+', action='extend', help=told)

    def before(self, parsed_args):
        given = {name: getattr(parsed_args, option.replace('-', '_')) for option, (name, _) in self._OPTIONS.items()}
        query = {name: ','.join(traits) for name, traits in given.items() if traits}
        if query:
            # The base command knows no such filters; the addresses of further pages have them already, once more.
            self._http.json_request = functools.partial(self._http.json_request, params=query)
        return parsed_args


class NodeDeploy(_Hook):
    """baremetal node deploy --reservation UUID"""

    def get_parser(self, parser):
        parser.add_argument(
            '--reservation', metavar='<reservation>', help='UUID of the reservation that holds the node'
        )

    def before(self, parsed_args):
        if parsed_args.reservation:
            if len(parsed_args.nodes) > 1:
                raise exceptions.CommandError('--reservation is of one node')
            self._http.json_request = functools.partial(_with_reservation, self._http.json_request, parsed_args)
        return parsed_args


def _with_reservation(ask, parsed_args, method, url, **options):
    if method == 'PUT' and url.endswith('/states/provision'):
        options['body'] = {**options.get('body', {}), 'reservation_uuid': parsed_args.reservation}
    return ask(method, url, **options)
