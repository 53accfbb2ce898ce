"""Options that take traits: as a list, separated by commas, or by repeating the option."""

import argparse
from collections.abc import Collection, Sequence
from typing import Any

from osc_lib import exceptions
from oslo_utils import uuidutils


def split(values: Sequence[str]) -> list[str]:
    """Return the names in a list of arguments, each of which may have several names separated by commas.

    :raises ValueError: an argument has no name, usually because a shell variable is not set.
    """
    lists = [[name for name in value.split(',') if name] for value in values]
    if not all(lists):
        raise ValueError(f"'{values[lists.index([])]}' names no trait")
    return [name for names in lists for name in names]


def required(values: Sequence[str], message: str) -> list[str]:
    """Return the names in the arguments of a command, which must have at least one.

    :param values: arguments as for ``split``.
    :param message: what the user should do, a sentence.
    :raises exceptions.CommandError: there are no arguments, or one of them has no name.
    """
    try:
        names = split(values)
    except ValueError as error:
        raise exceptions.CommandError(f'{message} ({error})') from error
    if not names:
        raise exceptions.CommandError(message)
    return names


class Names(argparse.Action):
    """An action that collects the names of all uses of an option in one list."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        try:
            names = self.collect(split(values))
        except ValueError as error:
            raise argparse.ArgumentError(self, str(error)) from error
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), *names])

    def collect(self, names: list[str]) -> list[Any]:
        """Return what one use of the option adds."""
        return names


class Groups(Names):
    """An action that collects the names of each use of an option in a separate list: a list of lists."""

    def collect(self, names: list[str]) -> list[Any]:
        return [names]


def add(parser: argparse.ArgumentParser, *options: str, help: str | None, action: type[Names] = Names) -> None:
    """Add an option that takes traits.

    :param options: option strings, such as '--trait'.
    :param help: help text; None to hide the option.
    :param action: Names, or Groups.
    """
    help_text = argparse.SUPPRESS if help is None else f'{help} (a list, separated by commas, or repeated)'
    parser.add_argument(*options, metavar='<trait>', nargs='+', action=action, default=[], help=help_text)


def take_uuids(*lists: list[str]) -> list[str]:
    """Remove the uuids from lists of traits, and return them.

    argparse takes positional arguments after a list of traits for more traits.

    :param lists: lists of traits, changed in place.
    """
    uuids = [name for names in lists for name in names if uuidutils.is_uuid_like(name)]
    for names in lists:
        names[:] = [name for name in names if name not in uuids]
    return uuids


def check_groups(groups: Sequence[Collection[str]], option: str, several: bool) -> None:
    """Raise CommandError if a repeated option that means "one of these" is ambiguous.

    :param groups: lists that ``Groups`` collected.
    :param several: whether a request can have several groups. A node then needs a trait of each group.
    :raises exceptions.CommandError: the options are ambiguous.
    """
    sizes = {len(group) > 1 for group in groups}
    if len(groups) > 1 and (False in sizes if several else True in sizes):
        one = f"write '{option} A B' for A or B"
        two = f", and '{option} A B {option} C D' for (A or B) and (C or D)" if several else ''
        raise exceptions.CommandError(f'Repeating {option} is ambiguous here: {one}{two}.')
