"""openstack baremetal node action run"""

import argparse
import json
import pathlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from osc_lib import exceptions

from ironic_traits import osc
from ironic_traits.osc import commands, node_selection, progress
from ironic_traits.osc.option_types import nonempty
from ironic_traits.printing import count

#: Maximum number of refused nodes that are printed. A report has all of them.
_LISTED = 20


class RunAction(commands.Command):
    """Set or unset the maintenance of many nodes, or manage, provide or inspect them

    Show on which nodes the action is possible, and ask for confirmation. Then carry it out on these nodes, one after
    another. A node that refuses the action does not stop the others. If a node or its state has changed since the
    preview, nothing changes.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'action',
            metavar='<action>',
            type=nonempty,
            help='maintenance, unset_maintenance, manage, provide, inspect, adopt, abort or unhold',
        )
        parser.add_argument('--reason', metavar='<reason>', help='With maintenance: its reason')
        node_selection.add_options(parser)
        parser.add_argument('--report', metavar='<file>', help='Write the outcome of each node to this file, as JSON')
        parser.add_argument('--yes', action='store_true', help='Do not ask')

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        action = parsed_args.action
        request = {'action': action, 'reason': parsed_args.reason, **node_selection.selected(parsed_args)}
        client = osc.client(self.app)
        with commands.failures('Run the command again.'):
            result = client.act_on_nodes(**request)
            known = {node['uuid'] for node in result['nodes'] if node['outcome'] == 'refused'}
            possible = count(result['done'])
            print(f'Selected: {count(result["matched"])}.', *_refused(result), sep='\n')
            print(f'{action} is possible on {possible}{_others(result)}.')
            if result['done']:
                if not node_selection.is_confirmed(parsed_args, f'Run {action} on {possible}?', 'run the action'):
                    return
                with progress.elapsed(f'Running {action} on {possible} …'):
                    result = client.act_on_nodes(**request, digest=result['digest'])
                print(*_refused(result, known), f'Done: {count(result["done"])}{_others(result)}.', sep='\n')
        if parsed_args.report:
            pathlib.Path(parsed_args.report).write_text(json.dumps(result, indent=2) + '\n')
        if result['refused']:
            raise exceptions.CommandError(f'{count(result["refused"])} refused the action.')


def _refused(result: Mapping[str, Any], known: Collection[str] = ()) -> Iterator[str]:
    """Generate the lines about the nodes that refuse the action.

    :param known: uuids of nodes that already have lines.
    """
    refused = [node for node in result['nodes'] if node['outcome'] == 'refused' and node['uuid'] not in known]
    for node in refused[:_LISTED]:
        yield f'  {node["name"] or node["uuid"]}: {node["error"]}'
    if len(refused) > _LISTED:
        yield '  …'


def _others(result: Mapping[str, Any]) -> str:
    return ''.join(f'; {count(result[name])} {name}' for name in ('unchanged', 'refused') if result[name])
