"""Nodes of a real Ironic that are held there, too (``[mirror] claims``)."""

import contextlib
import os
import queue
import random
import shutil
import signal
import threading
import time
import uuid
from http.server import ThreadingHTTPServer

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.types import now
from tests.support.claims import GOLD, INSTANCES, Relay, Side
from tests.support.client import Client, message
from tests.support.concurrency import at_once, process
from tests.support.mirror import catch_up, clouds_file, differences, follower, make_available
from tests.support.service import make_app, upgraded


@pytest.fixture
def relay(real_ironic, tmp_path, monkeypatch):
    """A Relay server, which is the cloud "far" of clouds.yaml."""
    server = ThreadingHTTPServer(('127.0.0.1', 0), Relay)
    server.ironic, server.fault, server.victims, server.seen = real_ironic.url, None, queue.SimpleQueue(), []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    clouds_file(tmp_path / 'clouds.yaml', far=f'http://127.0.0.1:{server.server_port}')
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(tmp_path / 'clouds.yaml'))
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope='module')
def empty_database(tmp_path_factory):
    """A SQLite database with the newest schema, which is copied: these tests are not about SQL."""
    path = tmp_path_factory.mktemp('database') / 'empty.sqlite'
    upgraded(f'sqlite:///{path}')
    return path


@pytest.fixture
def side(real_ironic, relay, empty_database, tmp_path):
    """A Side with three nodes."""
    shutil.copy(empty_database, tmp_path / 'claims.sqlite')
    url = f'sqlite:///{tmp_path}/claims.sqlite'
    with make_app(url, mirror__claims='instance_uuid') as app:
        yield Side(real_ironic, app, url, 3)


def test_reservation_is_held_on_both_sides(side):
    """Until it is deleted; and again and again for the same instance."""
    reservation = side.reserve()
    node = reservation['node_uuid']
    assert (node, side.there(node)) == (side.nodes[0], INSTANCES[0])
    assert side.here(node) == (INSTANCES[0], reservation['uuid'])
    shown = side.client.get('/v1/mirrors/far')
    assert (shown['claims'], shown['unsettled_claims'], shown['oldest_unsettled_claim']) == (1, 0, None)
    assert side.reserve(status=200) == reservation
    assert side.mirror.catch_up()
    assert list(differences(side.client, side.ironic, 'far')) == []
    side.delete(f'/v1/reservations/{reservation["uuid"]}')
    assert side.is_free(node)
    assert side.reserve()['node_uuid'] in side.nodes


def test_holder_can_allocate_the_node_in_placement(side):
    """As without claims; and nobody else can."""
    node = side.reserve()['node_uuid']
    claim = {
        'allocations': {node: {'resources': {'CUSTOM_GOLD': 1}}},
        'project_id': 'p', 'user_id': 'u', 'consumer_generation': None, 'consumer_type': 'INSTANCE',
    }  # fmt: skip
    assert side.client.placement('PUT', f'/allocations/{INSTANCES[1]}', claim).status_int == 409
    assert side.client.placement('PUT', f'/allocations/{INSTANCES[0]}', claim).status_int == 204


def test_lost_race(side):
    """The next node is tried; without one, the reason is stated, and nothing is held here."""
    side.ironic.patch(f'/v1/nodes/{side.nodes[0]}', instance_uuid=INSTANCES[8])
    reservation = side.reserve()
    assert reservation['node_uuid'] == side.nodes[1]
    assert side.here(side.nodes[0]) == (INSTANCES[8], None)
    side.ironic.ask('PUT', f'/v1/nodes/{side.nodes[2]}/maintenance', {})
    response = side.reserve(1, status=409, node_uuid=side.nodes[2])
    (reason,) = response.json['reasons']
    assert (reason['reason'], reason['message']) == ('cloud', 'It is in maintenance in its cloud far.')
    assert side.there(side.nodes[2]) is None


def test_instance_on_another_node_there(side):
    """The mirror does not know it yet."""
    side.ironic.patch(f'/v1/nodes/{side.nodes[2]}', instance_uuid=INSTANCES[0])
    response = side.reserve(status=409)
    assert message(response) == f'Instance {INSTANCES[0]} is already on another node of cloud far.'
    assert side.is_free(side.nodes[0])


