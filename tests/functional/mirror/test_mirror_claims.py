"""Claims: nodes of a real Ironic that are held in both services (``[mirror] claims``)."""

import os
import signal
import threading
import time
import uuid

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.types import now
from tests.support.claims import GOLD, INSTANCES, Side, allocate_here, allocate_there, allocation_body, take_there
from tests.support.client import Client, message
from tests.support.concurrency import at_once, process
from tests.support.mirror import catch_up, differences, follower
from tests.support.service import make_app


@pytest.fixture
def any_side(real_ironic, relay, database_url):
    """A Side with some nodes, on each database."""
    with make_app(database_url, mirror__claims='instance_uuid') as app:
        yield Side(real_ironic, app, database_url, int(os.environ.get('IRONIC_TRAITS_RACE_NODES', 30)))


def test_reservation_is_held_on_both_sides(side):
    """A reservation holds the node on both sides until it is deleted, also repeatedly for one instance."""
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


def _allocate(side, number, *nodes, generation=None):
    """Write the allocations of an instance in Placement, and return the status of the response."""
    body = allocation_body(*nodes, generation=generation)
    return side.client.placement('PUT', f'/allocations/{INSTANCES[number]}', body).status_int


def test_holder_can_allocate_the_node_in_placement(side):
    """Only the holder can allocate the node. The cloud holds it while the reservation or the allocation exists."""
    reservation = side.reserve()
    node = reservation['node_uuid']
    assert _allocate(side, 1, node) == 409
    assert _allocate(side, 0, node) == 204
    side.delete(f'/v1/reservations/{reservation["uuid"]}')
    assert side.mirror.catch_up()
    assert (side.there(node), side.here(node)) == (INSTANCES[0], (INSTANCES[0], None))
    assert side.client.placement('DELETE', f'/allocations/{INSTANCES[0]}').status_int == 204
    assert side.is_free(node)


def test_allocation_in_placement(side):
    """An allocation also holds the nodes in the cloud until it ends. A request is atomic."""
    first, second, third = side.nodes
    assert _allocate(side, 0, first) == 204
    assert (side.there(first), side.here(first)) == (INSTANCES[0], (INSTANCES[0], None))
    side.pass_time()
    assert side.mirror.catch_up()
    assert (side.there(first), side.client.get('/v1/mirrors/far')['unsettled_claims']) == (INSTANCES[0], 0)
    # The first node is written again. The generation is checked after the second node is held.
    assert _allocate(side, 0, first, generation=1) == 204
    assert _allocate(side, 1, second, generation=7) == 409
    assert side.is_free(second)
    side.ironic.patch(f'/v1/nodes/{third}', instance_uuid=INSTANCES[8])
    response = side.client.placement('POST', '/allocations', {
        INSTANCES[1]: allocation_body(second), INSTANCES[2]: allocation_body(third)
    })  # fmt: skip
    assert response.status_int == 409
    assert f'node {third} cannot be held in its cloud far: It has an instance.' in response.text
    assert (side.is_free(second), side.here(third)) == (True, (INSTANCES[8], None))
    assert side.client.placement('POST', '/allocations', {
        INSTANCES[0]: allocation_body(generation=2), INSTANCES[1]: allocation_body(second)
    }).status_int == 204  # fmt: skip
    assert (side.is_free(first), side.there(second)) == (True, INSTANCES[1])
    side.stop_mirror()
    assert _allocate(side, 0, first) == 409
    assert side.client.get('/v1/reservations')['reservations'] == []


def test_allocated_node_cannot_be_reserved(side):
    """The consumer holds the node on both sides. The message says so, for a named node and for any node."""
    node = side.nodes[0]
    assert _allocate(side, 0, node) == 204
    for body in ({'node_uuid': node}, GOLD):
        assert message(side.reserve(0, 409, **body)) == (
            f'Instance {INSTANCES[0]} is already on node {node}: it has allocated the node in Placement, which holds '
            f'it here and in its cloud. It needs no reservation.'
        )
    assert (side.there(node), side.here(node)) == (INSTANCES[0], (INSTANCES[0], None))


