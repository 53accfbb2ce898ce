"""The options for nodes relative to each other, such as all in one rack. Several commands share them."""

import argparse
from functools import partial
from typing import Any

from osc_lib import exceptions

from ironic_traits.osc.option_types import nonempty

#: {option: (policy for its key, help text)}.
_POLICIES = {
    '--same': ('affinity', 'Choose nodes that are all in one group of this key'),
    '--spread': ('anti-affinity', 'Choose nodes of which no two are in one group of this key'),
    '--prefer-same': ('soft-affinity', 'Choose nodes that are in as few groups of this key as possible'),
    '--prefer-spread': ('soft-anti-affinity', 'Choose as few nodes as possible from each group of this key'),
}
_TOGETHER = ('affinity', 'soft-affinity')
#: {option that needs a key: its attribute of the parsed arguments}.
_DESTINATIONS = {'--max-per-group': 'max_per_group', '--pack': 'pack', '--relative-to': 'relative_to'}


def add_options(parser: argparse.ArgumentParser, counted: bool = False) -> None:
    """Add the options to a command's parser.

    :param counted: whether the command has an option for the number of nodes, too.
    """
    if counted:
        parser.add_argument('--count', metavar='<number>', type=int, help='Number of nodes to choose at once')
    for option, (policy, text) in _POLICIES.items():
        parser.add_argument(
            option,
            metavar='<key>',
            action='append',
            dest='topology',
            default=[],
            type=partial(_item, policy),
            help=f'{text}: trait:PREFIX, or a field such as chassis_uuid or properties/rack (repeat for more)',
        )
    parser.add_argument(
        '--max-per-group',
        metavar='<number>',
        type=int,
        help='Maximum number of nodes in a group, for the keys of --spread and --prefer-spread, or else for all keys',
    )
    parser.add_argument(
        '--pack',
        action='store_const',
        const='fullest',
        help='Prefer the fullest groups, for the keys of --same and --prefer-same, or else for all keys',
    )
    parser.add_argument(
        '--relative-to',
        metavar='<instance>',
        nargs='+',
        action='extend',
        type=nonempty,
        help='UUIDs of instances whose nodes count as chosen, too',
    )


def used(parsed: argparse.Namespace) -> list[str]:
    """Return the options that the user has set, such as ['--same', '--pack']."""
    policies = {item['policy'] for item in parsed.topology}
    destinations = _DESTINATIONS | {'--count': 'count'}
    return [option for option, (policy, _) in _POLICIES.items() if policy in policies] + [
        option for option, dest in destinations.items() if getattr(parsed, dest, None) is not None
    ]


def request(parsed: argparse.Namespace) -> dict[str, Any]:
    """Return what the options add to the body of a request.

    :raises osc_lib.exceptions.CommandError: an option needs a key.
    """
    superfluous = [] if parsed.topology else [option for option in used(parsed) if option in _DESTINATIONS]
    if superfluous:
        raise exceptions.CommandError(
            f'Use {" and ".join(superfluous)} together with a key: --same, --spread, --prefer-same or --prefer-spread.'
        )
    topology = [dict(item) for item in parsed.topology]
    for name, value, together in (('max_per_group', parsed.max_per_group, False), ('prefer', parsed.pack, True)):
        chosen = [item for item in topology if (item['policy'] in _TOGETHER) is together] or topology
        for item in chosen if value is not None else ():
            item[name] = value
    body = {'topology': topology or None, 'relative_to': parsed.relative_to, 'count': getattr(parsed, 'count', None)}
    return {name: value for name, value in body.items() if value is not None}


def _item(policy: str, key: str) -> dict[str, Any]:
    return {'key': nonempty(key), 'policy': policy}


def same(key: str) -> dict[str, Any]:
    """Return the policy of nodes that are all in one group of a key: a type of an option."""
    return _item('affinity', key)
