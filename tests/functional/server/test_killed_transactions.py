"""A process that is killed in the middle of a transaction of several requests loses all of them, and nothing else."""

import concurrent.futures
import contextlib
import http.client
import signal
import time

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support import freezing
from tests.support.http_client import ask
from tests.support.providers import GOLD, golden
from tests.support.reservations import instance
from tests.support.service import ForkedServer

#: How often the requests may miss each other, because the machine is busy.
ATTEMPTS = 20


def _allocate(base, node, consumer):
    """Allocate a node, and return the status; None if the connection ended without a response."""
    owners = {'project_id': 'project', 'user_id': 'user', 'consumer_generation': None, 'consumer_type': 'INSTANCE'}
    body = {'allocations': {node: {'resources': {GOLD: 1}}}, **owners}
    headers = {'OpenStack-API-Version': 'placement 1.39'}
    with contextlib.suppress(http.client.HTTPException, ConnectionError):
        return ask(base, 'PUT', f'/placement/allocations/{consumer}', body, headers)[0]


def _reserve(base, node, consumer):
    """Reserve any node for an instance, and return the status, as ``_allocate``."""
    with contextlib.suppress(http.client.HTTPException, ConnectionError):
        body, headers = {'instance_uuid': consumer, 'required': []}, {'X-OpenStack-Ironic-API-Version': '1.38'}
        return ask(base, 'POST', '/v1/reservations', body, headers)[0]


def _lock_consumer(connection, node, consumer):
    """Let an allocation for a consumer wait. Its transaction has written to the node by then."""
    row = {'uuid': consumer, 'project_id': 'other', 'user_id': 'other', 'generation': 0}
    connection.execute(sa.insert(tables.consumers).values(created_at=sa.func.now(), updated_at=sa.func.now(), **row))


def _lock_instance(connection, node, consumer):
    """Let a reservation for an instance wait. Its transaction has written to a node by then."""
    row = {'uuid': consumer, 'node_uuid': node, 'instance_uuid': consumer}
    connection.execute(sa.insert(tables.reservations).values(created_at=sa.func.now(), **row))


@contextlib.contextmanager
def locked(url, lock, node, consumer):
    """Keep a lock during the block."""
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        lock(connection, node, consumer)
        yield
        connection.rollback()
    engine.dispose()


def _holders(client):
    """Return the instances that have a reservation or an allocation."""
    reserved = {each['instance_uuid'] for each in client.get('/v1/reservations')['reservations']}
    paths = [f'/resource_providers/{each["uuid"]}/allocations' for each in client.get('/v1/nodes')['nodes']]
    return reserved.union(*(client.placement('GET', path).json['allocations'] for path in paths))


@pytest.mark.parametrize(
    ('send', 'lock'), [(_allocate, _lock_consumer), (_reserve, _lock_instance)], ids=['allocations', 'reservations']
)
def test_killed_in_the_middle(app, client, send, lock):
    url = app.service.database.url
    if url.get_backend_name() == 'sqlite':
        pytest.skip('its writers take turns')
    arguments = (url.render_as_string(hide_password=False), '--workers', '1', '--nostart-worker')
    for attempt in range(ATTEMPTS):
        pairs = [(golden(client), instance(4 * attempt + number)) for number in range(4)]
        # The lock is also on a node. With this one, there are enough others for all.
        golden(client)
        with (
            ForkedServer(*arguments) as server,
            concurrent.futures.ThreadPoolExecutor(4) as pool,
            locked(url, lock, *pairs[1]),
        ):
            with locked(url, lock, *pairs[0]):
                # The first one is at work when the others come, and wait for it.
                first = pool.submit(send, server.base, *pairs[0])
                time.sleep(0.2)
                others = [pool.submit(send, server.base, *pair) for pair in pairs[1:]]
                time.sleep(0.1)
            assert first.result() in (201, 204)
            # One of the others waits for the lock. Those that are carried out alone do not.
            done, _ = concurrent.futures.wait(others, 1)
            if not done:
                freezing.signal_all(server.process.pid, signal.SIGKILL)
                assert [each.result() for each in others] == [None] * 3
        if not done:
            break
    assert not done
    instances = {consumer for _, consumer in pairs}
    assert _holders(client) & instances == {pairs[0][1]}
    with ForkedServer(*arguments) as server:
        assert {send(server.base, *pair) for pair in pairs[1:]} <= {201, 204}
    assert _holders(client) >= instances
