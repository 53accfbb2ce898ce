"""openstack baremetal trait edit"""

import sys
from typing import Any

from osc_lib import exceptions
from osc_lib.command import command

from ironic_traits import osc
from ironic_traits.client import Failed
from ironic_traits.osc import progress, trait_options

#: Most nodes that a preview lists.
_LISTED = 20
#: Filters that may be repeated: the node must pass each of them.
_REPEATABLE = ('traits', 'traits-any', 'not-traits', 'not-traits-any')


class EditTraits(command.Command):
    """Edit the traits of many nodes in one transaction

    Shows what would change, asks, and changes all of the nodes or none of them. If a node or one of its traits has
    changed since the preview, nothing is changed.
    """

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        trait_options.add(parser, '--add', help='Traits to add')
        trait_options.add(parser, '--remove', help='Traits to remove')
        parser.add_argument(
            '--rename',
            metavar='<trait=new-name>',
            nargs='+',
            action='extend',
            default=[],
            help='Traits to rename. Their sources stay what they are (repeat for more)',
        )
        parser.add_argument('--source', metavar='<source>', help='The source that writes (default: the operator)')
        selection = parser.add_mutually_exclusive_group(required=True)
        selection.add_argument(
            '--where',
            metavar='<key=value>',
            nargs='+',
            action='extend',
            help='Filters of nodes, as in the query of GET /v1/nodes: traits=CUSTOM_A,CUSTOM_B resource_class=gold …',
        )
        selection.add_argument(
            '--nodes', metavar='<node>', nargs='+', action='extend', help='UUIDs and names of the nodes'
        )
        selection.add_argument('--all', action='store_true', help='All nodes that you may see')
        parser.add_argument('--yes', action='store_true', help='Do not ask')
        return parser

    def take_action(self, parsed_args):
        request = _request(parsed_args)
        client = osc.client(self.app)
        try:
            preview = client.edit_traits(**request, limit=_LISTED)
            print('\n'.join(_preview(preview)))
            if preview['changed'] and self._is_confirmed(parsed_args, preview['changed']):
                with progress.elapsed(f'Editing {_nodes(preview["changed"])} …'):
                    result = client.edit_traits(**request, digest=preview['digest'])
                print(f'Done: {_totals(result)}.')
        except Failed as failed:
            hint = ' Run the command again.' if failed.code == 'baremetal.trait.edit_outdated' else ''
            raise exceptions.CommandError(f'{failed}{hint}') from failed

    def _is_confirmed(self, parsed_args, changed):
        """Whether the user wants the edit.

        :raises exceptions.CommandError: there is no terminal to ask at, and no --yes.
        """
        if parsed_args.yes:
            return True
        if not sys.stdin.isatty():
            raise exceptions.CommandError('Nothing changed: stdin is not a terminal. Use --yes to edit without asking.')
        try:
            reply = input(f'Edit the traits of {_nodes(changed)}? [y/N] ')
        except EOFError:
            reply = ''
        if reply.strip().lower() in ('y', 'yes'):
            return True
        print('Nothing changed.')
        return False


def _request(parsed):
    """Return the arguments of ``Client.edit_traits`` for the options.

    :raises exceptions.CommandError: an option is not of the form key=value, or a key is repeated.
    """
    request = {'add': parsed.add, 'remove': parsed.remove, 'rename': {}, 'source': parsed.source}
    for name, new in _pairs('--rename', parsed.rename):
        if name in request['rename']:
            raise exceptions.CommandError(f'--rename names {name} twice')
        request['rename'][name] = new
    if not any(request[name] for name in ('add', 'remove', 'rename')):
        raise exceptions.CommandError('Nothing to do: use --add, --remove or --rename.')
    if parsed.nodes:
        return request | {'nodes': parsed.nodes}
    where: dict[str, Any] = {}
    for name, value in _pairs('--where', parsed.where or ()):
        if name in _REPEATABLE:
            where.setdefault(name, []).append(value.split(','))
        elif name in where:
            raise exceptions.CommandError(f'--where names {name} twice')
        else:
            where[name] = value
    return request | {'where': where}


def _pairs(option, values):
    for value in values:
        key, equals, rest = value.partition('=')
        if not (key and equals):
            raise exceptions.CommandError(f"{option} expects key=value, not '{value}'")
        yield key, rest


def _preview(preview):
    """Generate the lines of a preview."""
    yield f'Selected: {_nodes(preview["matched"])}.'
    for key, what in (('gains', 'get it'), ('loses', 'lose it'), ('vetoed', 'not get it, because it is vetoed')):
        for trait, number in preview[key].items():
            yield f'  {trait}: {_nodes(number)} would {what}'
    for trait in preview['retired']:
        yield f'  {trait} is retired.'
    for node in preview['nodes']:
        changes = [f'+{trait}' for trait in node['gains']] + [f'-{trait}' for trait in node['loses']]
        changes += [f'vetoed: {trait}' for trait in node['vetoed']]
        yield f'  {node["name"] or node["uuid"]}: {" ".join(changes) or "sources only"}'
    if preview.get('next'):
        yield '  …'
    if preview['exceeding']:
        yield f'Too many traits: {_named(preview["exceeding"], preview["exceeding_nodes"])}. The edit would be refused.'
    if preview['locked']:
        yield f'Locked by work in progress: {_named(preview["locked"], preview["locked_nodes"])}.'
    yield f'Would change: {_nodes(preview["changed"])}.'


def _named(number, nodes):
    names = ', '.join(node['name'] or node['uuid'] for node in nodes[:_LISTED])
    return f'{_nodes(number)} ({names}{", …" if number > min(len(nodes), _LISTED) else ""})'


def _totals(result):
    parts = [f'{_nodes(result["changed"])} changed']
    parts += [f'{_nodes(number)} got {trait}' for trait, number in result['gains'].items()]
    parts += [f'{_nodes(number)} lost {trait}' for trait, number in result['loses'].items()]
    return '; '.join(parts)


def _nodes(count):
    return f'{count} node{"" if count == 1 else "s"}'
