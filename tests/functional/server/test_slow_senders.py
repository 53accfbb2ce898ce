"""Clients that send requests slowly do not keep others from writing, and lose their connections in the end."""

import contextlib
import http.client
import socket
import sqlite3
import threading
import time
import urllib.parse

import pytest

from ironic_traits.cmd.server import slow_senders
from tests.support import freezing
from tests.support.http_client import ask
from tests.support.inspections import PATH
from tests.support.service import ForkedServer, upgraded

_JSON = 'Content-Type: application/json\r\n'
_LENGTH, _CHUNKED = 'Content-Length: 900\r\n\r\n{', 'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n'
_CHUNK = b'1\r\n \r\n'


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
        rest = _CHUNK if 'chunked' in request_ else b' '
        with Slow(server, [request_] * number, rest):
            # So many requests at once are refused for a moment, as Retry-After says.
            server.wait_until(lambda: write(server) == 201)
            for _ in range(10):
                time.sleep(0.02)
                assert write(server) == 201


_UNFINISHED = {
    'length': post('/v1/nodes', _LENGTH),
    'chunks': post('/v1/nodes', _CHUNKED),
    '100-continue': post('/v1/nodes', f'Expect: 100-continue\r\n{_LENGTH[:-1]}'),
    'second request': f'GET /v1 HTTP/1.1\r\nHost: x\r\n\r\n{post("/v1/nodes", _LENGTH)}',
}


@pytest.mark.parametrize('rest', [b' ', b''], ids=['slowly', 'nothing more'])
@pytest.mark.parametrize('request_', _UNFINISHED.values(), ids=_UNFINISHED)
def test_the_connection_ends(tmp_path, request_, rest):
    """The request fails without any effect. Idle connections of the same client stay."""
    with running(tmp_path, 'slow_body_timeout = 1') as server:
        idle = http.client.HTTPConnection(urllib.parse.urlsplit(server.base).netloc, timeout=60)
        idle.request('GET', '/v1')
        assert idle.getresponse().read()
        first = idle.sock
        # The service distinguishes the connections by these times.
        time.sleep(1.5)
        with Slow(server, [request_], _CHUNK if rest and 'chunked' in request_ else rest) as slow:
            assert b' 201 ' not in everything(slow.connections[0])
        assert 'sends its request too slowly' in server.output
        idle.request('GET', '/v1/nodes')
        assert idle.getresponse().read() == b'{"nodes":[]}'
        assert idle.sock is first
        idle.close()


def test_the_process_stands_still(tmp_path):
    """The time for which the machine does not run the process is not that of the client."""
    document = b'{"driver": "fake-hardware"}'
    with running(tmp_path, 'slow_body_timeout = 4') as server:
        begin = post('/v1/nodes', f'Content-Length: {len(document)}\r\n\r\n')
        with Slow(server, [begin], b'') as slow:
            # The body is being read.
            time.sleep(1)
            freezing.freeze(server.process.pid)
            time.sleep(5)
            freezing.thaw(server.process.pid)
            time.sleep(0.5)
            slow.connections[0].sendall(document)
            assert b' 201 ' in slow.connections[0].recv(65536)


def everything(connection):
    """Return what a connection receives until it ends."""
    received = b''
    with contextlib.suppress(ConnectionError):
        while data := connection.recv(65536):
            received += data
    return received


@contextlib.contextmanager
def connected(server):
    """Provide both ends of a connection to a server: that of the client first."""
    with socket.create_connection(server.getsockname()) as client, server.accept()[0] as service:
        yield client, service


def read_body(environ, start_response):
    """Read a body, as a WSGI application does."""
    return environ['wsgi.input'].read(10)


@pytest.mark.parametrize('rest', [b' ', b''], ids=['slowly', 'nothing more'])
@pytest.mark.parametrize('pauses', [(0.1, 0.1, 0.3), (0.5, 0.1)], ids=['in time', 'late'])
def test_late_checks(rest, pauses):
    """A check that the machine delays ends the connection, and no check ends one whose request began later."""
    bodies = slow_senders.Bodies(read_body, 0.4)
    with (
        socket.create_server(('127.0.0.1', 0)) as server,
        connected(server) as (client, service),
        connected(server) as (later_client, later_service),
    ):
        port, last, beginnings = server.getsockname()[1], time.monotonic(), {}
        client.sendall(b'{')
        environ = {'wsgi.input': service.makefile('rb'), 'REMOTE_ADDR': '127.0.0.1', 'CONTENT_LENGTH': '10'}
        reader = threading.Thread(target=bodies, args=(environ, None))
        reader.start()
        for pause in pauses:
            time.sleep(pause)
            client.sendall(rest)
            last, beginnings = time.monotonic(), bodies.look(port, beginnings, last)
            later_client.sendall(b'{')
        reader.join(10)
        assert not reader.is_alive()
        assert later_service.recv(10)
        with pytest.raises(BlockingIOError):
            later_service.recv(10, socket.MSG_DONTWAIT)
