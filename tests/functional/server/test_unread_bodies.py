"""A client gets the response to a request that is refused before its body is read."""

import base64
import contextlib
import http.client
import json
import socket
import urllib.parse

import bcrypt
import pytest

from tests.support.http_client import ask
from tests.support.service import ForkedServer, upgraded

CHUNKED = {'Transfer-Encoding': 'chunked', 'Content-Type': 'application/json'}
SIZE = 8 * 1024 * 1024
#: The headers of a request with a body that is not sent.
HEAD = f'POST /v1/nodes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {SIZE}\r\n'.encode()
LOGIN = {'Authorization': 'Basic ' + base64.b64encode(b'operator:hush-hush').decode()}


@pytest.fixture(scope='module')
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp('service')
    (folder / 'users').write_text('operator:' + bcrypt.hashpw(b'hush-hush', bcrypt.gensalt(4)).decode())
    (folder / 'service.conf').write_text(
        f'[api]\nauth_strategy = http_basic\nhttp_basic_auth_user_file = {folder}/users\nthreads = 2\n'
    )
    url = upgraded(f'sqlite:///{folder}/x.sqlite')
    with ForkedServer(url, '--config-file', str(folder / 'service.conf'), '--nostart-worker') as running:
        yield running


@pytest.mark.parametrize(
    ('path', 'headers', 'status'),
    [
        ('/v1/nodes', {}, 401),
        ('/v1/nodes', LOGIN, 413),
        ('/v1/nodes', LOGIN | {'Content-Type': 'text/plain'}, 415),
        ('/v1/nodes', LOGIN | {'X-OpenStack-Ironic-API-Version': '9.9'}, 406),
        ('/placement/nowhere', LOGIN, 404),
        ('/v1/chassis/x', LOGIN, 405),
    ],
)
def test_the_response_arrives(server, path, headers, status):
    for _ in range(5):
        assert ask(server.base, 'POST', path, 'x' * SIZE, headers)[0] == status


def test_chunks(server):
    url = urllib.parse.urlsplit(server.base)
    with contextlib.closing(http.client.HTTPConnection(url.netloc, timeout=60)) as connection:
        parts = (json.dumps('x' * 1000).encode() for _ in range(2000))
        connection.request('POST', '/v1/nodes', parts, encode_chunked=True, headers=CHUNKED)
        assert connection.getresponse().status == 401


def test_a_client_that_has_not_sent_its_body_yet(server):
    url = urllib.parse.urlsplit(server.base)
    with socket.create_connection((url.hostname, url.port), timeout=20) as connection:
        connection.sendall(HEAD + b'Expect: 100-continue\r\n\r\n')
        assert connection.recv(1000).startswith(b'HTTP/1.1 401 ')


def test_strangers_who_announce_much(server):
    """The response does not wait for a body that is too large to be dropped, and the bodies of others are dropped."""
    url = urllib.parse.urlsplit(server.base)
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(socket.create_connection((url.hostname, url.port), 20))
            connection.sendall(HEAD.replace(str(SIZE).encode(), b'53687091200') + b'\r\n')
            assert connection.recv(1000).startswith(b'HTTP/1.1 401 ')


def test_strangers_who_send_nothing(server):
    """More requests without their bodies than are waited for occupy no more threads than these."""
    url = urllib.parse.urlsplit(server.base)
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(socket.create_connection((url.hostname, url.port), 20)) for _ in range(200)]
        for connection in connections:
            connection.sendall(HEAD + b'\r\n')
        assert connections[-1].recv(1000).startswith(b'HTTP/1.1 401 ')
        assert ask(server.base, 'POST', '/v1/nodes', {'driver': 'fake-hardware'}, LOGIN)[0] == 201
