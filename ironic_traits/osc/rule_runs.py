"""openstack baremetal inspection rule preview | apply"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import tqdm
from osc_lib import exceptions

from ironic_traits import osc
from ironic_traits.client import Failed
from ironic_traits.matching.rules import rule_files
from ironic_traits.matching.rules.inspection_rules import InvalidRules
from ironic_traits.matching.rules.rule_evaluation import InvalidInventory
from ironic_traits.osc import commands, node_selection
from ironic_traits.osc.option_types import nonempty
from ironic_traits.osc.rule_reports import ApplicationReport, PreviewReport
from ironic_traits.printing import count, printable

#: Maximum number of nodes in one request.
_PAGE = 200


class PreviewRules(commands.Command):
    """Show what inspection rules would do on nodes

    Evaluate the rules in force, and those in files, on the stored inspection data of nodes, or on inspection data in a
    file. Nothing changes.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'file',
            metavar='<file>',
            nargs='*',
            help='Rules to add to those in force, YAML or JSON. A rule replaces one of the same name. As for files in '
            '[inspection] rules_dirs, the names of the rules begin with the name of the file',
        )
        parser.add_argument(
            '--stored',
            action='store_true',
            help='Preview the rules in the files as rules stored in the service: their names do not change',
        )
        parser.add_argument(
            '--without',
            metavar='<rule>',
            nargs='+',
            action='extend',
            type=nonempty,
            help='Rules in force to leave out',
        )
        selection = node_selection.add_options(parser)
        selection.add_argument(
            '--inventory', metavar='<file>', type=nonempty, help='JSON file with inspection data, instead of nodes'
        )
        parser.add_argument(
            '--node', metavar='<file>', type=nonempty, help='With --inventory: JSON file with fields of the node'
        )
        parser.add_argument(
            '--long', action='store_true', help='Show what each rule does on each node, and which condition is not met'
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        request = _request(parsed_args)
        pages = osc.client(self.app).preview_rules(**request)
        with commands.failures('Run the command again.'):
            print(*map(printable, _report(pages, parsed_args.long).lines()), sep='\n')


class ApplyRules(commands.Command):
    """Run the inspection rules in force over the stored data of nodes

    The command shows what would change, and asks for confirmation. Then it runs the rules on up to 200 nodes at a time.
    If it is interrupted, run it again. The rules change only traits and unmet expectations. Only an inspection changes
    fields of nodes and ports.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        node_selection.add_options(parser)
        parser.add_argument('--yes', action='store_true', help='Do not ask, and do not show what would change')

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        selection = node_selection.selected(parsed_args)
        client = osc.client(self.app)
        with commands.failures('Nothing changed. Run the command again.'):
            if parsed_args.yes:
                first: Mapping[str, Any] = next(client.preview_rules(**selection, limit=1))
            else:
                report = _report(client.preview_rules(**selection, limit=_PAGE))
                print(*map(printable, report.lines()), sep='\n')
                first = report.page
        total = first['selected'] - first['without_data']
        if not total:
            print(f'0 of {count(first["selected"])} have data of an inspection: the rules ran on none.')
            return
        question = f'Run the inspection rules on {count(total)}?'
        if node_selection.is_confirmed(parsed_args, question, 'run the rules'):
            _apply(client.apply_rules(first['digest'], **selection, limit=_PAGE), total)


def _apply(pages: Iterator[dict[str, Any]], total: int) -> None:
    """Run rules, and print the results."""
    report = ApplicationReport()
    with tqdm.tqdm(total=total, unit='node', leave=False, disable=None, file=sys.__stderr__) as bar:
        try:
            for page in pages:
                report.add(page)
                bar.update(page['applied'] + len(page['locked']))
        except Failed as failed:
            done = f'The rules ran on {count(report.done)} of {total}.'
            raise exceptions.CommandError(f'{failed} {done} Run the command again.') from failed
    print(*map(printable, report.lines()), sep='\n')


def _report(pages: Iterator[dict[str, Any]], is_long: bool = False) -> PreviewReport:
    """Return the report of all pages of a preview. Print the lines about each page."""
    report = PreviewReport(is_long)
    with tqdm.tqdm(unit='node', leave=False, disable=None, file=sys.__stderr__) as bar:
        for page in pages:
            for line in report.add(page):
                with bar.external_write_mode(sys.__stderr__):
                    print(printable(line))
            bar.total = page.get('selected', 1) - page.get('without_data', 0)
            bar.update(len(page['nodes']))
    return report


def _request(parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of ``Client.preview_rules`` for the options.

    :raises exceptions.CommandError: an option or a file cannot be used.
    """
    request: dict[str, Any] = {'rules': [rule for path in parsed.file for rule in _rules(path, parsed.stored)]}
    request['without'] = parsed.without or []
    if parsed.inventory is None:
        if parsed.node:
            raise exceptions.CommandError('--node needs --inventory.')
        return request | node_selection.selected(parsed) | {'limit': _PAGE}
    return request | {'inventory': _json(parsed.inventory), 'node': _json(parsed.node) if parsed.node else {}}


def _rules(path: str, is_stored: bool) -> Iterator[dict[str, Any]]:
    """Generate the rules in a file, with the names that they would have in the service.

    :raises exceptions.CommandError: the file cannot be read, or has no objects. The service checks the grammar.
    """
    try:
        document = rule_files.read_document(path)
        json.dumps(document)
    except (InvalidRules, TypeError, ValueError, RecursionError) as error:
        raise exceptions.CommandError(f'{path}: {error}') from error
    if isinstance(document, dict):
        # A list as the API returns it, or one rule as the API accepts it.
        document = document.get('inspection_rules', [document])
    if not isinstance(document, list) or not all(isinstance(rule, dict) for rule in document):
        raise exceptions.CommandError(f'{path}: rules are a list of objects')
    prefix = '' if is_stored else rule_files.prefix(path)
    for number, rule in enumerate(document, 1):
        yield rule | {'name': prefix + str(rule.get('name') or rule.get('uuid') or number)}


def _json(path: str) -> Any:
    """Return the JSON document in a file.

    :raises exceptions.CommandError: the file cannot be read.
    """
    try:
        return rule_files.read_json(path)
    except InvalidInventory as error:
        raise exceptions.CommandError(f'{path}: {error}') from error
