"""The start and the end of every command.

The modules that do the work take a second to import. The modules in ``[options.entry_points]`` import only this one, so
that Ctrl-C during those imports also prints one line and no traceback.
"""

import contextlib
import gc
import pkgutil
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ironic_traits.printing import escape_output

#: Exit code of a command that Ctrl-C ended, as shells expect it.
INTERRUPTED = 128 + signal.SIGINT


def run(program: str, function: str, *arguments: Any) -> None:
    """Import a function and call it. Control characters in what it prints are escaped.

    :param program: name of the command, for messages.
    :param function: its location, ``package.module:name``.
    :param arguments: positional arguments of the function.
    :raises SystemExit: Ctrl-C was pressed.
    """
    escape_output()
    with ended_by_interrupt(program):
        _resolve(function)(*arguments)


def _resolve(function: str) -> Callable[..., Any]:
    """Import a function by its location, without the garbage collector.

    During the imports, the garbage collector would run many times and free nothing, because the imported objects stay.
    Afterwards these objects are frozen: later runs of the collector skip them.
    """
    gc.disable()
    try:
        return pkgutil.resolve_name(function)
    finally:
        gc.freeze()
        gc.enable()


@contextlib.contextmanager
def ended_by_interrupt(program: str) -> Iterator[None]:
    """End the process with one line when Ctrl-C is pressed in the block.

    :param program: name of the command, for the line.
    :raises SystemExit: Ctrl-C was pressed.
    """
    try:
        yield
    except KeyboardInterrupt:
        # A second Ctrl-C must not interrupt the cleanup.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.stderr.write(f'{program}: interrupted\n')
        raise SystemExit(INTERRUPTED) from None
