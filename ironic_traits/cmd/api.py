"""ironic-traits-api: the service, behind gunicorn."""

import sys

from gunicorn.app.base import BaseApplication

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


class Server(BaseApplication):
    """gunicorn with our options in place of its own.

    :param conf: ConfigOpts.
    """

    def __init__(self, conf):
        self._conf = conf
        super().__init__()

    def load_config(self):
        conf = self._conf
        host = f'[{conf.host}]' if ':' in conf.host else conf.host
        settings = {
            'bind': f'{host}:{conf.port}',
            'workers': conf.workers,
            'worker_class': 'gthread',
            'threads': conf.api.threads,
            'keepalive': 75,
            'graceful_timeout': 30,
            'timeout': 120,
            'proc_name': 'ironic-traits-api',
            'loglevel': 'warning',
            # Lists of traits in a query are longer than a browser's addresses.
            'limit_request_line': 0,
        }
        for name, value in settings.items():
            self.cfg.set(name, value)

    def load(self):
        return app.build(self._conf)


def main():
    """Run the service until it is told to stop."""
    conf = configuration.make(sys.argv[1:])
    setup.logging(conf)
    setup.schema(conf)
    url = f'http://{conf.host}:{conf.port}'
    print(_WELCOME.format(url=url, database=conf.database.connection), flush=True)
    Server(conf).run()
