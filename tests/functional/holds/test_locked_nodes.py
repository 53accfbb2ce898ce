"""Requests for locked nodes wait for the lock, and do not block other requests."""

import concurrent.futures
import contextlib
import itertools
import json
import time
import urllib.request

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support.client import Client
from tests.support.service import ForkedServer, finish_work, make_app, worker

#: Seconds: longer than any request takes, and shorter than the tests wait.
LONG = {'deploy__node_locked_retry_attempts': 60}
SHORT = {'deploy__node_locked_retry_attempts': 2, 'deploy__node_locked_retry_interval': 0.1}
OFF = {'deploy__node_locked_retry_attempts': 0}


@contextlib.contextmanager
def clients(database_url, **options):
    with make_app(database_url, **options) as app:
        yield app, Client(app)


def set_lock(app, uuid, host):
    """Lock or unlock a node."""
    with app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).where(tables.nodes.c.uuid == uuid).values(reservation=host))


def records(client, node):
    """Create one of each record of a node.

    :returns: {noun: its path}.
    """
    bodies = {
        'ports': {'address': 'aa:bb:cc:00:00:02'},
        'portgroups': {},
        'volume/connectors': {'type': 'iqn', 'connector_id': 'a'},
        'volume/targets': {'volume_type': 'iscsi', 'boot_index': 0, 'volume_id': 'a'},
    }
    existing = {
        noun: client.ask('POST', f'/v1/{noun}', body | {'node_uuid': node}).json for noun, body in bodies.items()
    }
    return {noun: f'/v1/{noun}/{record["uuid"]}' for noun, record in existing.items()}


def writes(client, node):
    """Return every request that a lock delays, [(method, path, body), …]. The last one deletes the node."""
    patch = [{'op': 'add', 'path': '/extra/a', 'value': 1}]
    paths = records(client, node).values()
    states = f'/v1/nodes/{node}/states'
    return [
        *(('PATCH', path, patch) for path in paths),
        *(('DELETE', path, None) for path in paths),
        ('PUT', f'{states}/power', {'target': 'power off'}),
        ('PUT', f'{states}/provision', {'target': 'manage'}),
        ('DELETE', f'/v1/nodes/{node}', None),
    ]


def test_every_write_waits(database_url):
    """A write to a locked node succeeds as soon as the lock is released."""
    with clients(database_url, **LONG) as (app, client), concurrent.futures.ThreadPoolExecutor() as pool:
        node = client.node()['uuid']
        client.ask('PUT', f'/v1/nodes/{node}/states/power', {'target': 'power off'})
        finish_work(app)
        for method, path, body in writes(client, node):
            set_lock(app, node, 'another')
            response = pool.submit(client.ask, method, path, body)
            with pytest.raises(concurrent.futures.TimeoutError):
                response.result(0.1)
            # A waiting request holds no row lock: others can write to the node.
            assert client.ask('PUT', f'/v1/nodes/{node}/maintenance').status_int == 202
            assert client.ask('DELETE', f'/v1/nodes/{node}/maintenance').status_int == 202
            set_lock(app, node, None)
            assert response.result(30).status_int in (200, 202, 204), (method, path)
            finish_work(app)


@pytest.mark.parametrize('options', [SHORT, OFF])
def test_the_wait_ends(database_url, options):
    with clients(database_url, **options) as (app, client):
        node = client.node()['uuid']
        for method, path, body in writes(client, node):
            set_lock(app, node, 'another')
            begun = time.monotonic()
            response = client.ask(method, path, body)
            assert (response.status_int, response.json['code']) == (409, 'baremetal.node.locked'), (method, path)
            assert 'is locked by host another, please retry' in response.text
            if options is SHORT:
                assert time.monotonic() - begun >= 0.2


