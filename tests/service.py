"""The service, made for a test: its configuration, its application in process, or a running server."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from ironic_traits import app, conf
from ironic_traits.db import migrations
from ironic_traits.db.engine import Database
from ironic_traits.service import Service
from ironic_traits.worker import Worker
from tests import logs
from tests.servers import free_port


def make_conf(url, *arguments, **options):
    """Make the configuration for a database.

    :param arguments: more for the command line.
    :param options: values by option; ``group__name`` for those of a group.
    """
    made = conf.make(['--database', url, *arguments])
    for option, value in options.items():
        group, _, name = option.rpartition('__')
        made.set_override(name, value, group=group or None)
    return made


def upgraded(url):
    """Give a database the newest schema, and its URL back."""
    with contextlib.closing(Database(make_conf(url))) as database:
        migrations.upgrade(database)
    return url


@contextlib.contextmanager
def make_app(url, *arguments, **options):
    """Give the WSGI application on a database; its arguments are those of ``make_conf``."""
    application = app.build(make_conf(url, *arguments, **options))
    yield application
    application.service.database.close()


def finish_work(application):
    """Do what a worker would: carry all transitions that are due."""
    while Worker(application.service).work():
        pass


@contextlib.contextmanager
def worker(url, **options):
    """Let a worker carry the transitions of a database meanwhile; options as those of ``make_conf``."""
    service = Service(make_conf(url, **{'deploy__poll_interval': 0.01} | options))
    working = Worker(service)
    thread = threading.Thread(target=working.run)
    thread.start()
    try:
        yield service
    finally:
        working.stop()
        thread.join()
        service.close()


class Server:
    """A running ironic-traits-api.

    :param url: of its database.
    :param arguments: more for its command line.
    :ivar base: where it listens.
    """

    def __init__(self, url, *arguments, cwd=None):
        port = free_port()
        self.base = f'http://127.0.0.1:{port}'
        program = pathlib.Path(sys.executable).parent / 'ironic-traits-api'
        database = ['--database', url] if url else []
        self.process = subprocess.Popen(
            [program, *database, *arguments, '--port', str(port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=cwd,
            env=os.environ | {'PYTHONUNBUFFERED': '1'},
        )

    def wait(self, seconds=20):
        """Wait until it answers."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(self.process.stdout.read())
            try:
                with urllib.request.urlopen(f'{self.base}/v1', timeout=5):
                    return self
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.02)
        self.process.kill()
        raise TimeoutError(self.base)

    def stop(self):
        """Ask it to stop, and give what it printed."""
        self.process.send_signal(signal.SIGTERM)
        try:
            printed = self.process.communicate(timeout=40)[0]
            logs.LOOKER.look(printed)
            return printed
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def __enter__(self):
        return self.wait()

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.stop()


@contextlib.contextmanager
def peer(module, directory, port):
    """Let another service run meanwhile, and give its address.

    :param module: that is run with the directory and the port, and says so when it listens.
    :param directory: empty, for all that it keeps.
    """
    said = directory / 'output'
    with said.open('w+') as output:
        command = [sys.executable, '-m', module, str(directory), str(port)]
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + 60
            while 'listening' not in said.read_text():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(said.read_text())
                time.sleep(0.05)
            yield f'http://127.0.0.1:{port}'
        finally:
            process.terminate()
            process.wait()
