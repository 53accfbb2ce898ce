"""Options that take traits: as a list, separated by commas, or by repeating the option."""

import argparse

from osc_lib import exceptions
from oslo_utils import uuidutils


def split(values):
    """Return the names in a list of arguments, each of which may have several names separated by commas."""
    return [name for value in values for name in value.split(',') if name]


class Names(argparse.Action):
    """An action that collects the names of all uses of an option in one list."""

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), *split(values)])


class Groups(argparse.Action):
    """An action that collects the names of each use of an option in a list of its own: a list of lists."""

    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), split(values)])


def add(parser, *options, help, action=Names):
    """Add an option that takes traits.

    :param options: option strings, such as '--trait'.
    :param help: help text; None to hide the option.
    :param action: Names, or Groups.
    """
    help_text = argparse.SUPPRESS if help is None else f'{help} (a list, separated by commas, or repeated)'
    parser.add_argument(*options, metavar='<trait>', nargs='+', action=action, default=[], help=help_text)


def take_uuid(*lists):
    """Remove the first uuid from lists of traits: argparse takes a positional argument after an option for a trait.

    :param lists: lists of traits, changed in place.
    :returns: the uuid; None if there is none.
    """
    for names in lists:
        for name in names:
            if uuidutils.is_uuid_like(name):
                names.remove(name)
                return name
    return None


def check_groups(groups, option, several):
    """Raise CommandError if a repeated option that means "one of these" is ambiguous.

    :param groups: lists that ``Groups`` collected.
    :param several: whether a request can have several groups, each of which needs a trait of its own.
    :raises exceptions.CommandError: the options are ambiguous.
    """
    sizes = {len(group) > 1 for group in groups}
    if len(groups) > 1 and (False in sizes if several else True in sizes):
        one = f"write '{option} A B' for A or B"
        two = f", and '{option} A B {option} C D' for (A or B) and (C or D)" if several else ''
        raise exceptions.CommandError(f'Repeating {option} is ambiguous here: {one}{two}.')
