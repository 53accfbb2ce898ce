"""How every command begins and ends.

The modules that do the work take a second to import.  The modules named in ``[options.entry_points]`` import only this
one, so that Ctrl-C ends a command with one line from the very beginning.
"""

import contextlib
import pkgutil
import signal
import sys

#: Exit code of a command that Ctrl-C ended, as a shell expects it.
INTERRUPTED = 128 + signal.SIGINT


def run(program, function, *arguments):
    """Import a function and call it.

    :param program: name of the command, for messages.
    :param function: where the function is, ``package.module:name``.
    :raises SystemExit: Ctrl-C was pressed.
    """
    with ended_by_interrupt(program):
        pkgutil.resolve_name(function)(*arguments)


@contextlib.contextmanager
def ended_by_interrupt(program):
    """End the process with one line when Ctrl-C is pressed in the block.

    :param program: name of the command, for the line.
    :raises SystemExit: Ctrl-C was pressed.
    """
    try:
        yield
    except KeyboardInterrupt:
        # A second Ctrl-C must not interrupt the end.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.stderr.write(f'{program}: interrupted\n')
        raise SystemExit(INTERRUPTED) from None
