"""openstack baremetal match"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from osc_lib.cli import format_columns

from ironic_traits import clauses, osc
from ironic_traits.osc import commands, explanations, requests, topology
from ironic_traits.osc.explanations import Clauses

_COLUMNS = ('UUID', 'Name', 'Resource Class', 'Traits')
_EXPLAINED = ('Kind', 'Clauses', 'Nodes', 'Name')
_HELD = ('Resource Provider', 'Satisfied', 'Missing', 'Forbidden')


class Match(commands.Lister):
    """Find the nodes that match the requirements of a flavor, an image and traits

    With --explain, show why nodes do not match: how many nodes each requirement rules out, which requirements to drop
    first, and which nodes come closest. With --instance, check the nodes that an instance holds, for example before a
    rebuild with another image.
    """

    #: The explanation for --explain; None without that option.
    _explanation = None

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        requests.add_options(parser)
        topology.add_options(parser, counted=True)
        parser.add_argument('--limit', metavar='<limit>', type=int, help='Maximum number of nodes (default: 100)')
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument(
            '--instance', metavar='<instance>', help='Check the nodes that the instance with this UUID holds'
        )
        mode.add_argument('--explain', action='store_true', help='Show why nodes do not match')

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Table:
        request = requests.request(self.app, parsed_args) | topology.request(parsed_args)
        if parsed_args.limit is not None:
            request['limit'] = parsed_args.limit
        if parsed_args.instance is not None:
            request['instance_uuid'] = parsed_args.instance
        if parsed_args.explain:
            request['explain'] = True
        client = osc.client(self.app)
        response = client.match(**request)
        for warning in response['warnings']:
            self.log.warning(warning)
        if parsed_args.explain:
            self._explanation = response['explanation']
            return _EXPLAINED, list(_explained(response['explanation']))
        if parsed_args.instance is not None:
            return _HELD, list(_held(response))
        if not response['nodes']:
            self._explain(client.match(**request | {'explain': True})['explanation'])
        groups = ('Groups',) if parsed_args.topology else ()
        return (*_COLUMNS, *groups), [
            (
                *(node['uuid'], node['name'], node['resource_class'], format_columns.ListColumn(node['traits'])),
                *(format_columns.DictColumn(node['groups']) for _ in groups),
            )
            for node in response['nodes']
        ]

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Any) -> int:
        """In the table format, print an explanation as several tables, and print no empty table."""
        if parsed_args.formatter == 'table':
            if self._explanation and not parsed_args.columns:
                self._print_explanation(self._explanation, parsed_args)
                return 0
            if not data:
                return 0
        return super().produce_output(parsed_args, column_names, data)

    def _explain(self, explanation: Mapping[str, Any]) -> None:
        """Print to stderr why no node matches. Stdout is for the nodes."""
        for sentence in (f'{clauses.headline(explanation)}.', *clauses.sentences(explanation)):
            print(sentence, file=self.app.stderr)

    def _print_explanation(self, explanation: Mapping[str, Any], parsed_args: argparse.Namespace) -> None:
        output = self.app.stdout
        print(f'{clauses.headline(explanation)}.', file=output)
        for table in (explanations.requirement_rows, explanations.group_rows, explanations.nearest_rows):
            columns, rows = table(explanation)
            if rows:
                self.formatter.emit_list(columns, rows, output, parsed_args)
        for relaxation in explanation['relaxations']:
            print(clauses.relaxation(relaxation), file=output)


def _held(response: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    for provider in response['providers']:
        missing = [*provider['missing'], *(' or '.join(names) for names in provider.get('missing_any', []))]
        lists = (format_columns.ListColumn(names) for names in (missing, provider['forbidden']))
        # "satisfied" is about all providers together: one may have the traits that another one lacks.
        yield provider['uuid'], response['satisfied'], *lists


def _explained(explanation: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    yield 'considered', Clauses([]), explanation['considered'], None
    yield 'matched', Clauses([]), explanation['matched'], None
    for clause in clauses.rejecting(explanation):
        yield 'rejected', Clauses([clause['clause']]), clause['rejected'], None
        yield 'rejected only', Clauses([clause['clause']]), clause['rejected_only'], None
    for group in explanation.get('topology', {}).get('groups', ()):
        name = clauses.group(group['groups'])
        yield 'group', Clauses([]), group['nodes'], name
        for relaxation in group['relaxations']:
            yield 'group without', Clauses(relaxation['drop']), relaxation['nodes'], name
    for relaxation in explanation['relaxations']:
        yield 'without', Clauses(relaxation['drop']), relaxation['nodes'], None
    for miss in explanation['near_misses']:
        yield 'near miss', Clauses(miss['rejected_by']), miss['node'], miss.get('name')
