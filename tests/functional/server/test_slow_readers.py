"""The service closes connections of clients that do not read a large response, or read it slowly."""

import http.client
import socket
import time
import urllib.parse

import pytest

from tests.support import freezing
from tests.support.http_client import ask, make
from tests.support.service import ForkedServer, upgraded

#: Seconds for which a client may read slowly, and number of nodes with 900 kB each.
SECONDS, NODES = 1, 10
PATH = '/v1/nodes/detail'
_TEXT = 'reads its response too slowly'


@pytest.fixture
def server(tmp_path, request):
    """A service with a response that is larger than the kernel's buffers."""
    (tmp_path / 'service.conf').write_text(f'[api]\nslow_read_timeout = {getattr(request, "param", SECONDS)}\n')
    url = upgraded(f'sqlite:///{tmp_path}/x.sqlite')
    with ForkedServer(url, '--config-file', str(tmp_path / 'service.conf'), '--nostart-worker') as running:
        for _ in range(NODES):
            make(running.base, extra={'text': 'x' * 900_000})
        yield running


def begin(server):
    """Request the response on a connection with a small buffer, and return the socket."""
    address = urllib.parse.urlsplit(server.base)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(60)
    connection.connect((address.hostname, address.port))
    connection.sendall(f'GET {PATH} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
    return connection


def rest(connection):
    """Return the number of bytes that can be read until the end of a connection."""
    number = 0
    try:
        while data := connection.recv(65536):
            number += len(data)
    except ConnectionError:
        pass
    return number


@pytest.mark.parametrize('server', [4], indirect=True)
def test_the_process_stands_still(server):
    """The time for which the machine does not run the process is not that of the client."""
    with begin(server) as connection:
        # The measurement has begun.
        time.sleep(1.5)
        freezing.freeze(server.process.pid)
        time.sleep(5)
        freezing.thaw(server.process.pid)
        time.sleep(0.5)
        number = 0
        while number < NODES * 900_000:
            data = connection.recv(65536)
            assert data
            number += len(data)


def test_a_client_that_does_not_read(server):
    idle = http.client.HTTPConnection(urllib.parse.urlsplit(server.base).netloc, timeout=60)
    idle.request('GET', '/v1')
    assert idle.getresponse().read()
    with begin(server) as connection:
        server.wait_for(_TEXT)
        assert rest(connection) < NODES * 900_000
    # Other connections stay: an idle one, and one whose client reads everything.
    first = idle.sock
    idle.request('GET', PATH)
    assert len(idle.getresponse().read()) > NODES * 900_000
    assert idle.sock is first
    idle.close()


def test_a_client_that_reads_slowly(server):
    with begin(server) as connection:
        while _TEXT not in server.output:
            # The client reads less than 16 KiB per second.
            connection.recv(100)
            time.sleep(0.05)
        assert rest(connection) < NODES * 900_000
    assert ask(server.base, 'GET', '/v1')[0] == 200
