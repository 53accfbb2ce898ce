"""The base classes of the commands: control characters in what a command prints are escaped."""

import argparse
import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from cliff import hooks
from osc_lib import exceptions
from osc_lib.command import command

from ironic_traits import printing
from ironic_traits.client import Failed

#: The columns and the rows of a list.
Table = tuple[Sequence[str], Iterable[Sequence[Any]]]
#: The names and the values of the fields of one object.
Row = tuple[Sequence[str], Sequence[Any]]


def labels(names: Iterable[str]) -> tuple[str, ...]:
    """Return the heads of columns."""
    heads = (name.replace('_', ' ').capitalize() for name in names)
    return tuple(head.replace('uuid', 'UUID').replace('Uuid', 'UUID') for head in heads)


@contextlib.contextmanager
def failures(hint: str) -> Iterator[None]:
    """Turn failures of the service into errors of the command, with a hint if the preview of the request is outdated.

    :raises osc_lib.exceptions.CommandError: the service has refused a request.
    """
    try:
        yield
    except Failed as failed:
        raise exceptions.CommandError(f'{failed} {hint}' if failed.digest else str(failed)) from failed


def delete(what: str, idents: Iterable[str], delete_one: Callable[[str], None]) -> None:
    """Delete each of several objects, also after one could not be deleted.

    :raises osc_lib.exceptions.CommandError: some could not be deleted.
    """
    problems = []
    for ident in idents:
        try:
            delete_one(ident)
            print(f'Deleted {what} {ident}')
        except (Failed, ValueError) as error:
            problems.append(f'Failed to delete {what} {ident}: {error}')
    if problems:
        raise exceptions.CommandError('\n'.join(problems))


class _Escaping:
    """A command that prints names, messages and facts of others."""

    app: Any

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the command line."""
        parser = super().get_parser(prog_name)  # type: ignore[misc]
        self.add_arguments(parser)
        return parser

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments and options of the command."""

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command."""
        _escape_output(self.app)
        return super().run(parsed_args)  # type: ignore[misc]


class Command(_Escaping, command.Command):
    """A command that prints texts."""


class Lister(_Escaping, command.Lister):
    """A command that prints a list."""


class ShowOne(_Escaping, command.ShowOne):
    """A command that prints one object."""


class OptionsHook(hooks.CommandHook):
    """Options of another project's command."""

    @property
    def app(self) -> Any:
        """The cliff application."""
        return self.cmd.app

    def get_epilog(self) -> str:
        return ''

    def before(self, parsed_args: argparse.Namespace) -> argparse.Namespace:
        _escape_output(self.app)
        return parsed_args

    def after(self, parsed_args: argparse.Namespace, return_code: Any) -> Any:
        return return_code


def _escape_output(app: Any) -> None:
    """Escape control characters in all that a client prints from now on: tables, and the messages of failures."""
    printing.escape_output()
    app.stdout, app.stderr = printing.escaped(app.stdout), printing.escaped(app.stderr)
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setStream(printing.escaped(handler.stream))
