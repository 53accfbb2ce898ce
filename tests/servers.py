"""Throwaway database servers: each with a data directory and a port of its own, gone with the test run.

Not pifpaf: its PostgreSQL does not start as root, and asks for pg_config, which comes with the headers.
"""

import contextlib
import ctypes
import functools
import glob
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.getuid() == 0
#: How the names of the servers' directories begin; the pid of the tests follows.
_PREFIX = 'ironic-traits-tests-'
BINDEP = pathlib.Path(__file__).parents[1] / 'bindep.txt'


class Server:
    """A database server.

    :cvar programs: what must be installed.
    :cvar url: SQLAlchemy URL of one database on it, with {port} and {name}.
    :cvar user: who it runs as when the tests run as root.
    """

    programs: tuple[str, ...] = ()
    url = ''
    user = 'root'

    def __init__(self):
        self.port = free_port()
        remove_leftovers()
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f'{_PREFIX}{os.getpid()}-'))
        self._process = None

    @classmethod
    def installed(cls):
        """Tell whether its programs are there."""
        return all(map(program, cls.programs))

    def start(self):
        """Start, with a new data directory the first time; returns when the server answers."""
        if not (self.directory / 'data').exists():
            if ROOT:
                shutil.chown(self.directory, self.user)
            self._run(*self.make_data_directory())
        with (self.directory / 'log').open('wb') as log:
            # The kernel ends the server when the tests end, however they end.
            self._process = subprocess.Popen(
                self.command(), stdout=log, stderr=log, cwd='/', preexec_fn=_end_with_parent, **self._as_user()
            )
        deadline = time.monotonic() + 60
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f'{self.command()[0]} did not start:\n{(self.directory / "log").read_text()}')
            time.sleep(0.05)

    def kill(self):
        """Kill the server; ``start`` starts it again."""
        if self._process:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def stop(self):
        """Kill the server and remove its data."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def create(self, name):
        """Make a database.

        :returns: its SQLAlchemy URL.
        """
        self._execute(f'CREATE DATABASE {name}')
        return self.url.format(port=self.port, name=name)

    def make_data_directory(self):
        """Give the command that makes the data directory."""
        raise NotImplementedError

    def command(self):
        """Give the command that serves."""
        raise NotImplementedError

    def _execute(self, statement):
        raise NotImplementedError

    def _answers(self):
        try:
            self._execute('SELECT 1')
        except Exception:
            return False
        return True

    def _as_user(self):
        return {'user': self.user, 'group': pwd.getpwnam(self.user).pw_gid, 'extra_groups': []} if ROOT else {}

    def _run(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, cwd='/', **self._as_user())
        if done.returncode:
            raise RuntimeError(f'{command[0]} failed:\n{done.stdout}{done.stderr}')


def remove_leftovers():
    """Remove the directories of test runs that were killed before they could."""
    for directory in pathlib.Path(tempfile.gettempdir()).glob(f'{_PREFIX}*-*'):
        pid = directory.name.removeprefix(_PREFIX).partition('-')[0]
        if pid.isdecimal() and not pathlib.Path('/proc', pid).exists():
            shutil.rmtree(directory, ignore_errors=True)


class PostgreSQL(Server):
    """PostgreSQL, which does not run as root."""

    programs = ('initdb', 'postgres')
    url = 'postgresql+psycopg2://tests@127.0.0.1:{port}/{name}'
    user = 'postgres'

    def make_data_directory(self):
        data = str(self.directory / 'data')
        return [program('initdb'), '-D', data, '-U', 'tests', '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N']

    def command(self):
        settings = {
            'listen_addresses': '127.0.0.1',
            'port': self.port,
            'unix_socket_directories': '',
            'fsync': 'off',
            'max_connections': 200,
        }
        options = [argument for name, value in settings.items() for argument in ('-c', f'{name}={value}')]
        return [program('postgres'), '-D', str(self.directory / 'data'), *options]

    def _execute(self, statement):
        import psycopg2

        with contextlib.closing(
            psycopg2.connect(host='127.0.0.1', port=self.port, user='tests', dbname='postgres')
        ) as connection:
            connection.autocommit = True
            connection.cursor().execute(statement)


class MariaDB(Server):
    """MariaDB."""

    programs = ('mariadb-install-db', 'mariadbd', 'my_print_defaults')
    url = 'mysql+pymysql://root@127.0.0.1:{port}/{name}'

    def make_data_directory(self):
        return [
            program('mariadb-install-db'),
            '--no-defaults',
            f'--datadir={self.directory / "data"}',
            '--auth-root-authentication-method=normal',
            '--skip-test-db',
            f'--user={pwd.getpwuid(os.getuid()).pw_name}',
        ]

    def command(self):
        return [
            program('mariadbd'),
            '--no-defaults',
            f'--datadir={self.directory / "data"}',
            f'--socket={self.directory / "socket"}',
            f'--port={self.port}',
            '--bind-address=127.0.0.1',
            f'--user={pwd.getpwuid(os.getuid()).pw_name}',
            '--innodb-flush-log-at-trx-commit=2',
            '--max-connections=500',
        ]

    def _execute(self, statement):
        import pymysql

        with contextlib.closing(pymysql.connect(host='127.0.0.1', port=self.port, user='root')) as connection:
            connection.cursor().execute(statement)


SERVERS = {'postgresql': PostgreSQL, 'mariadb': MariaDB}


def install():
    """Install what is missing, where that can be done: as root on Debian."""
    if all(server.installed() for server in SERVERS.values()) or not ROOT or not shutil.which('apt-get'):
        return
    missing = subprocess.run(
        [sys.executable, '-m', 'bindep', '--brief', '--file', str(BINDEP), 'test'], capture_output=True, text=True
    ).stdout.split()
    if missing:
        print(f'Installing for the tests: {" ".join(missing)}', flush=True)
        # RUNLEVEL=1: the packages' own servers need not start.
        environment = os.environ | {'DEBIAN_FRONTEND': 'noninteractive', 'RUNLEVEL': '1'}
        subprocess.run(['apt-get', 'update', '-qq'], env=environment, check=False)
        subprocess.run(['apt-get', 'install', '-y', '-qq', *missing], env=environment, check=False)
        program.cache_clear()


@functools.cache
def program(name):
    """Find a program, also where Debian hides those of PostgreSQL; None when it is not installed."""
    found = shutil.which(name, path=f'{os.environ.get("PATH", "")}:/usr/sbin:/usr/local/sbin')
    return found or max(glob.glob(f'/usr/lib/postgresql/*/bin/{name}'), default=None)


def free_port():
    """Give a TCP port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def _end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