def test_several_nodes_or_none(side):
    body = {'instance_uuids': INSTANCES[:3], **GOLD}
    side.ironic.patch(f'/v1/nodes/{side.nodes[1]}', instance_uuid=INSTANCES[8])
    response = side.client.ask('POST', '/v1/reservations', body)
    assert response.status_int == 409
    assert [side.there(node) for node in side.nodes] == [None, INSTANCES[8], None]
    assert side.client.get('/v1/reservations')['reservations'] == []
    body['instance_uuids'] = INSTANCES[:2]
    response = side.client.ask('POST', '/v1/reservations', body)
    assert response.status_int == 201
    assert [side.there(node) for node in side.nodes] == [INSTANCES[0], INSTANCES[8], INSTANCES[1]]


def test_expiry(side):
    """The node is not offered before its instance is removed there."""
    node = side.reserve(0, **GOLD, expires_in=60)['node_uuid']
    side.pass_time()
    assert side.here(node) == (INSTANCES[0], None)
    assert node not in [each['uuid'] for each in side.client.ask('POST', '/v1/matches', GOLD).json['nodes']]
    assert side.mirror.catch_up()
    assert side.is_free(node)


@pytest.mark.parametrize('is_confirmed', [True, False])
def test_deploy_there(side, relay, is_confirmed):
    """By a client of the cloud that uses the same instance, as nova does. Also if the response here was a 503."""
    relay.fault = None if is_confirmed else ('take', 'after', 500)
    side.reserve(0, 201 if is_confirmed else 503, **GOLD, expires_in=60)
    node = side.nodes[0]
    replace = [{'op': 'replace', 'path': '/instance_uuid', 'value': INSTANCES[0]}]
    side.ironic.ask('PATCH', f'/v1/nodes/{node}', replace)
    side.ironic.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': 'active'})
    deadline = time.monotonic() + 60
    while side.ironic.ask('GET', f'/v1/nodes/{node}')['provision_state'] != 'active':
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # It expires before the mirror has seen the deploy.
    side.pass_time()
    for _ in range(3):
        assert side.mirror.catch_up()
    assert (side.there(node), side.here(node)) == (INSTANCES[0], (INSTANCES[0], None))
    assert list(differences(side.client, side.ironic, 'far')) == []
    assert side.claims() == 0


def test_instance_is_removed_there(side):
    """By another client of the cloud. Then nothing is held here, either."""
    node = side.reserve()['node_uuid']
    side.ironic.ask('PATCH', f'/v1/nodes/{node}', [{'op': 'remove', 'path': '/instance_uuid'}])
    for _ in range(2):
        assert side.mirror.catch_up()
    assert side.is_free(node)
    assert side.events(node)[-1].endswith(f' ended: instance {INSTANCES[0]} was removed from the node in cloud far.')


def test_allocation(side):
    """It is held there by its uuid, until it is deleted."""
    response = side.client.ask('POST', '/v1/allocations', {'resource_class': 'gold', 'name': 'first'})
    allocation = response.json
    node = allocation['node_uuid']
    assert (response.status_int, allocation['state'], side.there(node)) == (201, 'active', allocation['uuid'])
    assert side.mirror.catch_up()
    assert side.client.get(f'/v1/nodes/{node}')['allocation_uuid'] == allocation['uuid']
    side.delete('/v1/allocations/first')
    assert side.is_free(node)
    side.ironic.patch(f'/v1/nodes/{side.nodes[0]}', instance_uuid=INSTANCES[8])
    candidates = {'resource_class': 'gold', 'candidate_nodes': [side.nodes[0]]}
    failed = side.client.ask('POST', '/v1/allocations', candidates).json
    assert (failed['state'], failed['node_uuid']) == ('error', None)


def test_claims_of_single_clouds(side):
    """A cloud that is not asked does not take part in allocations, and reservations hold its nodes here only."""
    options = side.app.service.conf
    options.set_override('claims_by_cloud', {'far': 'nothing'}, group='mirror')
    assert side.there(side.reserve()['node_uuid']) is None
    failed = side.client.ask('POST', '/v1/allocations', {'resource_class': 'gold'}).json
    assert failed['state'] == 'error'
    assert 'eligible:cloud 3' in failed['last_error']
    options.set_override('claims', '', group='mirror')
    options.set_override('claims_by_cloud', {'far': 'instance_uuid'}, group='mirror')
    assert side.there(side.reserve(1)['node_uuid']) == INSTANCES[1]
    assert side.client.ask('POST', '/v1/allocations', {'resource_class': 'gold'}).json['state'] == 'active'


