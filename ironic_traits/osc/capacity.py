"""openstack baremetal capacity"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml
from cliff import columns
from osc_lib import exceptions

from ironic_traits import clauses, osc, yaml_documents
from ironic_traits.osc import commands, node_selection, requests, topology, trait_options
from ironic_traits.osc.option_types import nonempty

_FIGURES = ('matching', 'free', 'held')
#: Figures of flavors with a topology.
_BLOCKS = ('blocks', 'largest_block')
_COLUMNS = ('Matching', 'Free', 'Held', 'Unavailable')


class Capacity(commands.Lister):
    """Count the nodes that match flavors: how many are free, held, or not available

    Choose the flavors with --flavors-from-nova or --flavors. Without either, the other options describe one
    flavor. With --without, or with --add or --remove and a selection of nodes, also show how the figures would change.
    The nodes themselves do not change.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_flavor_options(parser)
        requests.add_options(parser)
        topology.add_options(parser, counted=True)
        parser.add_argument(
            '--without',
            metavar='<node>',
            nargs='+',
            action='extend',
            type=nonempty,
            help='Suppose that these nodes do not exist',
        )
        trait_options.add(parser, '--add', help='Suppose that nodes had these traits')
        trait_options.add(parser, '--remove', help='Suppose that nodes did not have these traits')
        node_selection.add_options(parser, required=False)
        parser.add_argument(
            '--by',
            metavar='<what>',
            nargs='+',
            action='extend',
            default=[],
            help='Break the figures down by resource_class, owner, shard, or trait:PREFIX',
        )

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Table:
        _check_flavor_options(parsed_args)
        body = flavors(self.app, parsed_args) | _what_if(parsed_args)
        if parsed_args.by:
            body['by'] = parsed_args.by
        response = osc.client(self.app).capacity(**body)
        for warning in response['warnings']:
            self.log.warning(warning)
        blocks = [name for name in _BLOCKS if any(name in each for each in response['flavors'])]
        labels = (*_COLUMNS, *(name.replace('_', ' ').title() for name in blocks))
        if not parsed_args.by:
            return ('Flavor', *labels), [(each['name'], *_cells(each, blocks)) for each in response['flavors']]
        return ('Flavor', 'By', 'Value', *labels), [
            (each['name'], *row) for each in response['flavors'] for row in _rows(each, blocks)
        ]


class Figure(columns.FormattableColumn):
    """A number of nodes, and by how much it would change; None if there is no number."""

    def human_readable(self) -> str:
        number, difference = self._value
        if number is None:
            return ''
        return f'{number} ({difference:+})' if difference else str(number)

    def machine_readable(self) -> int | dict[str, int] | None:
        number, difference = self._value
        return number if difference is None else {'now': number, 'difference': difference}


class Reasons(columns.FormattableColumn):
    """Why nodes are not available: {reason: (number of nodes, by how much it would change)}."""

    def human_readable(self) -> str:
        words = ((Figure(figures).human_readable(), clauses.reason(code)) for code, figures in self._value.items())
        return ', '.join(map(' '.join, words))

    def machine_readable(self) -> dict[str, int | dict[str, int] | None]:
        return {reason: Figure(figures).machine_readable() for reason, figures in self._value.items()}


def add_flavor_options(parser: argparse.ArgumentParser, required: bool = False) -> Any:
    """Add the options that choose flavors.

    :param required: whether one of them is required.
    :returns: their group, of which a command has one.
    """
    group = parser.add_mutually_exclusive_group(required=required)
    group.add_argument(
        '--flavors-from-nova',
        metavar='<flavor>',
        nargs='*',
        type=nonempty,
        help='Names of flavors of nova; without a name, all flavors. The service reads them ([nova] endpoint_override)',
    )
    group.add_argument(
        '--flavors',
        metavar='<file>',
        type=nonempty,
        help='Flavors in a file, YAML or JSON: {name: {extra spec: value}}, or {name: {extra_specs: {...}, '
        'topology: [...], count: number}} ("-": stdin)',
    )
    return group


def flavors(app: Any, parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the flavors that the options name, as a part of a request: {'nova_flavors': …} or {'flavors': …}.

    :raises osc_lib.exceptions.CommandError: the file cannot be read, or has no flavors.
    """
    if parsed.flavors_from_nova is not None:
        return {'nova_flavors': parsed.flavors_from_nova or True}
    if parsed.flavors:
        return {'flavors': [_flavor(document) | {'name': name} for name, document in _read(parsed.flavors).items()]}
    request = requests.request(app, parsed) | topology.request(parsed)
    return {'flavors': [{'name': parsed.flavor or 'request', **request}]}


def _check_flavor_options(parsed: argparse.Namespace) -> None:
    """Raise CommandError if the options both name flavors and state requirements."""
    requirements = ', '.join(requests.used(parsed) + topology.used(parsed))
    options = {'--flavors': parsed.flavors, '--flavors-from-nova': parsed.flavors_from_nova}
    for option, value in options.items():
        if value is not None and requirements:
            raise exceptions.CommandError(
                f'{requirements} cannot be used with {option}: each flavor has its own requirements.'
            )


def _flavor(document: dict[str, Any]) -> dict[str, Any]:
    """Return a flavor of a file as a request. A flavor that has only extra specs has no lists and objects."""
    is_request = any(isinstance(value, dict | list) for value in document.values())
    return document if is_request else {'extra_specs': document}


def _read(path: str) -> dict[str, dict[str, Any]]:
    try:
        with open(0 if path == '-' else path, encoding='utf-8') as file:
            document = yaml_documents.load(file.read())
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise exceptions.CommandError(f'{path}: {error}') from error
    if not isinstance(document, dict) or not all(isinstance(specs, dict) for specs in document.values()):
        raise exceptions.CommandError(f'{path} must have flavors: {{name: {{extra spec: value}}}}')
    return {str(name): specs for name, specs in document.items()}


def _what_if(parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the supposed changes, as a part of a request.

    :raises osc_lib.exceptions.CommandError: an option needs another one.
    """
    body = {'without': parsed.without} if parsed.without else {}
    selects = bool(parsed.where or parsed.nodes or parsed.all)
    if bool(parsed.add or parsed.remove) != selects:
        raise exceptions.CommandError('Use --add or --remove together with --where, --nodes or --all')
    if not selects:
        return body
    selection = node_selection.selected(parsed)
    chosen = [{'node': node} for node in selection['nodes']] if 'nodes' in selection else [selection]
    traits = {name: names for name, names in (('add', parsed.add), ('remove', parsed.remove)) if names}
    return body | {'with': [each | traits for each in chosen]}


def _rows(flavor: Mapping[str, Any], blocks: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Generate the rows of a flavor: one for all nodes, and one for each group."""
    yield '', '', *_cells(flavor, blocks)
    for by, groups in flavor['by'].items():
        for group in groups:
            yield by, '-' if group['value'] is None else group['value'], *_cells(group, blocks)


def _cells(figures: Mapping[str, Any], blocks: Sequence[str]) -> Iterator[columns.FormattableColumn]:
    difference = figures.get('difference')
    for name in _FIGURES:
        yield Figure((figures[name], difference and difference[name]))
    reasons = dict.fromkeys([*figures['unavailable'], *(difference or figures)['unavailable']])
    yield Reasons(
        {
            reason: (
                figures['unavailable'].get(reason, 0),
                difference and difference['unavailable'].get(reason, 0),
            )
            for reason in reasons
        }
    )
    for name in blocks:
        yield Figure((figures.get(name), difference and difference.get(name)))
