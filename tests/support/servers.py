"""Temporary database servers, each with its own data directory and port. They are removed after the test run.

pifpaf is no alternative: it cannot start PostgreSQL as root, and needs pg_config from the development package.
"""

import contextlib
import ctypes
import functools
import glob
import itertools
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

from tests.support import freezing
from tests.support.terminal import is_running

ROOT = os.getuid() == 0
#: Prefix of the names of the servers' directories. The pid of the tests follows.
_PREFIX = 'ironic-traits-tests-'
#: A file system in memory, and its minimum of free bytes: enough for the servers of several processes.
_MEMORY, _MIN_FREE = '/dev/shm', 4 * 2**30
#: Galera's library, which makes MariaDB a node of a cluster.
GALERA = pathlib.Path('/usr/lib/galera/libgalera_smm.so')
#: The libvirt module of Debian's Python.
LIBVIRT = pathlib.Path('/usr/lib/python3/dist-packages/libvirt.py')
BINDEP = pathlib.Path(__file__).parents[2] / 'bindep.txt'


class Server:
    """A database server.

    :cvar programs: names of the programs that it needs.
    :cvar url: SQLAlchemy URL of a database of the server, with {port} and {name}.
    :cvar user: the user that it runs as when the tests run as root.
    """

    programs: tuple[str, ...] = ()
    url = ''
    user = 'root'

    def __init__(self):
        self.port = free_port()
        remove_leftovers()
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f'{_PREFIX}{os.getpid()}-', dir=parent_folder()))
        self._process = None

    @classmethod
    def installed(cls):
        """Whether its programs are installed."""
        return all(map(program, cls.programs))

    def start(self):
        """Start the server, and wait until it responds. The first time, create its data directory."""
        if not (self.directory / 'data').exists():
            if ROOT:
                shutil.chown(self.directory, self.user)
            self._run(*self.make_data_directory())
        with (self.directory / 'log').open('wb') as log:
            # The kernel kills the server when the tests end, even if they are killed.
            self._process = subprocess.Popen(
                self.command(), stdout=log, stderr=log, cwd='/', preexec_fn=end_with_parent, **self._as_user()
            )
        deadline = time.monotonic() + 60
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f'{self.command()[0]} did not start:\n{(self.directory / "log").read_text()}')
            time.sleep(0.05)

    def kill(self):
        """Kill the server with all its processes. ``start`` can start it again."""
        if not self._process:
            return
        # A PostgreSQL process that serves a connection outlives its parent for a moment, and still responds.
        pids = freezing.signal_all(self._process.pid, signal.SIGKILL)
        self._process.wait()
        while any(map(is_running, pids)):
            time.sleep(0.005)

    def stop(self):
        """Kill the server and remove its data."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def create(self, name):
        """Create a database.

        :returns: its SQLAlchemy URL.
        """
        self._execute(f'CREATE DATABASE {name}')
        return self.url.format(port=self.port, name=name)

    def make_data_directory(self):
        """Return the command that creates the data directory."""
        raise NotImplementedError

    def command(self):
        """Return the command that runs the server."""
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


def require(is_available, what):
    """Skip the test unless something is available. Fail instead if the tests must run completely.

    :param what: words for the reason: "haproxy is not installed".
    """
    if not is_available:
        # Imported here, because the benchmarks use this module without pytest.
        import pytest

        assert not os.environ.get('IRONIC_TRAITS_TEST_ALL_DATABASES'), what
        pytest.skip(what)


def remove_leftovers():
    """Remove the directories of killed test runs, and the leftovers of libfaketime."""
    for path in pathlib.Path(_MEMORY).glob('*faketime_s*_*'):
        if not pathlib.Path('/proc', path.name.rpartition('_')[2]).exists():
            with contextlib.suppress(OSError):
                path.unlink()
    for parent in (tempfile.gettempdir(), _MEMORY):
        for directory in pathlib.Path(parent).glob(f'{_PREFIX}*-*'):
            pid = directory.name.removeprefix(_PREFIX).partition('-')[0]
            if pid.isdecimal() and not pathlib.Path('/proc', pid).exists():
                shutil.rmtree(directory, ignore_errors=True)


def parent_folder():
    """Return the parent of temporary folders. It is in memory if there is room, so that no test waits for a disk."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage(_MEMORY).free >= _MIN_FREE:
            return _MEMORY
    return tempfile.gettempdir()


