"""A program in its own terminal, as in an interactive shell."""

import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import termios
import threading
import time

BIN = pathlib.Path(sys.executable).parent
CTRL_C = b'\x03'
#: Index of the local modes in the result of termios.tcgetattr.
_LOCAL_MODES = 3


class Terminal:
    """A program whose controlling terminal is a pseudo-terminal.

    :param program: name of one of our commands.
    :param arguments: its arguments.
    :ivar process: subprocess.Popen.
    """

    def __init__(self, program, *arguments, cwd, **environment):
        self._ours, theirs = pty.openpty()
        # Otherwise Ctrl-C drops output that this process has not read yet.
        attributes = termios.tcgetattr(theirs)
        attributes[_LOCAL_MODES] |= termios.NOFLSH
        termios.tcsetattr(theirs, termios.TCSANOW, attributes)
        self._printed = bytearray()
        self.process = subprocess.Popen(
            [BIN / program, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env=os.environ | environment,
            preexec_fn=_take_terminal,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(10)
        os.close(self._ours)

    def press(self, keys=CTRL_C):
        """Press keys."""
        os.write(self._ours, keys)

    def printed(self):
        """Return the text on the terminal."""
        return self._printed.decode().replace('\r\n', '\n')

    def wait_for(self, text, seconds=60):
        """Wait until a text is on the terminal."""
        self.wait_until(lambda: text in self.printed(), seconds)

    def wait_until(self, condition, seconds=60):
        """Wait until a condition holds.

        :param condition: function without arguments.
        :raises RuntimeError: the program ends first, or the time is over.
        """
        deadline = time.monotonic() + seconds
        while not condition():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(self.printed())
            time.sleep(0.01)

    def is_reading(self):
        """Whether the program waits for a key."""
        # The current system call and its first argument, a file descriptor.  read is 0 on x86_64, and 63 on aarch64.
        return pathlib.Path(f'/proc/{self.process.pid}/syscall').read_text().split()[:2] in (
            ['0', '0x0'],
            ['63', '0x0'],
        )

    def end(self, seconds=25):
        """Wait until the program ends, and return its exit code."""
        code = self.process.wait(seconds)
        self._reader.join(10)
        return code

    def _read(self):
        try:
            while part := os.read(self._ours, 65536):
                self._printed += part
        except OSError:
            # All processes of this terminal have ended.
            return


def _take_terminal():
    # A shell starts background programs with SIGINT ignored, and their children inherit that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.setsid()
    # Opening the terminal makes it the controlling terminal of the new session.
    os.close(os.open(os.ttyname(0), os.O_RDWR))


def descendants(pid):
    """Return the pids of all descendants of a process."""
    parents = {}
    for entry in pathlib.Path('/proc').iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / 'stat').read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(')')[2].split()[1])
    pids, generation = set(), {pid}
    while generation:
        generation = {child for child, parent in parents.items() if parent in generation}
        pids |= generation
    return pids


def is_running(pid):
    """Whether a process exists and is not a zombie."""
    try:
        stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
    except OSError:
        return False
    return stat.rpartition(')')[2].split()[0] != 'Z'


def has_imported(pid, extension):
    """Whether a process has loaded an extension module."""
    try:
        return bool(re.search(rf'/{extension}\.', pathlib.Path(f'/proc/{pid}/maps').read_text()))
    except OSError:
        return False
