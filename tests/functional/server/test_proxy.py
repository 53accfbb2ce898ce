"""The haproxy examples of the documentation, in front of two running services."""

import contextlib
import http.client
import pathlib
import signal
import socket
import subprocess
import time

import pytest

from tests.support.concurrency import wait_until
from tests.support.http_client import ask, make
from tests.support.servers import free_port, program, require
from tests.support.service import ForkedServer, upgraded

EXAMPLES = pathlib.Path(__file__).parents[3] / 'doc/source/examples'


def configuration(port, servers):
    """Return the examples with the addresses of the tests, a shorter timeout, and a longer time for writes."""
    text = (EXAMPLES / 'haproxy-api.cfg').read_text()
    text = text.replace('    default_backend', (EXAMPLES / 'haproxy-writes.cfg').read_text() + '    default_backend')
    for old, new in (
        ('0.0.0.0:6385', f'127.0.0.1:{port}'),
        ('10.0.0.21:6385', servers[0].base.removeprefix('http://')),
        ('10.0.0.22:6385', servers[1].base.removeprefix('http://')),
        ('timeout http-request 30s', 'timeout http-request 2s'),
        ('http_req_rate(1s)', 'http_req_rate(1h)'),
        ('expire 10s', 'expire 1h'),
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.fixture
def servers(tmp_path):
    """Two services with one database. Each has few threads."""
    url = upgraded(f'sqlite:///{tmp_path}/x.sqlite')
    (tmp_path / 'service.conf').write_text('[api]\nthreads = 2\n')
    arguments = (url, '--config-file', str(tmp_path / 'service.conf'), '--nostart-worker')
    with ForkedServer(*arguments) as one, ForkedServer(*arguments) as two:
        yield one, two


@pytest.fixture
def proxy(tmp_path, servers):
    """The port of a running haproxy."""
    haproxy = program('haproxy')
    require(haproxy, 'haproxy is not installed')
    port = free_port()
    (tmp_path / 'haproxy.cfg').write_text(configuration(port, servers))
    process = subprocess.Popen([haproxy, '-db', '-f', tmp_path / 'haproxy.cfg'], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while not responds(port):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait(30)


def responds(port):
    try:
        return ask(f'http://127.0.0.1:{port}', 'GET', '/v1')[0] == 200
    except (OSError, http.client.HTTPException):
        return False


def test_a_process_dies(servers, proxy):
    """After the death of one service, the other one serves the next requests."""
    base = f'http://127.0.0.1:{proxy}'
    uuid = make(base)
    assert ask(base, 'GET', '/metrics')[0] == 403
    servers[0].process.send_signal(signal.SIGKILL)
    servers[0].process.wait(30)
    # The forks of a service end after it.
    wait_until(lambda: not servers[0].is_listening(), 60)
    statuses = [ask(base, 'PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_{number}')[0] for number in range(19)]
    assert statuses == [204] * 19


def test_a_client_writes_too_much(proxy):
    """Beyond its limit an address may still read, and others may write."""
    path = f'/v1/nodes/{make(f"http://127.0.0.1:{proxy}")}/traits'
    # To create the node was a write, too.
    statuses = [send(proxy, 'PUT', f'{path}/CUSTOM_{number}').status for number in range(20)]
    assert statuses == [204] * 19 + [503]
    assert send(proxy, 'PUT', f'{path}/CUSTOM_A').headers['Retry-After'] == '1'
    assert send(proxy, 'PUT', f'{path}/CUSTOM_A', '127.0.0.2').status == 204
    assert send(proxy, 'GET', path).status == 200


def send(port, method, path, address='127.0.0.1'):
    """Send a request from an address, and return the response."""
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=60, source_address=(address, 0))
    with contextlib.closing(connection):
        connection.request(method, path, headers={'X-OpenStack-Ironic-API-Version': '1.37'})
        return connection.getresponse()


def test_slow_clients(servers, proxy):
    """Half a header or half a body is refused with 408 after the timeout, and occupies none of the two threads."""
    announced = b'PUT /v1/nodes/x/traits HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{"t'
    parts = [announced] * 8 + [b'GET /v1/nodes HTTP/1.1\r\nHost: x\r\nX-Sl'] * 8
    connections = [socket.create_connection(('127.0.0.1', proxy), timeout=60) for _ in parts]
    for connection, part in zip(connections, parts, strict=True):
        connection.sendall(part)
    make(f'http://127.0.0.1:{proxy}')
    for connection in connections:
        assert connection.recv(1000).startswith(b'HTTP/1.1 408 ')
        connection.close()
    make(f'http://127.0.0.1:{proxy}')
