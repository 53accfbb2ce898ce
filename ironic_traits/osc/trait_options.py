"""Options that take traits: lists, repeated options and commas all work, also mixed."""

import argparse

from osc_lib import exceptions
from oslo_utils import uuidutils


def split(values):
    """Return the names in a list of arguments, each of which may have several joined by commas."""
    return [name for value in values for name in value.split(',') if name]


class Names(argparse.Action):
    """Collects names of all times that an option is there, into one list."""

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), *split(values)])


class Groups(argparse.Action):
    """Collects names of each time that an option is there, into a list of lists."""

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), split(values)])


def add(parser, *options, help, action=Names):
    """Add an option that takes traits.

    :param options: its spellings.
    :param help: what it does; None to hide it.
    :param action: Names, or Groups.
    """
    shown = argparse.SUPPRESS if help is None else f'{help} (a list, joined by commas, or repeated)'
    parser.add_argument(*options, metavar='<trait>', nargs='+', action=action, default=[], help=shown)


def take_uuid(*lists):
    """Take the uuid out of lists of traits: an option takes a positional argument behind it for a trait.

    :returns: the uuid; None for none.
    """
    for names in lists:
        for name in names:
            if uuidutils.is_uuid_like(name):
                names.remove(name)
                return name
    return None


def check_groups(groups, option, several):
    """Check that repeated options of which each means "one of these" are not ambiguous.

    :param groups: what ``Groups`` collected.
    :param several: whether several groups can be asked for, each with a trait of its own.
    :raises exceptions.CommandError: they are.
    """
    sizes = {len(group) > 1 for group in groups}
    if len(groups) > 1 and (False in sizes if several else True in sizes):
        meant = f"'{option} A B' is one of both"
        also = f"; '{option} A B {option} C D' is one of the first two, and one of the others" if several else ''
        raise exceptions.CommandError(f'{option} is there several times: {meant}{also}.')
