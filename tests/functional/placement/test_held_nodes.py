"""Reserved nodes in Placement, on each database."""

import concurrent.futures
import contextlib
import datetime
import time

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.holds import reservations
from ironic_traits.placement import allocation_checks
from tests.support.concurrency import at_once
from tests.support.providers import GOLD, allocate, free, golden, moves, patch, provider
from tests.support.reservations import PATH, available, expire, instance, reserve


def test_reserved_node_stays_held_beside_other_allocations(client):
    """A reserved node stays held unless its own provider is allocated."""
    held, other = golden(client), golden(client)
    assert reserve(client, 1, [held]).status_int == 201
    assert allocate(client, 1, other).status_int == 204
    assert provider(client, held)[1]['usages'] == {'usages': {GOLD: 1}}
    assert free(client) == []
    assert allocate(client, 2, held).status_int == 409


# Before the usage is read, and before the holders are.
@pytest.mark.parametrize('moment', ['inventories', '_reserved'])
@pytest.mark.parametrize('consumer', [1, 2])
def test_a_reservation_expires_during_the_allocation_of_its_node(client, monkeypatch, moment, consumer):
    """Any instance gets the node. The generation rises by the expiry, which clients see, and by the allocation."""
    node, seen, original = golden(client), [], getattr(allocation_checks, moment)
    end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=1)
    assert reserve(client, 1, [node], expires_at=end.isoformat()).status_int == 201

    def expired(*arguments):
        while datetime.datetime.now(datetime.UTC) <= end:
            time.sleep(0.01)
        seen.extend(generations(client, node))
        return original(*arguments)

    monkeypatch.setattr(allocation_checks, moment, expired)
    assert allocate(client, consumer, node).status_int == 204
    assert generations(client, node) == {seen[0] + 1}


def test_another_reservation_has_expired(app, client):
    """It does not matter for the allocation of a node that the same instance has reserved."""
    node, other = golden(client), golden(client)
    assert reserve(client, 1, [node]).status_int == 201
    assert reserve(client, 2, [other], expires_at='2030-01-01T00:00:00+00:00').status_int == 201
    expire(app)
    assert allocate(client, 1, node).status_int == 204


def generations(client, node):
    """Return the set of generations that the routes of a node's provider show."""
    path = f'/resource_providers/{node}'
    listed = client.placement('GET', f'/resource_providers?uuid={node}').json['resource_providers']
    parts = [
        client.placement('GET', f'{path}/{part}').json['resource_provider_generation']
        for part in ('inventories', 'traits', 'usages', 'aggregates', 'allocations')
    ]
    return {client.placement('GET', path).json['generation'], listed[0]['generation'], *parts}


def test_expiry_increments_the_generation(app, client):
    """All routes show the new generation without a write. Deleting the expired row does not change it again."""
    node = golden(client)
    reserve(client, 1, [node], expires_in=60)
    free, held = golden(client), golden(client)
    reserve(client, 2, [held])
    # A live reservation moves no generation.
    assert generations(client, held) == {provider(client, held)[0]}
    others = [generations(client, each) for each in (free, held)]
    before = provider(client, node)[0]
    with moves(client, node, 1, used={GOLD: 0}):
        expire(app)
    assert generations(client, node) == {before + 1}
    # The expiry counts for no other node.
    assert [generations(client, each) for each in (free, held)] == others
    with moves(client, node, 1, traits=['CUSTOM_A']):
        client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': ['CUSTOM_A']})
    with moves(client, node, 0):
        assert reservations.purge(app.service) == 1
    assert generations(client, node) == {before + 2}


def test_expiry_on_a_node_without_a_provider(app, client):
    """It is not counted for the provider that a client has created with the uuid of the node."""
    node = client.placement('POST', '/resource_providers', {'name': 'of a client'}).json['uuid']
    assert available(client, uuid=node) == node
    assert reserve(client, 1, [node], expires_in=60).status_int == 201
    expire(app)
    assert generations(client, node) == {0}
    body = {'aggregates': [instance(2)], 'resource_provider_generation': 0}
    assert client.placement('PUT', f'/resource_providers/{node}/aggregates', body).status_int == 200
    assert reservations.purge(app.service) == 1
    assert generations(client, node) == {1}


def test_a_generation_from_before_the_expiry_is_a_conflict(app, client):
    node = golden(client)
    reserve(client, 1, [node], expires_in=60)
    before = provider(client, node)[0]
    expire(app)
    path = f'/resource_providers/{node}/traits'
    for generation, status in (before, 409), (before + 1, 200):
        body = {'traits': ['COMPUTE_NODE'], 'resource_provider_generation': generation}
        response = client.placement('PUT', path, body)
        assert response.status_int == status
    assert response.json['resource_provider_generation'] == before + 2
    assert generations(client, node) == {before + 2}


def test_a_node_is_held_again_after_an_expiry(app, client):
    """After an expiry, a reservation or an allocation, of the same or another instance, can hold the node."""
    node, other = golden(client), golden(client)
    for number in (1, 1, 2):
        with moves(client, node, 1, used={GOLD: 1}):
            assert reserve(client, number, [node], expires_in=60).status_int == 201
        with moves(client, node, 1, used={GOLD: 0}):
            expire(app)
    with moves(client, node, 0), moves(client, other, 1):
        assert reserve(client, 2, [other], expires_in=60).status_int == 201
    expire(app)
    with moves(client, node, 0), moves(client, other, 1, used={GOLD: 1}):
        assert allocate(client, 3, other).status_int == 204
    with moves(client, other, 1, used={GOLD: 0}):
        assert allocate(client, 3, other, used=0).status_int == 204