def test_own_nodes_when_the_cloud_is_down(side):
    own = side.client.node(name='own', resource_class='gold')
    with side.app.service.write() as connection:
        nodes = tables.nodes
        connection.execute(
            sa.update(nodes).where(nodes.c.uuid == own['uuid'])
            .values(provision_state='available', power_state='power off', target_provision_state=None, reservation=None)
        )  # fmt: skip
        connection.execute(sa.update(tables.mirror_clouds).values(failing_since=now(), last_error='It is silent.'))
    assert side.reserve()['node_uuid'] == own['uuid']
    (reason,) = side.reserve(1, status=409, node_uuid=side.nodes[0]).json['reasons']
    assert (reason['reason'], reason['message'][-14:]) == ('cloud', ' It is silent.')
    clauses = {each['clause']: each for each in side.reserve(1, status=409).json['explanation']['clauses']}
    assert clauses['eligible:cloud']['rejected_only'] == 3


@pytest.mark.parametrize('moment', ['before', 'after'])
def test_unknown_outcome(side, relay, moment):
    """The client gets a 503, and the mirror undoes what has happened."""
    relay.fault = ('take', moment, 500)
    response = side.reserve(status=503)
    assert message(response).startswith('Cloud far has not confirmed that it holds what was requested: ')
    node = side.nodes[0]
    assert side.there(node) == (INSTANCES[0] if moment == 'after' else None)
    assert side.reserve(status=503).json['code'] == 'baremetal.mirror.claim_unconfirmed'
    assert side.mirror.catch_up()
    assert side.is_free(node)
    # The request that was not answered is carried out only now.
    side.ironic.patch(f'/v1/nodes/{node}', instance_uuid=INSTANCES[0])
    for _ in range(2):
        assert side.mirror.catch_up()
    assert side.is_free(node)
    assert side.reserve()['node_uuid'] in side.nodes


def _reserve(url, clouds):
    os.environ['OS_CLIENT_CONFIG_FILE'] = clouds
    with make_app(url, mirror__claims='instance_uuid') as app:
        Client(app).ask('POST', '/v1/reservations', {'instance_uuid': INSTANCES[0], **GOLD})


def _delete(url, clouds, uuid):
    os.environ['OS_CLIENT_CONFIG_FILE'] = clouds
    with make_app(url, mirror__claims='instance_uuid') as app:
        Client(app).ask('DELETE', f'/v1/reservations/{uuid}')


def _follow(url, clouds, interval=0.1):
    os.environ['OS_CLIENT_CONFIG_FILE'] = clouds
    with make_app(url, mirror__claims='instance_uuid') as app:
        follower(app, interval=interval).run()


def _clouds():
    """Return the value of the variable for processes that were started before it was set."""
    return os.environ['OS_CLIENT_CONFIG_FILE']


@pytest.mark.parametrize('moment', ['before', 'after'])
def test_process_is_killed_while_it_takes_a_node(side, relay, moment):
    relay.fault = ('take', moment, 'kill')
    _end(relay, process(_reserve, side.url, _clouds()))
    node = side.nodes[0]
    assert side.there(node) == (INSTANCES[0] if moment == 'after' else None)
    assert side.here(node)[1]
    # Before the deadline, nothing is undone.
    assert side.mirror.catch_up()
    assert side.here(node)[1]
    shown = side.client.get('/v1/mirrors/far')
    assert (shown['claims'], shown['unsettled_claims'], bool(shown['oldest_unsettled_claim'])) == (1, 1, True)
    health = side.client.ask('GET', '/healthcheck?detailed', headers={'Accept': 'application/json'}).text
    assert '; 1 of 1 claims are not settled, the oldest of ' in health
    side.pass_time()
    assert side.mirror.catch_up()
    assert side.is_free(node)


