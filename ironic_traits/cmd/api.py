"""ironic-traits-api: the service, behind granian (benchmarks/README.rst says why)."""

import functools
import sys

import granian
import granian.constants
import granian.log
import sqlalchemy as sa

from ironic_traits import app
from ironic_traits import conf as configuration
from ironic_traits.cmd import setup

_WELCOME = """\
ironic-traits listens on {url}  (database: {database})
Try in another terminal:
  curl {url}/v1
  curl -X POST {url}/v1/nodes -H 'Content-Type: application/json' -d '{{"driver": "fake-hardware"}}'
  curl {url}/v1/nodes
README.rst goes on from there. Ctrl-C stops the service.
"""


def load(argv):
    """Build the application of one worker process.

    :param argv: the command's arguments.
    """
    conf = configuration.make(argv)
    setup.logging(conf)
    return app.build(conf)


def main():
    """Run the service until it is told to stop; what is in flight then is finished."""
    conf = configuration.make(sys.argv[1:])
    setup.logging(conf)
    setup.schema(conf)
    host = f'[{conf.host}]' if ':' in conf.host else conf.host
    database = sa.make_url(conf.database.connection).render_as_string(hide_password=True)
    print(_WELCOME.format(url=f'http://{host}:{conf.port}', database=database), flush=True)
    server = granian.Granian(
        'ironic_traits',
        address=conf.host,
        port=conf.port,
        interface=granian.constants.Interfaces.WSGI,
        workers=conf.workers,
        blocking_threads=conf.api.threads,
        http=granian.constants.HTTPModes.http1,
        websockets=False,
        log_level=granian.log.LogLevels.warning,
        respawn_failed_workers=True,
    )
    # Each worker makes its own application: connections to a database do not survive a fork.
    server.serve(target_loader=functools.partial(load, sys.argv[1:]), wrap_loader=False)
