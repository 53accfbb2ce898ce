"""Requests that break off, and requests whose length a proxy and the service may read differently."""

import socket
import time
import urllib.parse

import pytest

from tests.support.service import ForkedServer, upgraded

#: Headers of each request.
HEAD = 'Host: 127.0.0.1\r\nContent-Type: application/json\r\nX-OpenStack-Ironic-API-Version: 1.115\r\n'
LAST = f'{HEAD}Connection: close\r\n'
BODY = '{"driver": "fake-hardware", "name": "one"}'
CHUNKED = f'{len(BODY):x}\r\n{BODY}\r\n0\r\n\r\n'
HIDDEN = f'DELETE /v1/nodes/one HTTP/1.1\r\n{HEAD}\r\n'


@pytest.fixture(scope='module')
def server(tmp_path_factory):
    """A running service with a node."""
    url = upgraded(f'sqlite:///{tmp_path_factory.mktemp("broken")}/x.sqlite')
    with ForkedServer(url, '--nostart-worker') as server:
        new = f'POST /v1/nodes HTTP/1.1\r\n{LAST}Content-Length: {len(BODY)}\r\n\r\n{BODY}'
        assert ' 201 ' in exchange(server, new)
        yield server


def exchange(server, sent, *, is_broken=False):
    """Send bytes, and return what the service sends until it closes the connection.

    :param is_broken: whether the client then closes the connection for sending.
    """
    address = urllib.parse.urlsplit(server.base)
    with socket.create_connection((address.hostname, address.port), timeout=20) as connection:
        connection.sendall(sent.encode())
        if is_broken:
            connection.shutdown(socket.SHUT_WR)
        received = b''
        while chunk := connection.recv(65536):
            received += chunk
    return received.decode()


@pytest.mark.parametrize(
    ('framing', 'body'),
    [
        ('Content-Length: 100', '{"reason": "a"}'),
        ('Content-Length: 100', ''),
        ('Transfer-Encoding: chunked', ''),
        ('Transfer-Encoding: chunked', '-1\r\n'),
        ('Transfer-Encoding: chunked', '5\r\n{"rea'),
    ],
)
def test_a_body_that_breaks_off(server, framing, body):
    """A request with an incomplete body is not executed, even where the body is optional."""
    exchange(server, f'PUT /v1/nodes/one/maintenance HTTP/1.1\r\n{HEAD}{framing}\r\n\r\n{body}', is_broken=True)
    # The service may still process the request after the end of the connection.
    deadline = time.monotonic() + 0.3
    while time.monotonic() < deadline:
        shown = exchange(server, f'GET /v1/nodes/one?fields=maintenance HTTP/1.1\r\n{LAST}\r\n')
        assert '"maintenance":false' in shown


@pytest.mark.parametrize('is_length_first', [True, False])
def test_a_request_with_two_lengths(server, is_length_first):
    """The connection is closed (RFC 9112, 6.1), because the following bytes may be a part of the body."""
    framing = [f'Content-Length: {len(CHUNKED) + len(HIDDEN)}\r\n', 'Transfer-Encoding: chunked\r\n']
    lines = ''.join(framing if is_length_first else framing[::-1])
    received = exchange(server, f'POST /v1/nodes HTTP/1.1\r\n{HEAD}{lines}\r\n{CHUNKED}{HIDDEN}')
    assert received.count('HTTP/1.1 ') == 1
    assert ' 200 ' in exchange(server, f'GET /v1/nodes/one HTTP/1.1\r\n{LAST}\r\n')
