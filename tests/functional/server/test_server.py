"""The service as a process: start, end, and kill -9."""

import concurrent.futures
import contextlib
import functools
import http.client
import json
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.parse

import pytest

from ironic_traits.db import revisions
from tests.support import commands, servers
from tests.support.concurrency import wait_until
from tests.support.http_client import ask, make
from tests.support.service import ForkedServer, Server
from tests.support.terminal import descendants, is_running


def test_in_an_empty_directory(tmp_path):
    """In an empty directory, the service creates its database, and prints examples."""
    with Server(None, cwd=tmp_path) as server:
        uuid = make(server.base)
        database = tmp_path / 'ironic-traits-data' / 'ironic-traits.sqlite'
        assert database.stat().st_mode & 0o777 == 0o600
        assert ask(server.base, 'GET', '/healthcheck')[0] == 200
        server.wait_for(f'{server.base}/v1/nodes?fields=name,traits')
    with Server(None, cwd=tmp_path) as again:
        assert ask(again.base, 'GET', f'/v1/nodes/{uuid}')[0] == 200


def test_options_from_files(tmp_path):
    """Options come from --config-file and --config-dir. The command line has precedence."""
    (tmp_path / 'one.conf').write_text(f'[DEFAULT]\nstate_path = {tmp_path}/there\nport = 1\n[api]\nmax_limit = 1\n')
    (tmp_path / 'more').mkdir()
    (tmp_path / 'more' / 'two.conf').write_text('[inventory]\nmax_traits_per_node = 1\n')
    arguments = ['--config-file', str(tmp_path / 'one.conf'), '--config-dir', str(tmp_path / 'more')]
    with ForkedServer(None, *arguments, '--nostart-worker', cwd=tmp_path) as server:
        first, _ = make(server.base), make(server.base)
        page = json.loads(ask(server.base, 'GET', '/v1/nodes')[2])
        assert [node['uuid'] for node in page['nodes']] == [first]
        traits = {'traits': ['CUSTOM_A', 'CUSTOM_B']}
        assert ask(server.base, 'PUT', f'/v1/nodes/{first}/traits', traits)[0] == 400
    assert (tmp_path / 'there' / 'ironic-traits.sqlite').exists()