class PostgreSQL(Server):
    """PostgreSQL, which refuses to run as root."""

    programs = ('initdb', 'postgres')
    url = 'postgresql+psycopg://tests@127.0.0.1:{port}/{name}'
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
            'full_page_writes': 'off',
            # The log stays in memory, too.
            'max_wal_size': '128MB',
            'max_connections': 200,
            # Use the data directory: a killed server would leave its segments in /dev/shm.
            'dynamic_shared_memory_type': 'mmap',
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
    # Without TLS, because PyMySQL would read all certificates of the machine for each connection.
    url = 'mysql+pymysql://root@127.0.0.1:{port}/{name}?ssl_disabled=true'

    @property
    def _tmpdir(self):
        # A server deletes the temporary tables that it finds at its start, in /tmp also those of other servers.
        return f'--tmpdir={self.directory}'

    def make_data_directory(self):
        return [
            program('mariadb-install-db'),
            '--no-defaults',
            f'--datadir={self.directory / "data"}',
            '--auth-root-authentication-method=normal',
            '--skip-test-db',
            self._tmpdir,
            f'--user={pwd.getpwuid(os.getuid()).pw_name}',
        ]

    def command(self):
        return [
            program('mariadbd'),
            '--no-defaults',
            f'--datadir={self.directory / "data"}',
            f'--socket={self.directory / "socket"}',
            self._tmpdir,
            f'--port={self.port}',
            '--bind-address=127.0.0.1',
            f'--user={pwd.getpwuid(os.getuid()).pw_name}',
            # Committed data survives ``kill``, which is not a crash of the machine.
            '--innodb-flush-log-at-trx-commit=2',
            '--innodb-doublewrite=0',
            '--innodb-log-file-size=32M',
            '--max-connections=500',
        ]

    def _execute(self, statement):
        import pymysql

        with contextlib.closing(
            pymysql.connect(host='127.0.0.1', port=self.port, user='root', ssl_disabled=True)
        ) as connection:
            connection.cursor().execute(statement)


SERVERS = {'postgresql': PostgreSQL, 'mariadb': MariaDB}


def install():
    """Install missing servers, the proxies, the browser and libvirt, if the tests run as root on Debian."""
    names = (
        *('chromium-headless-shell', 'haproxy', 'mariadb-dump', 'nginx'),
        *('systemd-analyze', 'libvirtd', 'qemu-system-x86_64'),
    )
    programs = [GALERA.exists(), LIBVIRT.exists(), *map(program, names)]
    if all(programs) and all(server.installed() for server in SERVERS.values()):
        return
    if not ROOT or not shutil.which('apt-get'):
        return
    # What libvirt and qemu recommend is a gigabyte for other processors and storages.
    for profile, options in (('test', ()), ('machine', ('--no-install-recommends',))):
        missing = subprocess.run(
            [sys.executable, '-m', 'bindep', '--brief', '--file', str(BINDEP), profile], capture_output=True, text=True
        ).stdout.split()
        if missing:
            print(f'Installing for the tests: {" ".join(missing)}', flush=True)
            # RUNLEVEL=1 keeps the packages from starting their own servers.
            environment = os.environ | {'DEBIAN_FRONTEND': 'noninteractive', 'RUNLEVEL': '1'}
            subprocess.run(['apt-get', 'update', '-qq'], env=environment, check=False)
            subprocess.run(['apt-get', 'install', '-y', '-qq', *options, *missing], env=environment, check=False)
            program.cache_clear()


@functools.cache
def program(name):
    """Return the path of a program; None if it is not installed. Debian has those of PostgreSQL outside PATH."""
    path = shutil.which(name, path=f'{os.environ.get("PATH", "")}:/usr/sbin:/usr/local/sbin')
    return path or max(glob.glob(f'/usr/lib/postgresql/*/bin/{name}'), default=None)


#: The ports for servers of the tests. Linux gives other ports, from 32768 on, to clients and to those who ask for any.
_PORTS = range(20000, 32768)


def free_port():
    """Return a free TCP port of the loopback interface.

    No client and no other process of the tests gets it, not even while the server is down.
    """
    return next(port for port in _ports() if _is_free(port))


@functools.cache
def _ports():
    """Return an endless iterator of this process's ports. It begins anywhere: another test run has the same ones."""
    number = int(os.environ.get('PYTEST_XDIST_WORKER', 'gw0').removeprefix('gw'))
    count = int(os.environ.get('PYTEST_XDIST_WORKER_COUNT', '1'))
    ports = _PORTS[number::count]
    first = os.getpid() * 100 % len(ports)
    return itertools.cycle([*ports[first:], *ports[:first]])


def _is_free(port):
    with socket.socket() as probe, contextlib.suppress(OSError):
        probe.bind(('127.0.0.1', port))
        return True
    return False


def end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
