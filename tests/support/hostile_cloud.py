"""A proxy in front of an Ironic that fails on request."""

import contextlib
import json
import re
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Hostile(ThreadingHTTPServer):
    """The proxy.

    :param ironic: URL of the Ironic.
    :ivar failure: None, ``silence``, ``half`` (of each response), ``short`` (half of each list, and no next page), or a
        status.
    :ivar methods: the methods of the requests that fail; empty for all.
    :ivar maximum: the highest minor version that the Ironic seems to have; None for its own.
    :ivar requests: requests so far: [(method, path), …].
    :ivar hook: function that is called for each request that writes. Its arguments are the number of the request, from
        0, and the request as a function.
    """

    def __init__(self, ironic):
        super().__init__(('127.0.0.1', 0), _Handler)
        self.ironic = ironic
        self.url = f'http://127.0.0.1:{self.server_port}'
        self.failure = None
        self.methods = ()
        self.maximum = None
        self.requests = []
        self.hook = None
        self.released = threading.Event()

    @property
    def writes(self):
        """The requests so far that write."""
        return [each for each in self.requests if each[0] != 'GET']

    def fail(self, failure, *methods):
        """Set the failure of the next requests; None for none."""
        self.failure, self.methods = failure, methods


class _Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    # Header and body are two packets. Without this, each response takes 40 ms.
    disable_nagle_algorithm = True

    def do_GET(self):
        server = self.server
        failure = server.failure if self.command in (server.methods or (self.command,)) else None
        server.requests.append((self.command, self.path))
        if failure == 'silence':
            server.released.wait(30)
            self.close_connection = True
            return
        if failure and failure.isdigit():
            status, body = int(failure), b'{"error_message": "{\\"faultstring\\": \\"Not now.\\"}"}'
        elif server.hook and self.command != 'GET':
            status, body = server.hook(len(server.writes) - 1, self._forward)
        else:
            status, body = self._forward()
        if failure == 'short':
            body = _shortened(body)
        if server.maximum is not None:
            status, body = self._limited(status, body)
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        if status != 204:
            self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if failure == 'half' else body)
        self.close_connection = failure == 'half'

    do_PUT = do_DELETE = do_PATCH = do_GET

    def _forward(self):
        """Send the request to the Ironic, and return (status, body)."""
        headers = {name: value for name, value in self.headers.items() if name.lower().startswith('x-openstack')}
        headers['Content-Type'] = 'application/json'
        data = self.rfile.read(int(self.headers.get('Content-Length') or 0)) or None
        request = urllib.request.Request(self.server.ironic + self.path, data, headers, method=self.command)
        try:
            with urllib.request.urlopen(request) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def _limited(self, status, body):
        """Return the response of an Ironic that has no newer versions."""
        requested = self.headers.get('X-OpenStack-Ironic-API-Version', '1.1')
        if requested == 'latest' or int(requested.partition('.')[2]) > self.server.maximum:
            return 406, b'{"error_message": "{\\"faultstring\\": \\"The version is not supported.\\"}"}'
        if self.path.strip('/') in ('', 'v1'):
            body = re.sub(rb'"version": "1[.][0-9]+"', b'"version": "1.%d"' % self.server.maximum, body)
        return status, body

    def log_message(self, *arguments):
        """Print nothing."""


def _shortened(body):
    """Return a document without the second half of its lists, and without a next page."""
    document = json.loads(body or b'{}')
    items = {name: value[: len(value) // 2] if isinstance(value, list) else value for name, value in document.items()}
    return json.dumps({name: value for name, value in items.items() if name != 'next'}).encode()


@contextlib.contextmanager
def hostile(ironic):
    """Run a proxy in front of an Ironic.

    :param ironic: its URL.
    """
    server = Hostile(ironic)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