def test_instance_of_an_allocation_is_removed_there(any_side, real_ironic):
    """The allocation stays. It is a conflict until it ends, or the node in the cloud has the instance again."""
    side, node = any_side, any_side.nodes[0]
    remove = [{'op': 'remove', 'path': '/instance_uuid'}]

    def catch_up_and_count():
        for _ in range(2):
            catch_up(side.mirror)
        shown = side.client.get('/v1/mirrors/far')
        assert len(shown['conflict_list']) == shown['conflicts']
        return shown['conflicts'], shown['claims'], side.claims()

    assert _allocate(side, 0, node) == 204
    real_ironic.ask('PATCH', f'/v1/nodes/{node}', remove)
    assert catch_up_and_count() == (1, 0, 1)
    [conflict] = side.client.get('/v1/mirrors/far')['conflict_list']
    assert (conflict['uuid'], conflict['resource'], conflict['trait']) == (node, 'nodes', None)
    assert conflict['reason'] == (
        f'Another client has removed its instance in the cloud. In Placement of this service, it is allocated to '
        f'{INSTANCES[0]}.'
    )
    assert side.events(node)[-1] == (
        f'Instance {INSTANCES[0]} was removed from the node in cloud far, and has allocated it in Placement: it is '
        f'held in this service only.'
    )
    real_ironic.patch(f'/v1/nodes/{node}', instance_uuid=INSTANCES[0])
    assert catch_up_and_count() == (0, 1, 1)
    real_ironic.ask('PATCH', f'/v1/nodes/{node}', remove)
    assert catch_up_and_count() == (1, 0, 1)
    # The consumer can take it again.
    reservation = side.reserve(0, node_uuid=node)['uuid']
    assert catch_up_and_count() == (0, 1, 2)
    side.delete(f'/v1/reservations/{reservation}')
    assert catch_up_and_count() == (0, 1, 2)
    real_ironic.ask('PATCH', f'/v1/nodes/{node}', remove)
    assert catch_up_and_count()[:2] == (1, 0)
    assert side.client.placement('DELETE', f'/allocations/{INSTANCES[0]}').status_int == 204
    assert catch_up_and_count() == (0, 0, 0)


def test_reshape(side):
    """A reshape holds no nodes in the cloud, and refuses nodes that are not held."""
    node = side.nodes[0]

    def document():
        generation = side.client.placement('GET', f'/resource_providers/{node}').json['generation']
        inventories = {node: {'resource_provider_generation': generation, 'inventories': {}}}
        return {'inventories': inventories, 'allocations': {INSTANCES[0]: allocation_body(node)}}

    response = side.client.placement('POST', '/reshaper', document())
    assert response.status_int == 409
    assert f'node {node} cannot be held in its cloud far: it is not held there' in response.text
    side.reserve(0, node_uuid=node)
    assert side.client.placement('POST', '/reshaper', document()).status_int == 204


@pytest.mark.parametrize('is_written', [True, False])
def test_process_is_killed_while_it_allocates(side, relay, is_written):
    """Its reservation expires, and the mirror decides by the allocation."""
    node = side.nodes[0]
    if is_written:
        assert _allocate(side, 0, node) == 204
        with side.app.service.write() as connection:
            (claim,) = connection.execute(sa.select(tables.mirror_claims)).all()
            values = {'uuid': claim.holder_uuid, 'node_uuid': node, 'instance_uuid': INSTANCES[0]}
            connection.execute(sa.insert(tables.reservations).values(created_at=now(), expires_at=now(), **values))
    else:
        relay.fault = ('take', 'after', 'kill')
        _end(relay, process(_allocate_elsewhere, side.url, _clouds(), node))
        assert side.there(node) == INSTANCES[0]
    side.pass_time()
    for _ in range(2):
        assert side.mirror.catch_up()
    assert side.there(node) == (INSTANCES[0] if is_written else None)
    assert side.here(node) == (side.there(node), None)


def _allocate_elsewhere(url, clouds, node):
    os.environ['OS_CLIENT_CONFIG_FILE'] = clouds
    with make_app(url, mirror__claims='instance_uuid') as app:
        Client(app).placement('PUT', f'/allocations/{INSTANCES[0]}', allocation_body(node))


def test_lost_race(side):
    """After a lost race, the next node is tried. If there is none, the response has the reason, and no node is held."""
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
    """The instance has another node in the cloud, which the mirror has not read yet."""
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


def test_nodes_of_one_group_or_none(side):
    """If the cloud has given a node of the group to another instance, the nodes come from another group, or none."""
    topology = [{'key': 'properties/rack', 'policy': 'affinity', 'prefer': 'fullest'}]
    for node, rack in zip(side.nodes, (1, 1, 2), strict=True):
        side.ironic.patch(f'/v1/nodes/{node}', properties={'rack': rack})
    assert side.mirror.catch_up()
    side.ironic.patch(f'/v1/nodes/{side.nodes[1]}', instance_uuid=INSTANCES[8])
    body = {'instance_uuids': INSTANCES[:2], 'topology': topology, **GOLD}
    refused = side.client.ask('POST', '/v1/reservations', body)
    assert (refused.status_int, refused.json['explanation']['topology']['largest']) == (409, 1)
    assert [side.there(node) for node in side.nodes] == [None, INSTANCES[8], None]
    body['topology'] = [{'key': 'properties/rack', 'policy': 'anti-affinity'}]
    assert side.client.ask('POST', '/v1/reservations', body).status_int == 201
    assert sorted(filter(None, map(side.there, side.nodes))) == sorted([*INSTANCES[:2], INSTANCES[8]])


def test_expiry(side):
    """After an expiry, the node stays unavailable until the cloud has removed its instance."""
    node = side.reserve(0, **GOLD, expires_in=60)['node_uuid']
    side.pass_time()
    assert side.here(node) == (INSTANCES[0], None)
    assert node not in [each['uuid'] for each in side.client.ask('POST', '/v1/matches', GOLD).json['nodes']]
    assert side.mirror.catch_up()
    assert side.is_free(node)


