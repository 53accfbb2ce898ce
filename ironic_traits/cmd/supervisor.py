"""The processes of ironic-traits-api: how they are started, kept running, and stopped.

The main process supervises: granian starts the processes that answer requests (forks), ``Child`` starts the
ironic-traits-worker (a program of its own).  A terminal sends Ctrl-C to every process of its foreground group, systemd
and ``pkill`` send SIGTERM to several processes, too.  So each child process

- is in a process group of its own: only the main process gets the terminal's signals, and tells the others to stop;
- ends however often, and however early, it is told to (``_end_when_told``);
- is killed by the kernel when the main process is killed (``end_with``).

Why not cotyledon, which several OpenStack services use for this (2.2.0 was tried): it runs a service in a thread beside
the main thread, where neither granian nor our worker can work, as both need signal handlers of their own (granian for
SIGTERM, the worker for SIGALRM, which ends a driver that hangs, and which cotyledon uses itself).  And it answers
Ctrl-C by exiting at once with code 1, in the middle of requests.  A reload by SIGHUP, which it has and this module has
not, granian does for the processes that answer requests.
"""

import contextlib
import ctypes
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time

LOG = logging.getLogger(__name__)

#: From linux/prctl.h.
_PR_SET_PDEATHSIG = 1
#: Environment variable with the pid of the process that started this one.
_STARTER = 'IRONIC_TRAITS_STARTER'
#: Environment variable with the command line arguments of a ``Child``, as JSON.
_ARGUMENTS = 'IRONIC_TRAITS_ARGUMENTS'
_SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM})


def end_with(parent):
    """Have the kernel kill this process when its parent ends.

    SIGKILL, because a process that is still starting may miss SIGTERM: it would go on to serve, and to hold the port.

    :param parent: pid of the parent.  When that has ended already, this process ends, too.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def is_supervised():
    """Whether this process is a ``Child``; to be asked before ``arguments``."""
    return _STARTER in os.environ


def arguments():
    """Return the command line arguments of this process, and tie it to its parent if it is a ``Child``.

    Removes both from the environment, so that programs started from here do not inherit them.
    """
    starter, argv = os.environ.pop(_STARTER, None), os.environ.pop(_ARGUMENTS, None)
    if starter:
        end_with(int(starter))
    return sys.argv[1:] if argv is None else json.loads(argv)


def separate_forks():
    """Make every process that this one forks from now on a child as the module's docstring says."""
    supervisor, separated = os.getpid(), False

    def prepare():
        if os.getpid() == supervisor:
            # A signal that comes in between waits until the child has its own handling.
            signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)

    def resume():
        if os.getpid() == supervisor:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

    def separate():
        nonlocal separated
        if separated:
            # A child of a child.
            return
        separated = True
        os.setpgid(0, 0)
        end_with(supervisor)
        for number in _SIGNALS:
            # Not the handlers of the supervisor.
            signal.signal(number, signal.SIG_DFL)
        threading.Thread(target=_end_when_told, daemon=True).start()

    os.register_at_fork(before=prepare, after_in_parent=resume, after_in_child=separate)


def _end_when_told():
    """Wait for the first signal to stop, and pass it to the handler that the web server has installed by then.

    The signals stay blocked in all threads of the process: a granian worker that is signalled while it starts misses
    the signal, and one that is signalled twice may never end.
    """
    number = signal.sigwait(_SIGNALS)
    handler = signal.getsignal(number)
    if callable(handler):
        handler(number, None)
    else:
        # Nothing is served yet.
        os._exit(0)


class Child:
    """A program that runs for as long as the ``with`` block lasts, and is started again when it ends before.

    Its arguments are passed in the environment: a database URL with a password among them would be visible to every
    user of the machine on the command line.

    :param module: the module to run.
    :param argv: its arguments.
    :cvar pause: seconds before it is started again.
    :cvar max_pause: the same for a program that ended right after it had started, time and again.
    """

    pause = 1
    max_pause = 30

    def __init__(self, module, argv):
        # -P: modules of the current directory are none of ours.
        self._command = [sys.executable, '-P', '-m', module]
        self._environment = os.environ | {_STARTER: str(os.getpid()), _ARGUMENTS: json.dumps(argv)}
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
        # Our own interpreter and module.
        return subprocess.Popen(self._command, env=self._environment, process_group=0)  # noqa: S603

    def _keep(self):
        pause = self.pause
        while True:
            started = time.monotonic()
            status = self._process.wait()
            if time.monotonic() - started > self.max_pause:
                pause = self.pause
            if not self._ended.is_set():
                LOG.warning('%s ended with status %s and is started again', self._command[-1], status)
            if self._ended.wait(pause):
                return
            pause = min(2 * pause, self.max_pause)
            self._process = self._start()
            if self._ended.is_set():
                # The block ended before this process was known to ``__exit__``.
                self._process.terminate()
