"""Frozen servers: their connections stay open, but they do not respond."""

import contextlib
import os
import pathlib
import signal
import time


def freeze(parent):
    """Stop a process and its children, and wait until they are stopped.

    :param parent: pid.
    """
    pids = signal_all(parent, signal.SIGSTOP)
    deadline = time.monotonic() + 30
    # A thread on another processor stops a moment later, and could still respond.
    while not all(state == 'T' for pid in pids for state in _states(pid)):
        assert time.monotonic() < deadline
        time.sleep(0.001)


def thaw(parent):
    """Continue a process and its children."""
    signal_all(parent, signal.SIGCONT)


def signal_all(parent, number):
    """Send a signal to a process and its children, and return their pids."""
    pids = [parent, *_children(parent)]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
    return pids


def _children(parent):
    """Return the pids of the children of a process."""
    return [
        int(path.parent.name)
        for path, fields in _read(pathlib.Path('/proc').glob('[0-9]*/stat'))
        if int(fields[1]) == parent
    ]


def _states(pid):
    """Return the states of the threads of a process, such as T for stopped; an empty list if it has ended."""
    stats = _read(pathlib.Path(f'/proc/{pid}/task').glob('*/stat'))
    return [fields[0] for _, fields in stats if fields[0] not in 'ZX']


def _read(paths):
    """Generate (path, fields after the name) of files like /proc/PID/stat."""
    for path in paths:
        with contextlib.suppress(OSError):
            yield path, path.read_text().rpartition(')')[2].split()
