"""The processes of ironic-traits-api: how they are started, restarted and stopped.

The main process supervises. granian forks the processes that answer requests. ``Child`` starts ironic-traits-worker and
ironic-traits-mirror, which are separate programs. A terminal sends Ctrl-C to every process of its foreground group.
systemd and ``pkill`` send SIGTERM to several processes, too. So each child process

- is in its own process group: only the main process gets the terminal's signals, and it stops the others;
- stops cleanly no matter how early or how often it is signalled (``_stop_on_signal``);
- is killed by the kernel when the main process is killed (``end_with``).

doc/source/contributor/decisions/granian.rst says why this is not cotyledon, which several OpenStack services use.
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
from collections.abc import Callable, Sequence
from typing import Self

LOG = logging.getLogger(__name__)

#: From linux/prctl.h.
_PR_SET_PDEATHSIG = 1
#: Environment variable with the pid of the process that started this one.
_STARTER = 'IRONIC_TRAITS_STARTER'
#: Environment variable with the command line arguments of a ``Child``, as JSON.
_ARGUMENTS = 'IRONIC_TRAITS_ARGUMENTS'
#: Environment variable with the module path of a ``Child``, as JSON.
_PATH = 'IRONIC_TRAITS_PATH'
#: What a ``Child`` runs: the module of its argument. ``-m`` would search in the path of a new interpreter, which lacks
#: what a program in one file has unpacked.
_RUN = (
    f'import json, os, runpy, sys; sys.path[:] = json.loads(os.environ.pop("{_PATH}")); '
    'runpy.run_module(sys.argv[1], run_name="__main__", alter_sys=True)'
)
_SIGNALS = frozenset({signal.SIGINT, signal.SIGTERM})
#: Seconds that a web server without requests has to end after a signal.
GRACE = 2


def end_with(parent: int) -> None:
    """Let the kernel kill this process when its parent ends.

    The signal is SIGKILL, because a process that is still starting may miss SIGTERM. It would then keep the port.

    :param parent: pid of the parent. If the parent has ended already, this process exits.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def is_supervised() -> bool:
    """Whether this process is a ``Child``. Call it before ``arguments``, which removes the environment variable."""
    return _STARTER in os.environ


def arguments() -> list[str]:
    """Return the command line arguments of this process, and tie it to its parent if it is a ``Child``.

    It removes the two environment variables, so that programs that this process starts do not inherit them.
    """
    starter, argv = os.environ.pop(_STARTER, None), os.environ.pop(_ARGUMENTS, None)
    if starter:
        end_with(int(starter))
    return sys.argv[1:] if argv is None else json.loads(argv)


def separate_forks(
    is_busy: Callable[[], bool],
    close: Callable[[], object] = lambda: None,
    end: Callable[[], object] = lambda: None,
) -> None:
    """Register fork hooks, so that later forks of this process behave as the module's docstring says.

    :param is_busy: function without arguments; whether the fork answers requests at the moment.
    :param close: function without arguments. A fork calls it when it stops, to end streams.
    :param end: function without arguments. A fork calls it when it has answered its last request.
    """
    supervisor, separated = os.getpid(), False

    def prepare() -> None:
        if os.getpid() == supervisor:
            # A signal that arrives during the fork stays pending until the child has its own handling.
            signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)

    def resume() -> None:
        if os.getpid() == supervisor:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

    def separate() -> None:
        nonlocal separated
        if separated:
            # A grandchild.
            return
        separated = True
        os.setpgid(0, 0)
        end_with(supervisor)
        for number in _SIGNALS:
            # Drop the handlers inherited from the supervisor.
            signal.signal(number, signal.SIG_DFL)
        threading.Thread(target=_stop_on_signal, args=(is_busy, close, end), daemon=True).start()

    os.register_at_fork(before=prepare, after_in_parent=resume, after_in_child=separate)


def _stop_on_signal(is_busy: Callable[[], bool], close: Callable[[], object], end: Callable[[], object]) -> None:
    """Wait for the first signal to stop, and call the handler that the web server has installed by then.

    The signals stay blocked in all threads of the process: a granian worker that is signalled twice may never end. One
    that is signalled just before it serves misses the signal. This function ends it when it has no requests.
    """
    number = signal.sigwait(_SIGNALS)
    close()
    handler = signal.getsignal(number)
    # Without a handler the web server has not started, and no request is in flight.
    if callable(handler):
        handler(number, None)
        time.sleep(GRACE)
        while is_busy():
            time.sleep(0.1)
    end()
    os._exit(0)


class Child:
    """A program that runs while the ``with`` block lasts, and is restarted when it ends earlier.

    Its arguments are passed in the environment. They may include a database URL with a password, and every user of the
    machine can see command lines.

    :param module: the module to run.
    :param argv: its arguments.
    :cvar pause: seconds before a restart; doubled each time that the program ends soon after its start.
    :cvar max_pause: maximum number of seconds before a restart.
    """

    pause = 1
    max_pause = 30

    def __init__(self, module: str, argv: Sequence[str]) -> None:
        # -P, and no empty entry in the path, because modules in the current directory must not shadow ours.
        self._command = [sys.executable, '-P', '-c', _RUN, module]
        path = json.dumps([entry for entry in sys.path if entry])
        self._environment = os.environ | {_STARTER: str(os.getpid()), _ARGUMENTS: json.dumps(argv), _PATH: path}
        self._ended = threading.Event()
        self._process = self._start()
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Self:
        self._keeper.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._process.terminate()
        self._keeper.join()

    def _start(self) -> subprocess.Popen[bytes]:
        # Safe: the command is our own interpreter and module.
        return subprocess.Popen(self._command, env=self._environment, process_group=0)  # noqa: S603

    def _keep(self) -> None:
        pause: float | None = self.pause
        while pause is not None:
            started = time.monotonic()
            status = self._process.wait()
            if time.monotonic() - started > self.max_pause:
                pause = self.pause
            if not self._ended.is_set():
                LOG.warning('%s ended with status %s; restarting it', self._command[-1], status)
            pause = self._restart(pause)

    def _restart(self, pause: float) -> float | None:
        """Start the program again after a pause, as soon as the system can start it.

        :param pause: seconds.
        :returns: the pause before the next restart; None if the ``with`` block has ended.
        """
        while not self._ended.wait(pause):
            pause = min(2 * pause, self.max_pause)
            try:
                self._process = self._start()
            except OSError as error:
                # For example, there is no memory for another process, or an upgrade is replacing the interpreter.
                LOG.error('%s cannot be started: %s; trying again', self._command[-1], error)
                continue
            if self._ended.is_set():
                # ``__exit__`` ran before this process was in ``_process``, and terminated the previous one.
                self._process.terminate()
            return pause
        return None
