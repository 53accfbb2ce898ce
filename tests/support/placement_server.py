"""A real Placement without keystone: python -m tests.support.placement_server DIRECTORY PORT

It has SQLite.  The token is admin.  It prints "listening" when it is ready.
"""

import os
import sys
from wsgiref import simple_server

from tests.support.wsgi_server import run, serve

TOKEN = 'admin'
CONF = """
[api]
auth_strategy = noauth2
[placement_database]
connection = sqlite:///{directory}/placement.sqlite
sqlite_synchronous = false
sync_on_startup = true
"""


class _OneByOne(simple_server.WSGIServer):
    """A server that answers one request at a time: with SQLite, two writers would fail."""

    request_queue_size = 50


def main(directory, port):
    """Create the schema, and serve."""
    (directory / 'placement.conf').write_text(CONF.format(directory=directory))
    os.environ['OS_PLACEMENT_CONFIG_DIR'] = str(directory)
    del sys.argv[1:]
    from placement.wsgi import init_application

    serve(init_application(), port, _OneByOne)


if __name__ == '__main__':
    run(main)
