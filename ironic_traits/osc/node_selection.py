"""Options that select nodes, and the confirmation before a change of many nodes."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from osc_lib import exceptions

from ironic_traits.osc.option_types import nonempty

#: Filters that may be repeated: the node must pass each of them.
_REPEATABLE = ('traits', 'traits-any', 'not-traits', 'not-traits-any')


def add_options(parser: argparse.ArgumentParser, required: bool = True) -> Any:
    """Add the options, which exclude each other, to a command's parser.

    :param required: whether one of them is required.
    :returns: their group, to which a command can add further options.
    """
    group = parser.add_mutually_exclusive_group(required=required)
    group.add_argument(
        '--where',
        metavar='<key=value>',
        nargs='+',
        action='extend',
        help='Filters of nodes, as in the query of GET /v1/nodes: traits=CUSTOM_A,CUSTOM_B resource_class=gold …',
    )
    group.add_argument(
        '--nodes',
        metavar='<node>',
        nargs='+',
        action='extend',
        type=nonempty,
        help='UUIDs and names of the nodes',
    )
    group.add_argument('--all', action='store_true', help='All nodes that you may see')
    return group


def selected(parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the nodes that the options select, as a part of a request: {'nodes': …} or {'where': …}.

    :raises exceptions.CommandError: an option is not of the form key=value, or a key is repeated.
    """
    if parsed.nodes:
        return {'nodes': parsed.nodes}
    where: dict[str, Any] = {}
    for name, value in pairs('--where', parsed.where or ()):
        if name in _REPEATABLE:
            where.setdefault(name, []).append(value.split(','))
        elif name in where:
            raise exceptions.CommandError(f'--where names {name} twice')
        else:
            where[name] = value
    return {'where': where}


def pairs(option: str, values: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Generate (key, value) of the values of an option.

    :raises exceptions.CommandError: a value is not of the form key=value.
    """
    for value in values:
        key, equals, rest = value.partition('=')
        if not (key and equals):
            raise exceptions.CommandError(f"{option} expects key=value, not '{value}'")
        yield key, rest


def is_confirmed(parsed: argparse.Namespace, question: str, verb: str) -> bool:
    """Whether the user confirms a change.

    :param question: the question to print. It is skipped if the option ``yes`` is set.
    :param verb: what the command does, such as 'edit'.
    :raises exceptions.CommandError: there is no terminal to ask at, and no --yes.
    """
    if parsed.yes:
        return True
    if not sys.stdin.isatty():
        raise exceptions.CommandError(f'Nothing changed: stdin is not a terminal. Use --yes to {verb} without asking.')
    try:
        reply = input(f'{question} [y/N] ')
    except EOFError:
        reply = ''
    if reply.strip().lower() in ('y', 'yes'):
        return True
    print('Nothing changed.')
    return False