def test_another_wsgi_server(tmp_path):
    """Another WSGI server can serve ironic_traits.wsgi:application."""
    conf = tmp_path / 'ironic-traits.conf'
    conf.write_text(
        f'[database]\nconnection = sqlite:///{tmp_path}/other.sqlite\n[api]\nnoauth_beyond_loopback = true\n'
    )
    program = (
        'from ironic_traits.wsgi import application; from wsgiref.util import setup_testing_defaults as defaults\n'
        'environ = {"PATH_INFO": "/v1/nodes"}; defaults(environ)\n'
        'print(b"".join(application(environ, lambda status, headers, exc_info=None: print(status))).decode())'
    )
    done = subprocess.run(
        [sys.executable, '-c', program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {'IRONIC_TRAITS_CONFIG_FILES': str(conf)},
    )
    assert done.stdout == '200 OK\n{"nodes":[]}\n', done.stderr


def test_old_schema(new_database, database_kind, tmp_path):
    """The service refuses an old schema on a database server, and upgrades a SQLite file."""
    url = new_database()
    server = ForkedServer(url, cwd=tmp_path)
    if database_kind == 'sqlite':
        server.wait()
        server.stop()
        return
    assert server.process.wait(60) == 1
    assert 'ironic-traits-manage db upgrade' in server.output
    assert 'Traceback' not in server.output

    def manage(*arguments):
        return commands.run('ironic-traits-manage', '--database', url, 'db', *arguments, cwd=tmp_path)

    assert manage('version').stdout == 'none\n'
    assert manage('check').returncode == 1
    assert manage('upgrade').stdout.strip() == revisions.newest()
    assert manage('check').returncode == 0
    with ForkedServer(url, '--workers', '2', '--nostart-worker', cwd=tmp_path) as upgraded:
        assert make(upgraded.base)


def test_ports_of_tests(monkeypatch):
    """No client and no other process of the tests gets the port of a server, however long the server takes to start."""
    monkeypatch.setenv('PYTEST_XDIST_WORKER_COUNT', '2')
    found = []
    for worker in ('gw0', 'gw1'):
        monkeypatch.setenv('PYTEST_XDIST_WORKER', worker)
        monkeypatch.setattr(servers, '_ports', functools.cache(servers._ports.__wrapped__))
        found.append({servers.free_port() for _ in range(50)})
    assert [len(each) for each in found] == [50, 50]
    assert found[0].isdisjoint(found[1])
    first_of_clients = int(pathlib.Path('/proc/sys/net/ipv4/ip_local_port_range').read_text().split()[0])
    assert max(found[0] | found[1]) < first_of_clients


def test_sigterm_finishes_what_is_in_flight(tmp_path):
    """A write that waits for a lock succeeds, although the service gets SIGTERM during the wait."""
    database = tmp_path / 'slow.sqlite'
    with Server(f'sqlite:///{database}', cwd=tmp_path) as server:
        uuid = make(server.base)
        with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as lock:
            lock.execute('BEGIN IMMEDIATE')
            responses = []
            path = f'/v1/nodes/{uuid}/traits/CUSTOM_A'
            writer = threading.Thread(target=lambda: responses.append(ask(server.base, 'PUT', path)[0]))
            writer.start()
            time.sleep(0.5)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            lock.execute('ROLLBACK')
        writer.join(30)
        assert responses == [204]
        server.process.wait(30)
    with ForkedServer(f'sqlite:///{database}', '--nostart-worker', cwd=tmp_path) as again:
        assert b'CUSTOM_A' in ask(again.base, 'GET', f'/v1/nodes/{uuid}/traits')[2]


def test_kill_loses_no_acknowledged_write(shared_database_url, database_url, tmp_path):
    """If the service is killed while four clients write, each acknowledged node and list of traits is complete."""
    acknowledged = {}

    def write(number, base):
        for i in range(1000):
            traits = sorted(f'CUSTOM_{number}_{i}_{j}' for j in range(10))
            try:
                uuid = make(base, name=f'node-{number}-{i}')
                status, _, _ = ask(base, 'PUT', f'/v1/nodes/{uuid}/traits', {'traits': traits})
            except (OSError, http.client.HTTPException):
                return
            assert status == 200
            acknowledged[uuid] = traits

    server = ForkedServer(database_url, '--workers', '2', '--nostart-worker', cwd=tmp_path).wait()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write, number, server.base) for number in range(4)]
        deadline = time.monotonic() + 60
        while len(acknowledged) < 100 and time.monotonic() < deadline:
            time.sleep(0.01)
        children = subprocess.run(['pgrep', '-P', str(server.process.pid)], capture_output=True, text=True)
        for pid in [server.process.pid, *map(int, children.stdout.split())]:
            os.kill(pid, signal.SIGKILL)
        for writer in writers:
            writer.result()
    server.process.wait()
    assert acknowledged
    with ForkedServer(database_url, '--nostart-worker', cwd=tmp_path) as again:
        path, stored = '/v1/nodes?fields=uuid,traits', {}
        while path:
            page = json.loads(ask(again.base, 'GET', path)[2])
            stored |= {node['uuid']: node['traits'] for node in page['nodes']}
            path = page.get('next')
    assert acknowledged.items() <= stored.items()
    assert all(len(traits) in (0, 10) for traits in stored.values())


def test_kill_leaves_no_process(tmp_path):
    """The workers end with the process that started them, and no process listens on the port."""
    server = Server(None, '--workers', '2', cwd=tmp_path).wait()
    # Two of the API, of which the first may answer before the second is there, and one that performs transitions.
    server.wait_until(lambda: len(descendants(server.process.pid)) >= 3)
    processes = descendants(server.process.pid)
    assert len(processes) >= 3
    server.process.kill()
    server.process.wait()
    wait_until(lambda: not any(map(is_running, processes)) and not server.is_listening(), 20)