@pytest.mark.parametrize('moment', ['before', 'after'])
@pytest.mark.parametrize('who', ['service', 'mirror'])
def test_process_is_killed_while_it_gives_a_node_back(side, relay, moment, who):
    reservation = side.reserve(0, **GOLD, expires_in=60)
    node = reservation['node_uuid']
    relay.fault = ('remove', moment, 'kill')
    if who == 'mirror':
        side.stop_mirror()
        side.pass_time()
        killed = process(_follow, side.url, _clouds())
    else:
        killed = process(_delete, side.url, _clouds(), reservation['uuid'])
    _end(relay, killed)
    assert side.there(node) == (INSTANCES[0] if moment == 'before' else None)
    assert side.here(node) == (INSTANCES[0], None)
    # Another process may still be at it, until its deadline.
    side.pass_time()
    catch_up(side.mirror)
    assert side.is_free(node)


def _end(relay, killed):
    relay.victims.put(killed.pid)
    killed.join(30)
    killed.kill()
    killed.join()
    assert relay.fault is None
    assert killed.exitcode == -signal.SIGKILL


def test_race(side, real_ironic):
    """16 clients here and 16 there take and free the same nodes, while the mirror is killed: each has one holder."""
    nodes = side.nodes + [real_ironic.node(name=f'more{number}', resource_class='gold') for number in range(27)]
    make_available(real_ironic.directory)
    assert side.mirror.catch_up()
    side.stop_mirror()
    theirs: dict[str, str] = {}
    stop = time.monotonic() + 6

    def take(client, number):
        if number >= 16:
            # Few allocate: each allocation is a search of the conductor.
            _take_there(real_ironic, nodes, theirs, stop) if number < 30 else _allocate_there(real_ironic, nodes, stop)
            return
        while time.monotonic() < stop:
            body = {'instance_uuids': [str(uuid.uuid4()) for _ in range(number % 3 + 1)], **GOLD}
            held = client.ask('POST', '/v1/reservations', body).json.get('reservations', [])
            for each in held[1:]:
                client.ask('DELETE', f'/v1/reservations/{each["uuid"]}')
            if not held:
                time.sleep(0.2)

    def kill():
        while time.monotonic() < stop:
            mirror = process(_follow, side.url, _clouds(), 0.3)
            time.sleep(2)
            mirror.kill()
            mirror.join()

    killer = threading.Thread(target=kill)
    killer.start()
    at_once([side.client] * 32, take)
    killer.join()
    side.pass_time()
    for _ in range(2):
        catch_up(side.mirror)
    here = {each['node_uuid']: each['instance_uuid'] for each in side.client.get('/v1/reservations')['reservations']}
    there = {node['uuid']: node['instance_uuid'] for node in real_ironic.all('nodes').values()}
    allocations = real_ironic.all('allocations').values()
    theirs |= {each['node_uuid']: each['uuid'] for each in allocations if each['state'] == 'active'}
    assert here.keys().isdisjoint(theirs)
    assert {node: instance for node, instance in there.items() if instance} == here | theirs
    assert [each for each in differences(side.client, real_ironic, 'far') if each[0] == 'allocations'] == []


def _take_there(ironic, nodes, theirs, stop):
    while time.monotonic() < stop:
        node, instance = random.choice(nodes), str(uuid.uuid4())
        # Under load, SQLite and the HTTP server of Ironic refuse some requests: what counts is what it says afterwards.
        with contextlib.suppress(RuntimeError, OSError):
            ironic.patch(f'/v1/nodes/{node}', instance_uuid=instance)
        if _instance(ironic, node) == instance:
            theirs[node] = instance
            time.sleep(random.random())
            if random.random() < 0.7:
                assert _instance(ironic, node) == instance
                with contextlib.suppress(RuntimeError, OSError):
                    ironic.ask('PATCH', f'/v1/nodes/{node}', [{'op': 'remove', 'path': '/instance_uuid'}])
                if _instance(ironic, node) != instance:
                    del theirs[node]
        time.sleep(0.1)


def _allocate_there(ironic, nodes, stop):
    """Allocate nodes there, and free most of them again."""
    while time.monotonic() < stop:
        with contextlib.suppress(RuntimeError, OSError):
            allocation = ironic.allocate(resource_class='gold', candidate_nodes=[random.choice(nodes)])
            time.sleep(random.random() if allocation['state'] == 'active' else 0)
            if allocation['state'] != 'active' or random.random() < 0.7:
                ironic.ask('DELETE', f'/v1/allocations/{allocation["uuid"]}')
        time.sleep(0.2)


def _instance(ironic, node):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(RuntimeError, OSError):
            return ironic.ask('GET', f'/v1/nodes/{node}')['instance_uuid']
        time.sleep(0.1)
    raise TimeoutError(node)
