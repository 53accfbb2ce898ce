"""ironic-traits-api: the service, behind granian (benchmarks/README.rst says why)."""

import contextlib
import functools
import os
import socket
import sys
import tempfile

import granian
import granian.constants
import granian.log
import sqlalchemy as sa

from ironic_traits import app
from ironic_traits.cmd import child, setup

_WELCOME = 'ironic-traits listens on {url}  (database: {database})'
_WELCOME_PLACEMENT = 'ironic-traits serves the Placement API at {url}  (database: {database})'
#: Where nobody is asked for a password.
_TOUR = """
Try in another terminal:
  curl {url}/v1
  curl -X POST {url}/v1/nodes -H 'Content-Type: application/json' -d '{{"driver": "fake-hardware"}}'
  curl {url}/v1/nodes
README.rst goes on from there. Ctrl-C stops the service.
"""


def load(argv, parent):
    """Build the application of one worker process.

    :param argv: the command's arguments.
    :param parent: pid of the process that starts the workers.
    """
    child.end_with(parent)
    return app.build(setup.configuration(argv))


def main():
    """Run the service until it is told to stop; what is in flight then is finished."""
    conf = setup.configuration(sys.argv[1:])
    address = _free_address(conf.host, conf.port)
    setup.schema(conf)
    host = f'[{conf.host}]' if ':' in conf.host else conf.host
    database = sa.make_url(conf.database.connection).render_as_string(hide_password=True)
    welcome = _WELCOME_PLACEMENT if conf.api.serve == 'placement' else _WELCOME
    if conf.api.serve == 'all' and conf.api.auth_strategy == 'noauth':
        welcome += _TOUR
    print(welcome.format(url=f'http://{host}:{conf.port}', database=database), flush=True)
    server = granian.Granian(
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
    )
    carrier = child.Child('ironic_traits.cmd.worker', sys.argv[1:]) if conf.start_worker else contextlib.nullcontext()
    with carrier, _counting(conf):
        # Each worker makes its own application: connections to a database do not survive a fork.
        server.serve(target_loader=functools.partial(load, sys.argv[1:], os.getpid()), wrap_loader=False)


@contextlib.contextmanager
def _counting(conf):
    """Give the workers a folder in which what each of them counts adds up, when anything is counted."""
    if not conf.metrics.enabled:
        yield
        return
    with tempfile.TemporaryDirectory(prefix='ironic-traits-metrics-') as folder:
        os.environ.setdefault('PROMETHEUS_MULTIPROC_DIR', folder)
        yield


def _free_address(host, port):
    """Give the IP address to listen on.

    :raises SystemExit: the host is none of this machine's, or somebody listens on the port already.  granian's workers
        share the port, and would share it with another service, too.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        sys.exit(f'Cannot listen on {host}, port {port}: {error.strerror}')
    return address[0]
