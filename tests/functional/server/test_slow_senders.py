"""Clients that send requests slowly do not keep others from writing, and lose their connections in the end."""

import contextlib
import http.client
import socket
import sqlite3
import threading
import time
import urllib.parse

import pytest

from tests.support.http_client import ask
from tests.support.inspections import PATH
from tests.support.service import ForkedServer, upgraded

_JSON = 'Content-Type: application/json\r\n'
_LENGTH, _CHUNKED = 'Content-Length: 900\r\n\r\n{', 'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n'


@contextlib.contextmanager
def running(folder, *lines):
    """Provide a service with a node that waits for the data of an inspection."""
    (folder / 'service.conf').write_text('\n'.join(('[api]', *lines)))
    url = upgraded(f'sqlite:///{folder}/x.sqlite')
    with ForkedServer(url, '--config-file', str(folder / 'service.conf'), '--nostart-worker') as server:
        yield server


def wait_for_data(server, folder):
    """Create a node that waits for the data of an inspection."""
    assert write(server) == 201
    with contextlib.closing(sqlite3.connect(folder / 'x.sqlite', timeout=60)) as database, database:
        database.execute("UPDATE nodes SET provision_state = 'inspect wait'")


def write(server):
    """Create a node, and return the status."""
    return ask(server.base, 'POST', '/v1/nodes', {'driver': 'fake-hardware'}, {'X-Auth-Token': 'admin'})[0]


class Slow:
    """Clients that send a byte of their requests now and then.

    :param requests: the beginnings of the requests.
    :param rest: what follows; empty for nothing.
    """

    def __init__(self, server, requests, rest=b' '):
        address = urllib.parse.urlsplit(server.base)
        self._requests, self._rest, self._address = requests, rest, (address.hostname, address.port)
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.connections = []

    def __enter__(self):
        self.connections = [self._connect(request) for request in self._requests]
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._has_ended.set()
        self._thread.join()
        for connection in self.connections:
            connection.close()

    def _connect(self, request):
        connection = socket.create_connection(self._address, timeout=60)
        connection.sendall(request.encode())
        return connection

    def _run(self):
        while self._rest and not self._has_ended.wait(0.1):
            for connection in self.connections:
                with contextlib.suppress(OSError):
                    connection.send(self._rest)


def post(path, framing):
    """Return the beginning of a request."""
    return f'POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{_JSON}{framing}'


@pytest.mark.parametrize('number', [8, 32, 200])
@pytest.mark.parametrize(
    'request_',
    [
        post(PATH, _LENGTH),
        post(PATH, _CHUNKED),
        post('/ui/login', 'Content-Length: 90\r\n\r\n{'),
        post('/v1/heartbeat/x', _LENGTH),
        post('/v1/nodes', f'X-Auth-Token: unknown:x\r\n{_LENGTH}'),
        post('/v1/nodes', _CHUNKED),
        post('/v1/nodes', 'X-Slow: '),
    ],
    ids=['data', 'chunks of data', 'login', 'heartbeat', 'a token without rights', 'no token', 'headers'],
)
def test_others_write(tmp_path, request_, number):
    """Nobody waits for clients without rights. A request with the right to write may keep a thread busy."""
    with running(tmp_path, 'auth_strategy = noauth2') as server:
        wait_for_data(server, tmp_path)
        rest = b'1\r\n \r\n' if 'chunked' in request_ else b' '
        with Slow(server, [request_] * number, rest):
            # So many requests at once are refused for a moment, as Retry-After says.
            server.wait_until(lambda: write(server) == 201)
            for _ in range(10):
                time.sleep(0.02)
                assert write(server) == 201


@pytest.mark.parametrize('rest', [b' ', b''], ids=['slowly', 'nothing more'])
def test_the_connection_ends(tmp_path, rest):
    """The request fails without any effect. Idle connections of the same client stay."""
    with running(tmp_path, 'slow_body_timeout = 1') as server:
        idle = http.client.HTTPConnection(urllib.parse.urlsplit(server.base).netloc, timeout=60)
        idle.request('GET', '/v1')
        assert idle.getresponse().read()
        first = idle.sock
        # The service distinguishes the connections by these times.
        time.sleep(0.5)
        requests = [post('/v1/nodes', framing) for framing in (_LENGTH, _CHUNKED)]
        requests.append(post('/v1/nodes', f'Expect: 100-continue\r\n{_LENGTH[:-1]}'))
        with Slow(server, requests, rest) as slow:
            for connection in slow.connections:
                received = b''
                with contextlib.suppress(ConnectionError):
                    while data := connection.recv(65536):
                        received += data
                assert b' 201 ' not in received
        assert 'sends its request too slowly' in server.output
        idle.request('GET', '/v1/nodes')
        assert idle.getresponse().read() == b'{"nodes":[]}'
        assert idle.sock is first
        idle.close()
