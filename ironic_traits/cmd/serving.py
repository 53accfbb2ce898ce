"""What ironic-traits-api does: check everything, then serve behind granian (benchmarks/README.rst says why granian).

The application is built once, in the main process: whatever is wrong with the configuration ends the command with one
line before anything listens.  The processes that answer requests are forks of it.  No connection to the database is
open by then: it would not survive the fork.
"""

import contextlib
import functools
import multiprocessing
import os
import signal
import tempfile

import granian
import granian.constants
import granian.log

from ironic_traits import app, wakeup
from ironic_traits.cmd import addresses, banner, setup, supervisor


def serve(argv):
    """Run the service until it is told to stop; requests in flight are finished first.

    :param argv: command line arguments, without the program's name.
    :raises SystemExit: it cannot run; the reason in one line.
    """
    conf = setup.configuration(argv)
    setup.warn(conf)
    with contextlib.ExitStack() as stack:
        address = stack.enter_context(addresses.reserved(conf))
        setup.schema(conf)
        stack.enter_context(_counting(conf))
        stack.enter_context(_waking(conf))
        with setup.usable():
            application = app.build(conf)
        setup.policy(application.service)
        stop = _Stop()
        server = _server(conf, address)
        server.on_startup(stop.watch)
        server.on_startup(functools.partial(banner.announce, conf, address))
        if conf.start_worker:
            stack.enter_context(supervisor.Child('ironic_traits.cmd.worker', [*argv, '--port', str(conf.port)]))
        supervisor.separate_forks()
        stop.exit_code(functools.partial(server.serve, target_loader=lambda: application, wrap_loader=False))
    print('ironic-traits has stopped.', flush=True)
    # A signal that comes while the interpreter ends would change the exit code.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _server(conf, address):
    # The default of newer Pythons would load the application anew in each process.
    multiprocessing.set_start_method('fork', force=True)
    # It warns of more threads than twice the processors.  Most of ours wait: for locks, bodies and databases.
    granian.log.logger.addFilter(lambda record: 'Python threads' not in record.getMessage())
    return granian.Granian(
        'ironic_traits',
        address=address,
        port=conf.port,
        interface=granian.constants.Interfaces.WSGI,
        workers=conf.workers,
        blocking_threads=conf.api.threads,
        http=granian.constants.HTTPModes.http1,
        websockets=False,
        log_level=granian.log.LogLevels.warning,
        respawn_failed_workers=True,
        # A client that sends its request and never ends it does not keep the service from stopping.
        workers_kill_timeout=60,
        process_name='ironic-traits-api',
    )


class _Stop:
    """What happens when the main process is told to stop."""

    def __init__(self):
        self._requested = False

    def watch(self):
        """Take note of the signals before granian's handlers of them."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, functools.partial(self._handle, signal.getsignal(number)))

    def _handle(self, handler, number, frame):
        if not self._requested:
            self._requested = True
            # Not print: what is interrupted may be printing.
            os.write(1, b'ironic-traits stops when the requests in flight are answered.\n')
        handler(number, frame)

    def exit_code(self, function):
        """Call a function; when it was told to stop, it is no failure that a child process ended with it.

        granian takes a child that got the signal, too, for one that failed.
        """
        try:
            function()
        except SystemExit:
            if not self._requested:
                raise


@contextlib.contextmanager
def _waking(conf):
    """Provide the socket by which requests wake the worker, when one is started."""
    if not conf.start_worker:
        yield
        return
    with tempfile.TemporaryDirectory(prefix='ironic-traits-') as folder:
        os.environ[wakeup.ADDRESS] = os.path.join(folder, 'wakeup')
        yield


@contextlib.contextmanager
def _counting(conf):
    """Provide a folder in which the metrics of all processes add up, when metrics are enabled."""
    if not conf.metrics.enabled:
        yield
        return
    with tempfile.TemporaryDirectory(prefix='ironic-traits-metrics-') as folder:
        os.environ.setdefault('PROMETHEUS_MULTIPROC_DIR', folder)
        yield
