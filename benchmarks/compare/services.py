"""The services to compare. Each is started with its database, or already runs."""

import collections
import sys
import time
from dataclasses import dataclass

from benchmarks import bulk
from benchmarks.compare import copies
from benchmarks.compare.programs import Programs
from benchmarks.load import cpu_seconds
from tests.support import ironic_server, servers

_IRONIC = """
[DEFAULT]
rpc_transport = json-rpc
[database]
connection = {url}
[json_rpc]
auth_strategy = noauth
host_ip = 127.0.0.1
port = {rpc_port}
"""
_PLACEMENT = """
[DEFAULT]
log_file = {directory}/placement.log
[api]
auth_strategy = noauth2
[placement_database]
connection = {url}
"""
#: The share of one processor that an idle service may use.
_IDLE = 0.05


@dataclass
class Site:
    """A running service.

    :ivar urls: {'nodes': URL of the Bare Metal API, 'placement': URL of the Placement API}, or one of them.
    :ivar pids: of its processes. Their children count, too.
    """

    urls: dict
    pids: set


class Running:
    """The services of one size, and their data.

    :param arguments: command line arguments.
    :param server: database server.
    :param count: number of nodes.
    :ivar sites: {'ours', 'ironic', 'placement': Site}.
    :ivar url: of the database of this service; None if the service runs already.
    """

    def __init__(self, arguments, server, count):
        self._arguments, self._server, self._count = arguments, server, count
        self._programs = Programs()
        self.sample, self.sites, self.url = copies.Sample(), {}, None

    def __enter__(self):
        # If a start fails, end the services that have started.
        with self._programs:
            self._start()
            self._programs = self._programs.pop_all()
        return self

    def __exit__(self, *error):
        self._programs.close()

    def _start(self):
        arguments, nodes = self._arguments, copies.nodes(self._count, self.sample)
        if arguments.service:
            # The nodes exist. Generating them fills in the sample.
            collections.deque(nodes, maxlen=0)
            self.sites['ours'] = _existing(arguments.service)
        else:
            self.sites['ours'] = self._ours(nodes)
        if self._count <= arguments.real_up_to:
            self.sites['ironic'] = _existing(arguments.ironic) if arguments.ironic else self._ironic()
            self.sites['placement'] = _existing(arguments.placement, '') if arguments.placement else self._placement()

    def _ours(self, nodes):
        self.url = self._server.create('ours')
        bulk.fill(self.url, nodes, lambda count: show(f'{count} of {self._count} nodes'))
        return _existing(serve(self._programs, self.url, self._arguments.workers))

    def _ironic(self):
        show(f'copying {self._count} nodes to Ironic')
        port = servers.free_port()
        files = self._configure_ironic(port)
        options = [f'--config-file={path}' for path in files]
        self._programs.start('ironic-dbsync', *options, 'create_schema').finish()
        copies.to_ironic(self.url, _as_usual(self._server.url.format(port=self._server.port, name='ironic')))
        conductor = self._programs.start('ironic-conductor', *options)
        environment = {'IRONIC_CONFIGURATION': ':'.join(map(str, files))}
        target = 'benchmarks.compare.ironic_wsgi:application'
        api = self._programs.granian(target, port, self._arguments.workers, environment)
        ironic_server.wait(f'http://127.0.0.1:{port}')
        return _existing([f'http://127.0.0.1:{port}', api.pid, conductor.pid])

    def _configure_ironic(self, port):
        """Create the database, and return the configuration files: that of the tests, and one with the differences."""
        directory, url = self._programs.directory(), _as_usual(self._server.create('ironic'))
        files = directory / 'ironic.conf', directory / 'more.conf'
        files[0].write_text(ironic_server.CONFIGURATION.format(directory=directory, port=port))
        files[1].write_text(_IRONIC.format(url=url, rpc_port=servers.free_port()))
        return files

    def _placement(self):
        show(f'copying {self._count} nodes to Placement')
        directory, port = self._programs.directory(), servers.free_port()
        url = _as_usual(self._server.create('placement'))
        path = directory / 'placement.conf'
        path.write_text(_PLACEMENT.format(directory=directory, url=url))
        self._programs.start('placement-manage', '--config-file', path, 'db', 'sync').finish()
        environment = {'OS_PLACEMENT_CONFIG_DIR': str(directory)}
        target = 'placement.wsgi.api:application'
        program = self._programs.granian(target, port, self._arguments.workers, environment)
        # Placement adds the names of os-traits at its start.
        program.wait_for(f'http://127.0.0.1:{port}/traits')
        copies.to_placement(self.url, url)
        return _existing([f'http://127.0.0.1:{port}', program.pid], '')


def serve(programs, url, workers):
    """Start this service, and wait until it is idle.

    :param programs: Programs.
    :param url: URL of its database.
    :param workers: number of its processes.
    :returns: (URL, pid).
    """
    port = servers.free_port()
    options = ('--database', url, '--port', port, '--workers', workers, '--nostart-worker')
    program = programs.start('ironic-traits-api', *options)
    program.wait_for(f'http://127.0.0.1:{port}/v1')
    _wait_until_idle(program.pid)
    return f'http://127.0.0.1:{port}', program.pid


def _wait_until_idle(pid, seconds=2):
    """Wait until a service is idle for some seconds: with many nodes, it builds an index at its start."""
    before, used = -1.0, cpu_seconds({pid})
    while used - before > seconds * _IDLE:
        time.sleep(seconds)
        before, used = used, cpu_seconds({pid})


def _as_usual(url):
    """Return a database URL with the driver that the real services are tested with."""
    return url.replace('+psycopg:', '+psycopg2:')


def _existing(values, placement='/placement'):
    """Return the Site of a running service.

    :param values: [URL, pid, …].
    :param placement: URL of its Placement API.
    """
    url, *pids = values
    return Site({'nodes': url, 'placement': f'{url}{placement}'}, set(map(int, pids)))


def show(text):
    """Show the progress on one line of the terminal."""
    print(f'\r\033[K{text}', end='', file=sys.stderr, flush=True)