def test_number_of_waiting_requests_is_limited(database_url):
    """With four threads, one request may wait. More requests for locked nodes are refused. Reads succeed."""
    with (
        clients(database_url, **LONG, api__threads=4) as (app, client),
        concurrent.futures.ThreadPoolExecutor() as pool,
    ):
        node = client.node()['uuid']
        set_lock(app, node, 'another')
        power = ('PUT', f'/v1/nodes/{node}/states/power', {'target': 'power on'})
        futures = [pool.submit(client.ask, *power) for _ in range(3)]
        refused = [
            future.result().status_int for future in itertools.islice(concurrent.futures.as_completed(futures), 2)
        ]
        assert refused == [409, 409]
        begun = time.monotonic()
        assert [client.ask(*power).status_int for _ in range(5)] == [409] * 5
        assert client.get(f'/v1/nodes/{node}')['reservation'] == 'another'
        assert time.monotonic() - begun < 30
        (waiting,) = [future for future in futures if not future.done()]
        set_lock(app, node, None)
        assert waiting.result(30).status_int == 202
        assert app.service.waiters.acquire(blocking=False)


def test_a_service_with_one_thread_does_not_wait(database_url):
    with clients(database_url, **LONG, api__threads=1) as (app, client):
        node = client.node()['uuid']
        set_lock(app, node, 'another')
        assert client.ask('PUT', f'/v1/nodes/{node}/states/power', {'target': 'power on'}).status_int == 409


def test_no_request_waits_for_a_node_in_a_wait_state(app, client):
    """Requests do not wait for a wait state, which may last half an hour."""
    node = client.node(driver_info={'fake_delays': {'inspect': 300}})['uuid']
    with app.service.write() as connection:
        connection.execute(
            sa.update(tables.nodes).where(tables.nodes.c.uuid == node).values(provision_state='inspect wait')
        )
    # For another lock, the request would wait for a minute.
    app.service.conf.set_override('node_locked_retry_interval', 20, group='deploy')
    begun = time.monotonic()
    response = client.ask('PUT', f'/v1/nodes/{node}/states/power', {'target': 'power on'})
    assert (response.status_int, response.json['code']) == (409, 'baremetal.node.locked')
    assert time.monotonic() - begun < 20


def test_consecutive_requests(app, client, database_url):
    """As with Ironic, consecutive requests of a client without retries succeed."""
    node = client.node()['uuid']
    states = f'/v1/nodes/{node}/states'
    with worker(database_url):
        for target in ('power on', 'power off', 'rebooting', 'power off'):
            assert client.ask('PUT', f'{states}/power', {'target': target}).status_int == 202
        for path in records(client, node).values():
            assert client.ask('PATCH', path, [{'op': 'add', 'path': '/extra/a', 'value': 1}]).status_int == 200
        for target in ('manage', 'inspect', 'provide', 'active', 'rebuild', 'deleted', 'manage'):
            assert client.ask('PUT', f'{states}/provision', {'target': target}).status_int == 202, target
        assert client.ask('DELETE', f'/v1/nodes/{node}').status_int == 204


def test_a_request_wakes_the_worker(client, database_url, tmp_path):
    """A request wakes a worker with a poll interval of five minutes at once. The worker also stops at once."""
    config = tmp_path / 'slow.conf'
    # Give the worker time to start.
    config.write_text('[deploy]\npoll_interval = 300\nnode_locked_retry_attempts = 60\n')
    node = client.node()['uuid']
    with ForkedServer(database_url, '--config-file', str(config)) as server:
        begun = time.monotonic()
        with make_app(database_url) as app:
            client = Client(app)
            path = f'/v1/nodes/{node}/states'
            for target in ('power on', 'power off') * 4:
                assert _put(server, f'{path}/power', {'target': target}) == 202
            while client.get(path)['target_power_state']:
                assert time.monotonic() - begun < 120
                time.sleep(0.02)
    assert time.monotonic() - begun < 180


def _put(server, path, body):
    headers = {'Content-Type': 'application/json', 'X-OpenStack-Ironic-API-Version': '1.82'}
    request = urllib.request.Request(server.base + path, json.dumps(body).encode(), headers, method='PUT')
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.status
