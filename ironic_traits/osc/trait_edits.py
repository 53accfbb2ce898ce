"""openstack baremetal trait edit"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from osc_lib import exceptions

from ironic_traits import osc
from ironic_traits.osc import commands, node_selection, progress, trait_options
from ironic_traits.printing import count

#: Maximum number of nodes that a preview lists.
_LISTED = 20


class EditTraits(commands.Command):
    """Edit the traits of many nodes in one transaction

    Show what would change, and ask for confirmation. Then change all of the nodes, or none of them. If a node or one of
    its traits has changed since the preview, nothing changes.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        trait_options.add(parser, '--add', help='Traits to add')
        trait_options.add(parser, '--remove', help='Traits to remove')
        parser.add_argument(
            '--rename',
            metavar='<trait=new-name>',
            nargs='+',
            action='extend',
            default=[],
            help='Traits to rename. They keep their sources (repeat for more)',
        )
        parser.add_argument('--source', metavar='<source>', help='Write as this source (default: the operator)')
        node_selection.add_options(parser)
        parser.add_argument('--yes', action='store_true', help='Do not ask')

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        request = _request(parsed_args)
        client = osc.client(self.app)
        with commands.failures('Run the command again.'):
            preview = client.edit_traits(**request, limit=_LISTED)
            print('\n'.join(_preview(preview)))
            if preview['changed'] and _is_confirmed(parsed_args, preview['changed']):
                with progress.elapsed(f'Editing {count(preview["changed"])} …'):
                    result = client.edit_traits(**request, digest=preview['digest'])
                print(f'Done: {_totals(result)}.')


def _is_confirmed(parsed: argparse.Namespace, changed: int) -> bool:
    return node_selection.is_confirmed(parsed, f'Edit the traits of {count(changed)}?', 'edit')


def _request(parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of ``Client.edit_traits`` for the options.

    :raises exceptions.CommandError: an option is not of the form key=value, or a key is repeated.
    """
    request = {'add': parsed.add, 'remove': parsed.remove, 'rename': {}, 'source': parsed.source}
    for name, new in node_selection.pairs('--rename', parsed.rename):
        if name in request['rename']:
            raise exceptions.CommandError(f'--rename names {name} twice')
        request['rename'][name] = new
    if not any(request[name] for name in ('add', 'remove', 'rename')):
        raise exceptions.CommandError('Nothing to do: use --add, --remove or --rename.')
    return request | node_selection.selected(parsed)


def _preview(preview: Mapping[str, Any]) -> Iterator[str]:
    """Generate the lines of a preview."""
    yield f'Selected: {count(preview["matched"])}.'
    for key, what in (('gains', 'get it'), ('loses', 'lose it'), ('vetoed', 'not get it, because it is vetoed')):
        for trait, number in preview[key].items():
            yield f'  {trait}: {count(number)} would {what}'
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
    yield f'Would change: {count(preview["changed"])}.'


def _named(number: int, nodes: Sequence[Mapping[str, Any]]) -> str:
    names = ', '.join(node['name'] or node['uuid'] for node in nodes[:_LISTED])
    return f'{count(number)} ({names}{", …" if number > min(len(nodes), _LISTED) else ""})'


def _totals(result: Mapping[str, Any]) -> str:
    parts = [f'{count(result["changed"])} changed']
    parts += [f'{count(number)} got {trait}' for trait, number in result['gains'].items()]
    parts += [f'{count(number)} lost {trait}' for trait, number in result['loses'].items()]
    return '; '.join(parts)
