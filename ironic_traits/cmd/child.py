"""A child process that lives as long as its parent, and is started again when it ends before."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading

#: From linux/prctl.h.
_PR_SET_PDEATHSIG = 1
#: Environment variable with the pid of the process that started this one.
_STARTER = 'IRONIC_TRAITS_STARTER'


def end_with(parent):
    """Let the kernel kill this process when its parent is killed.

    Not SIGTERM: whoever is still starting may miss it, and would go on to serve, and to hold the port.

    :param parent: pid of the parent, which may be gone already.
    :raises SystemExit: it is.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit('The process that started this one is gone.')


def end_with_starter():
    """End with the process whose ``Child`` this one is; do nothing when it is nobody's."""
    starter = os.environ.pop(_STARTER, None)
    if starter:
        end_with(int(starter))


class Child:
    """A command, run in a child process for as long as the ``with`` block lasts.

    :param module: the module to run.
    :param argv: its arguments.
    :cvar pause: seconds before it is started again.
    """

    pause = 1

    def __init__(self, module, argv):
        self._command = [sys.executable, '-m', module, *argv]
        self._ended = threading.Event()
        self._process = self._start()
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self):
        self._keeper.start()
        return self

    def __exit__(self, *exception):
        self._ended.set()
        self._process.terminate()
        self._keeper.join()

    def _start(self):
        # Our own interpreter and module; the arguments are those of this process.
        return subprocess.Popen(self._command, env=os.environ | {_STARTER: str(os.getpid())})  # noqa: S603

    def _keep(self):
        while True:
            self._process.wait()
            if self._ended.wait(self.pause):
                return
            self._process = self._start()
            if self._ended.is_set():
                # It was asked to end before there was this one.
                self._process.terminate()
