"""The service with several processes on a cluster of databases, each part of which can fail."""

import contextlib
import pathlib
import shutil
import subprocess
import tempfile

import sqlalchemy as sa

from tests.chaos.clients import LIMIT
from tests.chaos.proxy import Proxy
from tests.support import clusters, commands, servers
from tests.support.service import ForkedServer, upgraded

APIS, WORKERS = 2, 2
#: Bytes of the file system of the first node of a database.
_DISK = '400m'
#: Settings that let the checker see everything: no history entry is deleted.
CHECKED = f"""
[history]
max_entries = 0
purge_interval = 0
[changes]
interval = 1
[inventory]
max_traits_per_node = {LIMIT}
"""
_CONF = f"""
[database]
connect_timeout = 1
lock_timeout = 5
statement_timeout = 8
request_timeout = 20
%s
[deploy]
poll_interval = 0.2
lease_seconds = 5
heartbeat_interval = 2
heartbeat_timeout = 6
{CHECKED}"""


class Api(ForkedServer):
    """A process of the API. It keeps its port when it is started again."""

    def restart(self, *arguments):
        """Start the process again after it was killed."""
        port = self.base.rpartition(':')[2]
        environment = commands.os.environ | {'PYTHONUNBUFFERED': '1'}
        self.process = self._start([*arguments, '--port', port], self._output, environment, None)


class System:
    """All processes.

    :param cluster: of tests.support.clusters, not started.
    :ivar bases: URLs of the service.
    :ivar proxies: [Proxy to a node of the cluster, …].
    """

    def __init__(self, cluster):
        self.cluster = cluster
        self._stack = contextlib.ExitStack()
        self._folder = pathlib.Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix='chaos-')))
        self.proxies, self.apis, self.workers = [], [], []
        #: Reason why the disk of the first node cannot be filled; None if it can.
        self.no_disk = self._mount(cluster.nodes[0].directory)

    def __enter__(self):
        try:
            self._stack.callback(self.cluster.stop)
            if not self.no_clock:
                self.cluster.nodes[0].set_clock(0)
            self.cluster.start()
            url = sa.make_url(upgraded(self.cluster.create('chaos')))
            self.proxies = [Proxy(node.port) for node in self.cluster.nodes]
            for proxy in self.proxies:
                self._stack.callback(proxy.end)
            hosts = [f'127.0.0.1:{proxy.port}' for proxy in self.proxies]
            url = url.set(query=dict(url.query) | {'host': tuple(hosts)}).render_as_string(hide_password=False)
            conf = self._folder / 'chaos.conf'
            wait = 'mysql_wsrep_sync_wait = 7' if url.startswith('mysql') else ''
            conf.write_text(_CONF % wait)
            self._arguments = ['--config-file', str(conf), '--database', url]
            self.apis = [self._api() for _ in range(APIS)]
            for api in self.apis:
                api.wait()
            self.workers = [self._worker(number) for number in range(WORKERS)]
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *exception):
        for process in [*(api.process for api in self.apis), *self.workers]:
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
        self._stack.close()

    @property
    def no_clock(self):
        """The reason why the clock of the first node cannot be set; None if it can."""
        if self.cluster.name != 'galera':
            return 'tried on Galera only'
        return None if clusters.FAKETIME.exists() else 'faketime is not installed'

    @property
    def bases(self):
        return [api.base for api in self.apis]

    def kill_api(self, number):
        """Kill a process of the API."""
        self.apis[number].process.kill()
        self.apis[number].process.wait(10)

    def start_api(self, number):
        """Start it again."""
        self.apis[number].restart(*self._arguments, '--nostart-worker')

    def kill_worker(self, number):
        """Kill a worker."""
        self.workers[number].kill()
        self.workers[number].wait(10)

    def start_worker(self, number):
        """Start another worker."""
        self.workers[number] = self._worker(number)

    def revive(self):
        """Start the processes that have ended. A process without a database ends at its start."""
        for number, api in enumerate(self.apis):
            if api.process.poll() is not None:
                self.start_api(number)
                api.wait()
        for number, worker in enumerate(self.workers):
            if worker.poll() is not None:
                self.start_worker(number)

    def fill_disk(self):
        """Fill the disk of the first node of the database."""
        with contextlib.suppress(OSError), self._ballast.open('wb') as file:
            while True:
                file.write(bytes(2**20))
                file.flush()

    def logs(self):
        """Return what all processes have printed."""
        return ''.join(api.output for api in self.apis) + ''.join(
            (self._folder / f'worker{number}').read_text() for number in range(len(self.workers))
        )

    def _api(self):
        api = Api(None, *self._arguments, '--nostart-worker')
        self._stack.callback(api.process.kill)
        return api

    def _worker(self, number):
        with (self._folder / f'worker{number}').open('ab') as output:
            worker = commands.start(
                'ironic-traits-worker', *self._arguments, env=commands.os.environ, cwd=None, output=output
            )
        self._stack.callback(worker.kill)
        return worker

    def _mount(self, directory):
        self._ballast = directory / 'ballast'
        if not servers.ROOT:
            return 'it needs root'
        kept = {path.name: path.read_bytes() for path in directory.iterdir()}
        command = ['mount', '-t', 'tmpfs', '-o', f'size={_DISK}', 'tmpfs', str(directory)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip()
        self._stack.callback(self._unmount, directory)
        for name, content in kept.items():
            (directory / name).write_bytes(content)
            (directory / name).chmod(0o755)
        return None

    @staticmethod
    def _unmount(directory):
        subprocess.run(['umount', '-l', str(directory)], check=False)
        shutil.rmtree(directory, ignore_errors=True)
