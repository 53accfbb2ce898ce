"""The service for tests: its configuration, its application in this process, or a running server."""

import collections
import contextlib
import functools
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from sqlalchemy import make_url

from ironic_traits import app, conf
from ironic_traits.db import migrations
from ironic_traits.db.engine import Database
from ironic_traits.inventory.provisioning import transitions
from ironic_traits.service import Service
from ironic_traits.worker.performer import Performer, RunningTransition
from ironic_traits.worker.worker import Worker
from tests.support import commands, logs
from tests.support.servers import free_port


def make_conf(url, *arguments, **options):
    """Return the configuration for a database.

    :param url: URL of the database.
    :param arguments: more command line arguments.
    :param options: {option: value}; ``group__name`` for options of a group.
    """
    settings = conf.make(['--database', url, *arguments])
    for option, value in options.items():
        group, _, name = option.rpartition('__')
        settings.set_override(name, value, group=group or None)
    return settings


def upgraded(url):
    """Upgrade a database to the newest schema, and return its URL.

    A new SQLite database is a copy of one that was upgraded, because the migrations take half a second.
    """
    path = make_url(url).database
    if url.startswith('sqlite:///') and path and not os.path.exists(path):
        pathlib.Path(path).write_bytes(_empty_database())
    else:
        _migrate(url)
    return url


def _migrate(url):
    with contextlib.closing(Database(make_conf(url))) as database:
        migrations.upgrade(database)


@functools.cache
def _empty_database():
    """Return the content of a SQLite file with the newest schema and no nodes."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, 'empty.sqlite')
        _migrate(f'sqlite:///{path}')
        return path.read_bytes()


class Application:
    """The WSGI application with its Service.

    :param service: ironic_traits.service.Service.
    """

    def __init__(self, service):
        self.service = service
        self._wsgi = app.build(service)

    def __call__(self, environ, start_response):
        return self._wsgi(environ, start_response)


@contextlib.contextmanager
def make_app(url, *arguments, **options):
    """Provide an Application with a database; the arguments are those of ``make_conf``."""
    with _configuration(url, *arguments, **options) as settings:
        if settings.metrics.enabled:
            # Metrics attach counters to the connections.
            with contextlib.closing(Database(settings)) as opened:
                yield Application(Service(settings, opened))
            return
        # The statements of a Database depend on these.
        groups = ('database__', 'matching__')
        of_database = {name: value for name, value in options.items() if name.startswith(groups)}
        with database(url, **of_database) as opened:
            yield Application(Service(settings, opened))


#: {(URL, options) as text: [configuration that is not in use, …]}.
_IDLE_CONFIGURATIONS = collections.defaultdict(list)


@contextlib.contextmanager
def _configuration(url, *arguments, **options):
    """Provide a configuration that no other code uses. The arguments are those of ``make_conf``.

    Later tests use it again, with its original options, because creating one takes half the time of a small test.
    With command line arguments, it is always a new one, because they may name a file.
    """
    if arguments:
        yield make_conf(url, *arguments, **options)
        return
    idle = _IDLE_CONFIGURATIONS[repr((url, sorted(options.items())))]
    settings = idle.pop() if idle else make_conf(url, **options)
    changed = {}

    def set_override(name, value, group=None):
        """Set an option, and remember the old value."""
        changed.setdefault((name, group), (settings if group is None else settings[group])[name])
        type(settings).set_override(settings, name, value, group=group)

    settings.set_override = set_override
    yield settings
    del settings.set_override
    for (name, group), value in changed.items():
        settings.set_override(name, value, group=group)
    idle.append(settings)


#: {(URL, (option, value), …): [Database that is not in use, …]}.
_IDLE = collections.defaultdict(list)
#: URLs of the databases that many tests share. Their connections stay open from test to test.
SHARED = set()


@contextlib.contextmanager
def database(url, **options):
    """Provide a Database that no other code uses. The arguments are those of ``make_conf``.

    Later tests use it again with its compiled statements, because compiling them takes longer than running them. Its
    connections are closed, unless the database is SHARED.
    """
    idle = _IDLE[url, *sorted(options.items())]
    opened = idle.pop() if idle else Database(make_conf(url, **options))
    try:
        yield opened
    finally:
        if url not in SHARED:
            opened.close()
        idle.append(opened)


def finish_work(application):
    """Perform all transitions that are due, one after another."""
    performer = Performer(application.service)
    while due := transitions.due(application.service, 20):
        for uuid in due:
            performer.perform(RunningTransition(uuid))


@contextlib.contextmanager
def worker(url, **options):
    """Run a worker in a thread during the block. The arguments are those of ``make_conf``."""
    service = Service(make_conf(url, **{'deploy__poll_interval': 0.01} | options))
    running = Worker(service)
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        yield service
    finally:
        running.stop()
        thread.join()
        service.close()


class Server:
    """A running ironic-traits-api.

    :param url: URL of its database; None for the default.
    :param arguments: more command line arguments.
    :param cwd: its working directory.
    :param port: its port; None for a free one.
    :ivar base: its own URL.
    """

    def __init__(self, url, *arguments, cwd=None, port=None):
        self._port = port or free_port()
        self.base = f'http://127.0.0.1:{self._port}'
        database = ['--database', url] if url else []
        # A file, because a full pipe would block the service.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the service)
        environment = os.environ | {'PYTHONUNBUFFERED': '1'}
        self.process = self._start([*database, *arguments, '--port', str(self._port)], self._output, environment, cwd)

    def _start(self, arguments, output, env, cwd):
        """Start the program, and return its subprocess.Popen."""
        command = [pathlib.Path(sys.executable).parent / 'ironic-traits-api', *arguments]
        return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=cwd, env=env)

    @property
    def output(self):
        """What the service has printed so far."""
        size = os.fstat(self._output.fileno()).st_size
        return os.pread(self._output.fileno(), size, 0).decode()

    def wait(self, seconds=60):
        """Wait until the service responds, and return self."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(self.output)
            try:
                with urllib.request.urlopen(f'{self.base}/v1', timeout=5):
                    return self
            except OSError:
                time.sleep(0.02)
        self.process.kill()
        raise TimeoutError(self.base)

    def wait_for(self, text, seconds=60):
        """Wait until the service has printed a text, and return its output.

        A thread prints the banner, maybe after the first responses.
        """
        self.wait_until(lambda: text in self.output, seconds)
        return self.output

    def wait_until(self, condition, seconds=60):
        """Wait until a condition holds.

        :param condition: function without arguments.
        :raises RuntimeError: the service ends first, or the time is over.
        """
        deadline = time.monotonic() + seconds
        while not condition():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(self.output)
            time.sleep(0.02)

    def is_listening(self):
        """Whether a process listens on the port of the service. Its forks may live longer than the service."""
        try:
            socket.create_connection(('127.0.0.1', self._port), timeout=60).close()
        except ConnectionRefusedError:
            return False
        except ConnectionError:
            # The process that accepted the connection has ended. Others may still listen.
            pass
        return True

    def stop(self):
        """Stop the service by SIGTERM, and return its output."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        logs.LOOKER.look(self.output)
        return self.output

    def __enter__(self):
        return self.wait()

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.stop()


class ForkedServer(Server):
    """A running ironic-traits-api for tests of its clients: it starts without the second of imports (``commands``)."""

    def _start(self, arguments, output, env, cwd):
        return commands.start('ironic-traits-api', *arguments, output=output, env=env, cwd=cwd)
