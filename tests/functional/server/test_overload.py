"""Requests that wait leave threads for others, also with slow bodies, locks, and an unresponsive database."""

import contextlib
import http.client
import socket
import threading
import time
import urllib.parse

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.failover import outage
from tests.support import freezing
from tests.support.client import Client
from tests.support.service import ForkedServer, make_app, upgraded

ANNOUNCED = (
    b'POST /v1/nodes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"dri',
    b'PUT /v1/nodes/a/traits HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"t',
)


@pytest.fixture
def server(tmp_path):
    """A service with few threads."""
    (tmp_path / 'service.conf').write_text('[api]\nthreads = 6\n')
    url = upgraded(f'sqlite:///{tmp_path}/x.sqlite')
    with ForkedServer(url, '--config-file', str(tmp_path / 'service.conf'), '--nostart-worker') as server:
        yield server


def status(server, path, method='GET', body=None):
    """Return the status of a response, which must come soon."""
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


def test_waiting_writers_leave_threads_for_others(server, tmp_path):
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
    statuses = {connection.recv(1000)[9:12] for connection in waiting}
    assert statuses <= {b'201', b'503'}
    assert b'201' in statuses
    engine.dispose()


def test_more_clients_than_may_wait(tmp_path):
    """Excess requests are refused while others wait. Refused requests write nothing."""
    (tmp_path / 'service.conf').write_text('[api]\nthreads = 6\nmax_waiting_requests = 4\n[metrics]\nenabled = true\n')
    url = upgraded(f'sqlite:///{tmp_path}/x.sqlite')
    responses = []

    def post(server):
        address = urllib.parse.urlsplit(server.base)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        with contextlib.closing(connection):
            connection.request('POST', '/v1/nodes', '{"driver": "fake-hardware"}', {'Content-Type': 'application/json'})
            response = connection.getresponse()
            responses.append((response.status, response.headers['Retry-After']))

    engine = sa.create_engine(url)
    with ForkedServer(url, '--config-file', str(tmp_path / 'service.conf'), '--nostart-worker') as server:
        clients = [threading.Thread(target=post, args=(server,), daemon=True) for _ in range(40)]
        with engine.connect() as other:
            other.exec_driver_sql('BEGIN IMMEDIATE')
            for client in clients:
                client.start()
            # At most six requests run, and four wait.
            server.wait_until(lambda: len(responses) >= 30)
            assert set(responses) == {(503, '1')}
            assert status(server, '/healthcheck') == status(server, '/metrics') == 200
            other.exec_driver_sql('ROLLBACK')
        for client in clients:
            client.join(60)
        assert len(responses) == 40
        assert set(responses) == {(201, None), (503, '1')}
        with engine.connect() as connection:
            nodes = connection.scalar(sa.select(sa.func.count()).select_from(tables.nodes))
        assert nodes == responses.count((201, None))
        assert [status(server, '/v1/nodes', 'POST', '{"driver": "fake-hardware"}') for _ in range(12)] == [201] * 12
    engine.dispose()


@contextlib.contextmanager
def frozen(database_server):
    """Stop all processes of a database server. Their connections stay open."""
    freezing.freeze(database_server._process.pid)
    try:
        yield
    finally:
        freezing.thaw(database_server._process.pid)


def test_a_frozen_database_is_a_503(database_server, database_url):
    if database_server is None:
        pytest.skip('SQLite has no server')
    with make_app(database_url, database__connect_timeout=1) as app:
        client = Client(app)
        node = client.node()['uuid']
        with frozen(database_server):
            begun = time.monotonic()
            response = client.ask('GET', f'/v1/nodes/{node}')
            assert (response.status_int, response.headers['Retry-After']) == (503, '5')
            # A statement may take 40 seconds. The outage is noticed earlier.
            assert time.monotonic() - begun < 20
            assert client.ask('PUT', f'/v1/nodes/{node}/traits/CUSTOM_A').status_int == 503
            assert client.ask('GET', '/healthcheck').status_int == 503
        assert client.get(f'/v1/nodes/{node}')['uuid'] == node
        assert client.ask('GET', '/healthcheck').status_int == 200


def test_a_request_has_a_time_limit(database_server, database_url):
    """A request has a time limit, which is shorter here than its wait for a lock."""
    if database_server is None:
        pytest.skip('SQLite ends the wait itself')
    with make_app(database_url) as app:
        client, options = Client(app), app.service.conf
        path = f'/v1/nodes/{client.node()["uuid"]}/traits'
        default = options.database.request_timeout
        # Only for one request: on a busy machine, others may take a second, too.
        options.set_override('request_timeout', 1, group='database')
        with app.service.database.write() as connection:
            connection.execute(sa.update(tables.nodes).values(generation=tables.nodes.c.generation + 1))
            begun = time.monotonic()
            response = client.ask('PUT', f'{path}/CUSTOM_A')
            assert (response.status_int, response.headers['Retry-After']) == (503, '5')
            # The wait for the lock would take 30 seconds.
            assert time.monotonic() - begun < 20
        options.set_override('request_timeout', default, group='database')
        assert client.get(path) == {'traits': []}
        assert client.ask('PUT', f'{path}/CUSTOM_A').status_int == 204


def test_a_statement_has_a_time_limit(database_server, database_url):
    """The database itself ends a statement at its time limit."""
    if database_server is None:
        pytest.skip('SQLite has no such limit')
    with make_app(database_url, database__statement_timeout=1) as app:
        sleep = 'pg_sleep(9)' if 'postgresql' in database_url else 'SLEEP(9)'
        begun = time.monotonic()
        with pytest.raises(Exception, match='statement') as raised, app.service.read() as connection:
            connection.exec_driver_sql(f'SELECT {sleep}')
        assert time.monotonic() - begun < 8
        assert outage.is_unavailable(raised.value)


def test_a_full_disk_is_a_503(tmp_path):
    """With a full disk, a write fails with 503 and leaves no rows. It succeeds when there is room again."""
    with make_app(upgraded(f'sqlite:///{tmp_path}/full.sqlite')) as app:
        client = Client(app)

        def limit(pages):
            with app.service.write() as connection:
                connection.exec_driver_sql(f'PRAGMA max_page_count = {pages}')

        limit(1)
        body = {'driver': 'fake-hardware', 'extra': {'text': 'x' * 100_000}}
        statuses = [client.ask('POST', '/v1/nodes', body).status_int for _ in range(20)]
        assert statuses[-1] == 503
        assert set(statuses) <= {201, 503}
        assert len(client.get('/v1/nodes')['nodes']) == statuses.count(201)
        limit(100_000)
        assert client.ask('POST', '/v1/nodes', body).status_int == 201


def test_deleted_sqlite_file_is_noticed(tmp_path):
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


def test_missing_column_is_a_500(database_url):
    """A missing column is not an outage: the response is 500, and the log has the cause."""
    with make_app(database_url) as app:
        client = Client(app)
        with app.service.write() as connection:
            connection.exec_driver_sql('ALTER TABLE nodes RENAME COLUMN fault TO other')
        try:
            response = client.ask('GET', '/v1/nodes/detail')
            assert (response.status_int, response.json['code']) == (500, 'baremetal.internal_error')
        finally:
            # SQLite renames with the cached schema of a connection, which may be outdated here.
            app.service.database.close()
            with app.service.write() as connection:
                connection.exec_driver_sql('ALTER TABLE nodes RENAME COLUMN other TO fault')
