"""The implementation of ironic-traits-api: check the configuration, then serve behind granian.

doc/source/contributor/decisions/granian.rst says why granian.

The application is built once, in the main process. If the configuration is wrong, the command prints one line and ends
before it listens. The processes that answer requests are forks of the main process. The main process has no open
database connection when it forks, because a connection does not survive a fork.
"""

import contextlib
import ctypes
import functools
import multiprocessing.util
import os
import re
import resource
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any
from wsgiref.types import WSGIApplication

import granian
import granian.constants
import granian.log
import sqlalchemy as sa
from granian.server.common import AbstractServer
from oslo_config import cfg

from ironic_traits import app
from ironic_traits.api.layers.request_spans import RequestSpans
from ironic_traits.cmd import setup, supervisor, tracing
from ironic_traits.cmd.server import addresses, banner, console, slow_readers, slow_senders, streaming, unread_bodies
from ironic_traits.conf.mirror import claims_any_nodes
from ironic_traits.service import Service
from ironic_traits.worker import wakeup

#: Maximum number of connections of a process. Further ones wait in the kernel. An idle one takes about 10 KB.
_MAX_CONNECTIONS = 4096
#: Number of spare threads. They refuse requests beyond the limits, and answer health checks.
_SPARE_THREADS = 8
#: The option of mallopt in malloc.h of glibc, and its value in bytes.
_M_MMAP_THRESHOLD, _LARGE_BLOCK = -3, 512 * 1024


def serve(argv: Sequence[str]) -> None:
    """Run the service until SIGINT or SIGTERM; requests in flight are finished first.

    :param argv: command line arguments, without the program's name.
    :raises SystemExit: the service cannot run; the message is one line.
    """
    conf = setup.configuration(argv)
    setup.warn(conf)
    if claims_any_nodes(conf):
        setup.openstacksdk()
    with contextlib.ExitStack() as stack:
        address = stack.enter_context(addresses.reserved(conf))
        setup.schema(conf)
        stack.enter_context(_counting(conf))
        stack.enter_context(_waking(conf))
        with setup.usable():
            service = Service(conf)
            queue = app.build(service, takes_turns=True)
            read = unread_bodies.Unread(streaming.Detached(queue))
            application = slow_senders.Bodies(read, conf.api.slow_body_timeout)
        streaming.provide()
        setup.policy(service)
        stop = _Stop()
        server = _server(conf, address)
        server.on_startup(stop.watch)
        server.on_startup(functools.partial(banner.announce, conf, address))
        if conf.start_worker:
            stack.enter_context(supervisor.Child('ironic_traits.cmd.worker', [*argv, '--port', str(conf.port)]))
        if conf.mirror.clouds and conf.mirror.start_mirror:
            stack.enter_context(supervisor.Child('ironic_traits.cmd.mirror', [*argv, '--port', str(conf.port)]))
        sa.event.listen(sa.Engine, 'commit', lambda connection: queue.end_turn())
        supervisor.separate_forks(queue.is_busy, service.streams.close, tracing.end)

        def load() -> WSGIApplication:
            # Called in each process that answers requests.
            slow_readers.watch(conf.port, conf.api.slow_read_timeout)
            application.watch(conf.port)
            if conf.api.serve == 'all':
                service.node_index.keep(service)
            if not conf.otlp.endpoint:
                return application
            tracing.begin(conf, 'ironic-traits-api')
            multiprocessing.util.Finalize(None, tracing.end, exitpriority=0)
            return RequestSpans(application)

        stop.exit_code(functools.partial(server.serve, target_loader=load, wrap_loader=False))
    console.write('ironic-traits has stopped.\n')
    # A signal that arrives during the interpreter's shutdown would change the exit code.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _server(conf: cfg.ConfigOpts, address: str) -> AbstractServer:
    _raise_limit_of_files()
    _return_freed_memory()
    # Newer Pythons default to a method that would load the application again in each process.
    multiprocessing.set_start_method('fork', force=True)
    # granian warns of more threads than twice the number of processors, and of more processes than processors. Ours
    # mostly wait for I/O and locks. If the database is on another machine, the guide recommends more processes.
    granian.log.logger.addFilter(lambda record: not re.search('Python threads|number of workers', record.getMessage()))
    return granian.Granian(
        'ironic_traits',
        address=address,
        port=conf.port,
        interface=granian.constants.Interfaces.WSGI,
        workers=conf.workers,
        # granian begins and ends threads as they are needed.
        blocking_threads=conf.api.threads + conf.api.max_waiting_requests + _SPARE_THREADS,
        backpressure=_MAX_CONNECTIONS,
        http=granian.constants.HTTPModes.http1,
        websockets=False,
        log_level=granian.log.LogLevels.warning,
        respawn_failed_workers=True,
        # Without this limit, a client that never finishes sending its request would keep the service from stopping.
        workers_kill_timeout=60,
        process_name='ironic-traits-api',
    )


def _return_freed_memory() -> None:
    """Let glibc return large blocks to the system when they are freed. Otherwise each thread keeps those of a body."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)


def _raise_limit_of_files() -> None:
    """Let this process and its children have as many connections as the administrator allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < 2 * _MAX_CONNECTIONS:
        most = 2 * _MAX_CONNECTIONS if hard == resource.RLIM_INFINITY else min(hard, 2 * _MAX_CONNECTIONS)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))


class _Stop:
    """The shutdown of the main process by a signal."""

    def __init__(self) -> None:
        self._requested = False

    def watch(self) -> None:
        """Wrap granian's signal handlers, so that a message is printed first."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, functools.partial(self._handle, signal.getsignal(number)))

    def _handle(self, handler: Any, number: int, frame: FrameType | None) -> None:
        if not self._requested:
            self._requested = True
            console.write('ironic-traits stops after the requests in flight.\n')
        handler(number, frame)

    def exit_code(self, function: Callable[[], object]) -> None:
        """Call a function; after a signal to stop, ignore the SystemExit that it raises.

        granian exits with an error when a child process got the signal as well: it takes the child for failed.
        """
        try:
            function()
        except SystemExit:
            if not self._requested:
                raise


@contextlib.contextmanager
def _waking(conf: cfg.ConfigOpts) -> Iterator[None]:
    """Provide the path of the socket by which requests wake the worker, if a worker is started."""
    if not conf.start_worker:
        yield
        return
    with tempfile.TemporaryDirectory(prefix='ironic-traits-') as folder:
        os.environ[wakeup.ADDRESS] = os.path.join(folder, 'wakeup')
        yield


@contextlib.contextmanager
def _counting(conf: cfg.ConfigOpts) -> Iterator[None]:
    """Provide the folder in which prometheus_client adds up the metrics of all processes, if metrics are enabled."""
    if not conf.metrics.enabled:
        yield
        return
    with tempfile.TemporaryDirectory(prefix='ironic-traits-metrics-') as folder:
        os.environ.setdefault('PROMETHEUS_MULTIPROC_DIR', folder)
        yield