def test_port_in_use(running, tmp_path):
    """A second service on the port reports this and ends. The first one keeps running."""
    port = running.base.rsplit(':', 1)[1]
    second = commands.run('ironic-traits-api', '--port', port, cwd=tmp_path)
    assert second.returncode == 1
    assert second.stderr == f'Cannot listen on 127.0.0.1, port {port}: Address already in use\n'
    assert not (tmp_path / 'ironic-traits-data').exists()


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        (None, 'Failed to find some config files'),
        ('no options here', 'wrong.conf'),
        ('[inventory]\nmax_traits_per_node = 51\n', 'less than or equal to 50'),
        ('[deploy]\nenabled_hardware_types = ipmi\n', 'not installed: ipmi'),
    ],
)
def test_invalid_configuration(text, reason, tmp_path):
    """The service prints one sentence before it listens or creates files."""
    if text:
        (tmp_path / 'wrong.conf').write_text(text)
    options = ['--config-file', 'wrong.conf', '--port', str(servers.free_port())]
    done = commands.run('ironic-traits-api', *options, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith('The configuration cannot be used: ')
    assert reason in done.stderr
    assert 'Traceback' not in done.stderr
    assert not (tmp_path / 'ironic-traits-data').exists()


@pytest.mark.parametrize(
    ('url', 'reason'),
    [
        ('nonsense', 'Could not parse'),
        ('nonsense://host/name', 'database nonsense is not supported'),
        ('sqlite://', 'must be a file'),
        ('sqlite:////proc/nowhere/x.sqlite', 'No such file or directory'),
        ('postgresql+psycopg://tests:hush@127.0.0.1:{port}/name', '127.0.0.1'),
        ('postgresql+psycopg2://tests:hush@127.0.0.1:{port}/name', '127.0.0.1'),
        ('mysql+pymysql://tests:hush@127.0.0.1:{port}/name', '127.0.0.1'),
    ],
)
@pytest.mark.parametrize('command', [['ironic-traits-api'], ['ironic-traits-manage', 'db', 'upgrade']])
def test_unusable_database(url, reason, command, tmp_path):
    """The service prints one sentence, without the password."""
    program, *arguments = command
    options = ['--database', url.format(port=servers.free_port()), '--port', str(servers.free_port())]
    done = commands.run(program, *options, *arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith('The database cannot be used: ')
    assert reason in done.stderr
    assert 'hush' not in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    'command', [['ironic-traits-api'], ['ironic-traits-worker'], ['ironic-traits-manage', 'db', 'upgrade']]
)
def test_a_schema_from_the_future(command, tmp_path):
    """The service prints one sentence, and leaves the database alone."""
    path = tmp_path / 'newer.sqlite'
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE alembic_version AS SELECT '9999' AS version_num")
        connection.commit()
    program, *arguments = command
    options = ['--database', f'sqlite:///{path}', '--port', str(servers.free_port())]
    done = commands.run(program, *options, *arguments)
    assert done.returncode == 1
    assert 'at version 9999, which belongs to a newer release' in done.stderr
    assert 'Traceback' not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_logs_carry_the_request_id(tmp_path):
    """A 500 does not show the text of the exception."""
    database = tmp_path / 'broken.sqlite'
    server = ForkedServer(f'sqlite:///{database}', '--nostart-worker', cwd=tmp_path).wait()
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute('DROP TABLE node_traits')
    status, headers, body = ask(server.base, 'GET', '/v1/nodes/detail')
    assert status == 200 or b'node_traits' not in body
    uuid = make_without_traits(server.base)
    status, headers, body = ask(server.base, 'GET', f'/v1/nodes/{uuid}/traits')
    printed = server.stop()
    assert status == 500
    assert b'node_traits' not in body
    assert json.loads(body)['code'] == 'baremetal.internal_error'
    line = next(line for line in printed.splitlines() if f'GET /v1/nodes/{uuid}/traits failed' in line)
    assert headers['x-openstack-request-id'] in line


def make_without_traits(base):
    """Create a node at a version that needs no table of traits."""
    status, _, body = ask(
        base, 'POST', '/v1/nodes', {'driver': 'fake-hardware'}, {'X-OpenStack-Ironic-API-Version': '1.36'}
    )
    assert status == 201, body
    return json.loads(body)['uuid']


def test_a_global_request_id_is_logged(tmp_path):
    """The log has the request id that nova sends, so that operators find the request."""
    with ForkedServer(None, '--debug', '--nostart-worker', cwd=tmp_path) as server:
        global_id = 'req-5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a001'
        _, headers, _ = ask(server.base, 'GET', '/v1/nodes', headers={'X-OpenStack-Request-ID': global_id})
        forged = 'req-x\nforged'
        ask(server.base, 'GET', '/v1/nodes', headers={'X-OpenStack-Request-ID': urllib.parse.quote(forged)})
        printed = server.stop()
    assert headers['x-openstack-request-id'] != global_id
    assert any(global_id in line and headers['x-openstack-request-id'] in line for line in printed.splitlines())
    assert 'forged' not in printed


@pytest.mark.parametrize(
    'raw',
    [
        b'GARBAGE\r\n\r\n',
        b'GET /v1 HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n',
        b'GET /%ff HTTP/1.1\r\nHost: x\r\n\r\n',
        b'GET /v1/nodes?fields=%ff HTTP/1.1\r\nHost: x\r\n\r\n',
        b'GET /v1/nodes/%00 HTTP/1.1\r\nHost: x\r\n\r\n',
        b'PUT /v1/nodes/x/traits HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n',
        b'GET /v1/nodes?traits=' + b'A' * 100_000 + b' HTTP/1.1\r\nHost: x\r\n\r\n',
        b'GET /v1 HTTP/1.1\r\nHost: x\r\nX-OpenStack-Ironic-API-Version: \xff\r\n\r\n',
    ],
    ids=lambda raw: raw[:30].decode(errors='replace').strip(),
)
def test_malformed_requests(running, raw):
    port = int(running.base.rsplit(':', 1)[1])
    with contextlib.closing(socket.create_connection(('127.0.0.1', port), timeout=20)) as connection:
        connection.sendall(raw)
        response = connection.recv(1000)
    # The server drops headers that are not text, so the last request has no version.
    assert response.startswith(b'HTTP/1.1 2' if raw.endswith(b'\xff\r\n\r\n') else b'HTTP/1.1 4'), response
    assert ask(running.base, 'GET', '/v1')[0] == 200


@pytest.fixture(scope='module')
def running(tmp_path_factory):
    with ForkedServer(None, '--nostart-worker', cwd=tmp_path_factory.mktemp('running')) as server:
        yield server


def test_paths_in_other_alphabets(running):
    status, _, body = ask(running.base, 'GET', '/v1/nodes/' + urllib.parse.quote('é😀'))
    assert status == 400
    assert 'é😀' in json.loads(body)['error_message']


def test_a_long_list_of_traits(running):
    """A query can have fifty names of 255 characters."""
    names = ','.join('CUSTOM_' + f'{i:0248}' for i in range(50))
    assert ask(running.base, 'GET', f'/v1/nodes?traits={names}')[0] == 200


def test_database_outage(own_server, tmp_path):
    """During an outage, requests fail with 503 without the driver's message. The service recovers by itself."""
    server, url = own_server
    with ForkedServer(url, '--nostart-worker', cwd=tmp_path) as service:
        uuid = make(service.base)
        server.kill()
        for method, path in (('GET', '/v1/nodes'), ('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_A')):
            status, _, body = ask(service.base, method, path)
            assert status == 503
            assert json.loads(body)['code'] == 'baremetal.database_unavailable'
            assert b'127.0.0.1' not in body
        assert ask(service.base, 'GET', '/healthcheck')[0] == 503
        assert ask(service.base, 'GET', '/v1')[0] == 200
        server.start()
        assert ask(service.base, 'GET', '/healthcheck')[0] == 200
        assert ask(service.base, 'PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_A')[0] == 204
