"""Requests that wait leave room for others: slow bodies, locks, and a database that does not answer."""

import contextlib
import http.client
import os
import pathlib
import signal
import socket
import threading
import time
import urllib.parse

import pytest
import sqlalchemy as sa

from ironic_traits.api.overload import PATIENCE, Gate
from ironic_traits.db import timeouts
from tests.support.client import Client
from tests.support.service import Server, make_app, upgraded

ANNOUNCED = (
    b'POST /v1/nodes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"dri',
    b'PUT /v1/nodes/a/traits HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"t',
)


@pytest.fixture
def server(tmp_path):
    """A service with few threads."""
    (tmp_path / 'service.conf').write_text('[api]\nthreads = 6\n')
    url = upgraded(f'sqlite:///{tmp_path}/x.sqlite')
    with Server(url, '--config-file', str(tmp_path / 'service.conf'), '--nostart-worker') as server:
        yield server


def status(server, path, method='GET', body=None):
    """Return the status of an answer, which comes in time."""
    address = urllib.parse.urlsplit(server.base)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
    with contextlib.closing(connection):
        connection.request(method, path, body, {'Content-Type': 'application/json'})
        return connection.getresponse().status


def announce(server, request):
    """Open a connection that announces a body and does not send it."""
    address = urllib.parse.urlsplit(server.base)
    connection = socket.create_connection((address.hostname, address.port), timeout=20)
    connection.sendall(request)
    return connection


def test_slow_bodies_leave_threads_for_reads(server):
    with contextlib.ExitStack() as stack:
        for count in range(12):
            stack.enter_context(announce(server, ANNOUNCED[count % 2]))
        for path in ('/healthcheck', '/v1/nodes', '/v1'):
            assert status(server, path) == 200
    # The service notices in a moment that the connections are closed. A client tries again, as Retry-After says.
    deadline = time.monotonic() + 20
    while (code := status(server, '/v1/nodes', 'POST', '{"driver": "fake-hardware"}')) == 503:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert code == 201


def test_writers_that_wait_for_a_lock_leave_room_for_others(server, tmp_path):
    engine = sa.create_engine(f'sqlite:///{tmp_path}/x.sqlite')
    with engine.connect() as other:
        other.exec_driver_sql('BEGIN IMMEDIATE')
        body = b'{"driver": "fake-hardware"}'
        request = (
            b'POST /v1/nodes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s'
        )
        address = urllib.parse.urlsplit(server.base)
        waiting = [socket.create_connection((address.hostname, address.port), timeout=40) for _ in range(8)]
        for connection in waiting:
            connection.sendall(request % (len(body), body))
        for path in ('/healthcheck', '/v1/nodes'):
            assert status(server, path) == 200
        other.exec_driver_sql('ROLLBACK')
    answers = {connection.recv(1000)[9:12] for connection in waiting}
    assert answers <= {b'201', b'503'}
    assert b'201' in answers
    engine.dispose()


def test_a_gate_refuses_at_once_where_nothing_moves():
    gate = Gate(2)
    assert gate.enter()
    assert gate.enter()
    time.sleep(PATIENCE)
    begun = time.monotonic()
    assert not gate.enter()
    assert time.monotonic() - begun < PATIENCE / 2
    gate.leave()
    assert gate.enter()


def test_a_burst_at_a_gate_that_was_idle():
    """The first requests have only just begun: the next one waits for one of them."""
    gate = Gate(1)
    assert gate.enter()
    threading.Timer(0.1, gate.leave).start()
    assert gate.enter()


@contextlib.contextmanager
def frozen(database_server):
    """Stop all processes of a database server; their connections stay."""
    parent = database_server._process.pid
    pids = [parent, *children(parent)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def children(parent):
    found = []
    for path in pathlib.Path('/proc').glob('[0-9]*/stat'):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(')')[2].split()
            if int(fields[1]) == parent:
                found.append(int(path.parent.name))
    return found


def test_a_frozen_database_is_a_503(database_server, database_url, monkeypatch):
    if database_server is None:
        pytest.skip('SQLite has no server')
    separator = '&' if '?' in database_url else '?'
    limits = 'read_timeout=2&connect_timeout=2' if 'pymysql' in database_url else 'connect_timeout=2'
    monkeypatch.setattr(timeouts, 'CONNECT', 2)
    token = timeouts._answer.set(2)
    try:
        with make_app(f'{database_url}{separator}{limits}') as app:
            client = Client(app)
            node = client.node()['uuid']
            with frozen(database_server):
                begun = time.monotonic()
                assert client.ask('GET', f'/v1/nodes/{node}').status_int == 503
                assert client.ask('PUT', f'/v1/nodes/{node}/traits/CUSTOM_A').status_int == 503
                assert client.ask('GET', '/healthcheck').status_int == 503
                # Without limits, none of these would ever end.
                assert time.monotonic() - begun < 60
            assert client.get(f'/v1/nodes/{node}')['uuid'] == node
            assert client.ask('GET', '/healthcheck').status_int == 200
    finally:
        timeouts._answer.reset(token)


def test_a_sqlite_file_that_goes_is_noticed(tmp_path):
    path = tmp_path / 'x.sqlite'
    with make_app(upgraded(f'sqlite:///{path}')) as app:
        client = Client(app)
        client.node()
        assert client.ask('GET', '/healthcheck').status_int == 200
        for each in tmp_path.glob('x.sqlite*'):
            each.rename(tmp_path / f'away-{each.name}')
        assert client.ask('GET', '/healthcheck').status_int == 503
        assert client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware'}).status_int == 503
        assert not path.exists()
        for each in tmp_path.glob('away-*'):
            each.rename(tmp_path / each.name.removeprefix('away-'))
        assert client.ask('GET', '/healthcheck').status_int == 200
        assert len(client.get('/v1/nodes')['nodes']) == 1


def test_a_defect_of_the_schema_is_no_outage(database_url):
    """A missing column is a 500, and in the log: to try again does not help."""
    with make_app(database_url) as app:
        client = Client(app)
        with app.service.write() as connection:
            connection.exec_driver_sql('ALTER TABLE nodes RENAME COLUMN fault TO other')
        try:
            answer = client.ask('GET', '/v1/nodes/detail')
            assert (answer.status_int, answer.json['code']) == (500, 'baremetal.internal_error')
        finally:
            with app.service.write() as connection:
                connection.exec_driver_sql('ALTER TABLE nodes RENAME COLUMN other TO fault')