@pytest.mark.parametrize('is_confirmed', [True, False])
def test_deploy_there(side, relay, is_confirmed):
    """A client of the cloud, like nova, can deploy with the same instance, even if the reservation ended with 503."""
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
    # The reservation expires before the mirror has seen the deploy.
    side.pass_time()
    for _ in range(3):
        assert side.mirror.catch_up()
    assert (side.there(node), side.here(node)) == (INSTANCES[0], (INSTANCES[0], None))
    assert list(differences(side.client, side.ironic, 'far')) == []
    assert side.claims() == 0


def test_instance_is_removed_there(side):
    """If a client of the cloud removes the instance, the reservation ends, too."""
    node = side.reserve()['node_uuid']
    side.ironic.ask('PATCH', f'/v1/nodes/{node}', [{'op': 'remove', 'path': '/instance_uuid'}])
    for _ in range(2):
        assert side.mirror.catch_up()
    assert side.is_free(node)
    assert side.events(node)[-1].endswith(f' ended: instance {INSTANCES[0]} was removed from the node in cloud far.')


def test_allocation(side):
    """An allocation holds the node in the cloud by its uuid, until it is deleted."""
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
    """A cloud without claims takes no part in allocations. Reservations hold its nodes in this service only."""
    options = side.app.service.conf
    options.set_override('claims_by_cloud', {'far': 'nothing'}, group='mirror')
    assert side.there(side.reserve()['node_uuid']) is None
    failed = side.client.ask('POST', '/v1/allocations', {'resource_class': 'gold'}).json
    assert failed['state'] == 'error'
    assert '"can be held in its cloud" rules out 3 nodes' in failed['last_error']
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
def test_unknown_outcome(side, relay, moment, caplog):
    """The client gets 503, and the mirror undoes the claim. The log of the service has no error: the cloud has one."""
    relay.fault = ('take', moment, 500)
    response = side.reserve(status=503)
    assert response.headers['Retry-After'] == str(side.app.service.conf.mirror.claim_seconds)
    assert [each for each in caplog.records if each.levelname == 'ERROR'] == []
    assert message(response).startswith('Cloud far has not confirmed that it holds what was requested: ')
    node = side.nodes[0]
    assert side.there(node) == (INSTANCES[0] if moment == 'after' else None)
    assert side.reserve(status=503).json['code'] == 'baremetal.mirror.claim_unconfirmed'
    assert side.mirror.catch_up()
    assert side.is_free(node)
    # The request without a response is executed only now.
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


def test_response_without_a_node(side, relay):
    """The cloud has set the instance, and does not say what the node is: it is removed, and the next node is tried."""
    relay.fault = ('take', 'after', 200)
    assert side.reserve()['node_uuid'] == side.nodes[1]
    assert side.is_free(side.nodes[0])


@pytest.mark.parametrize('moment', ['before', 'after'])
def test_process_is_killed_while_it_takes_a_node(side, relay, moment):
    relay.fault = ('take', moment, 'kill')
    _end(relay, process(_reserve, side.url, _clouds()))
    node = side.nodes[0]
    assert side.there(node) == (INSTANCES[0] if moment == 'after' else None)
    assert side.here(node)[1]
    # Before the deadline, the claim stays.
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
    # Another process may still work on the claim, until its deadline.
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


def test_race(any_side, real_ironic):
    """If 16 clients on each side take and free the same nodes while the mirror is killed, each node has one holder."""
    side, nodes = any_side, any_side.nodes
    side.stop_mirror()
    theirs: dict[str, str] = {}
    stop = time.monotonic() + float(os.environ.get('IRONIC_TRAITS_RACE_SECONDS', 4))

    def take(client, number):
        if number >= 16:
            # Few clients allocate, because each allocation makes the conductor search.
            take_there(real_ironic, nodes, theirs, stop) if number < 30 else allocate_there(real_ironic, nodes, stop)
            return
        while time.monotonic() < stop and number % 5 == 0:
            allocate_here(client, nodes)
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
            time.sleep(1.3)
            mirror.kill()
            mirror.join(30)

    killer = threading.Thread(target=kill)
    killer.start()
    at_once([side.client] * 32, take)
    killer.join()
    side.pass_time()
    for _ in range(2):
        catch_up(side.mirror)
    here = side.holders()
    there = {node['uuid']: node['instance_uuid'] for node in real_ironic.all('nodes').values()}
    allocations = real_ironic.all('allocations').values()
    theirs |= {each['node_uuid']: each['uuid'] for each in allocations if each['state'] == 'active'}
    assert here.keys().isdisjoint(theirs)
    assert {node: instance for node, instance in there.items() if instance} == here | theirs
    assert [each for each in differences(side.client, real_ironic, 'far') if each[0] == 'allocations'] == []