def test_the_holder_of_a_reservation_uses_one_unit(client):
    """The unit is used before, while and after its instance has the allocation, so the generation does not move."""
    node = golden(client)
    assert reserve(client, 1, [node]).status_int == 201
    for used in (1, 0):
        with moves(client, node, 0, used={GOLD: 1}):
            assert allocate(client, 1, node, used=used).status_int == 204


def test_several_reservations_beside_allocated_nodes(client):
    """Several instances get free nodes, also those that have allocations. The allocated nodes do not change."""
    allocated, others = [golden(client) for _ in range(2)], [golden(client) for _ in range(3)]
    for number, node in enumerate(allocated):
        assert allocate(client, number, node).status_int == 204
    body = {'instance_uuids': [instance(number) for number in range(3)], 'required': []}
    with contextlib.ExitStack() as stack:
        for node in allocated:
            stack.enter_context(moves(client, node, 0, used={GOLD: 1}))
        for node in others:
            stack.enter_context(moves(client, node, 1, used={GOLD: 1}))
        held = client.ask('POST', PATH, body).json['reservations']
    assert {each['node_uuid'] for each in held} == set(others)


def test_expiry_of_an_allocated_node(app, client):
    """The expiry keeps the generation. The release by the instance increments it once."""
    node = golden(client)
    reserve(client, 1, [node], expires_in=60)
    assert allocate(client, 1, node).status_int == 204
    with moves(client, node, 0, used={GOLD: 1}):
        expire(app)
    with moves(client, node, 1, used={GOLD: 0}):
        assert allocate(client, 1, node, used=0).status_int == 204
    with moves(client, node, 0):
        reservations.purge(app.service)


def test_many_expired_reservations_are_purged(app, client, monkeypatch):
    monkeypatch.setattr(reservations, '_BATCH', 2)
    nodes = [golden(client) for _ in range(5)]
    for number, node in enumerate(nodes):
        reserve(client, number, [node], **({'expires_in': 60} if number else {}))
    expire(app)
    before = [generations(client, node) for node in nodes]
    assert reservations.purge(app.service) == 4
    assert [generations(client, node) for node in nodes] == before


def test_concurrent_reservation_and_use_by_one_instance(clients):
    """At the end, the instance has exactly one of the nodes."""
    held, on, new = available(clients[0]), available(clients[0]), {'driver': 'fake-hardware'}
    for number in range(40):
        who = instance(number)

        def work(client, number, who=who):
            if number == 0:
                return client.ask('POST', '/v1/reservations', {'instance_uuid': who, 'node_uuid': [held]}).status_int
            if number == 1:
                operation = {'op': 'add', 'path': '/instance_uuid', 'value': who}
                return client.ask('PATCH', f'/v1/nodes/{on}', [operation]).status_int
            return client.ask('POST', '/v1/nodes', {**new, 'instance_uuid': who}).status_int

        statuses = at_once(clients[: 2 + number % 2], work)
        assert set(statuses) <= {200, 201, 409}
        assert sum(status != 409 for status in statuses) == 1
        for each in clients[0].get('/v1/reservations')['reservations']:
            clients[0].ask('DELETE', f'/v1/reservations/{each["uuid"]}')
        for each in clients[0].get('/v1/nodes?associated=true')['nodes']:
            patch(clients[0], each['uuid'], {'op': 'remove', 'path': '/instance_uuid'})


def test_reservation_waits_for_the_end_of_a_transaction(app, client):
    """On MariaDB, while a transaction ends, its keys may already be free and its writes not yet visible."""
    if app.service.database.url.get_backend_name() != 'mysql':
        pytest.skip('the key counts until others see what its transaction wrote')
    held, on = available(client), available(client)
    put_on_node = sa.update(tables.nodes).where(tables.nodes.c.uuid == on).values(instance_uuid=instance(1))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        with app.service.write() as connection:
            connection.execute(put_on_node)
            response = pool.submit(reserve, client, 1, [held])
            with pytest.raises(TimeoutError):
                response.result(timeout=0.5)
        assert response.result().status_int == 409


def test_concurrent_requests_count_each_expiry_once(app, clients):
    """If four clients reserve nodes again while one purges, each expiry counts once."""
    nodes = [golden(clients[0]) for _ in range(4)]
    for _ in range(10):
        for number, node in enumerate(nodes):
            assert reserve(clients[0], number, [node], expires_in=60).status_int == 201
        before = [provider(clients[0], node)[0] for node in nodes]
        expire(app)

        def work(client, number):
            if number == 4:
                return reservations.purge(client.app.service)
            return reserve(client, (number + 1) % 4, [nodes[number]]).status_int

        assert at_once(clients[:5], work)[:4] == [201] * 4
        assert [provider(clients[0], node)[0] for node in nodes] == [generation + 2 for generation in before]
        for each in clients[0].get('/v1/reservations')['reservations']:
            clients[0].ask('DELETE', f'/v1/reservations/{each["uuid"]}')


def test_instance_stays_during_a_deploy(app, client):
    """An instance stays during a deploy, also in maintenance. A node stuck without a lock can lose its instance."""
    node = available(client)
    patch(client, node, {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    assert client.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': 'active'}).status_int == 202
    client.ask('PUT', f'/v1/nodes/{node}/maintenance')
    removal = [{'op': 'remove', 'path': '/instance_uuid'}]
    response = client.ask('PATCH', f'/v1/nodes/{node}', removal)
    assert (response.status_int, response.json['code']) == (409, 'baremetal.node.locked')
    with app.service.database.write() as connection:
        connection.execute(sa.update(tables.nodes).values(reservation=None))
    assert client.ask('PATCH', f'/v1/nodes/{node}', removal).status_int == 200
