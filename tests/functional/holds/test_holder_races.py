"""Invariant 1 under concurrent requests of all kinds, on each database: a node has at most one holder."""

import itertools
import threading

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.holds import allocate as allocate_module
from ironic_traits.inventory.holds import allocations as allocations_module
from ironic_traits.inventory.holds.free_nodes import NodeChoice
from tests.support.concurrency import at_once
from tests.support.providers import GOLD, allocate, golden
from tests.support.reservations import PATH, instance, reserve

ALLOCATIONS = '/v1/allocations'


def put_on(client, number, node):
    """Put an instance on a node, and return the response."""
    return client.ask(
        'PATCH', f'/v1/nodes/{node}', [{'op': 'add', 'path': '/instance_uuid', 'value': instance(number)}]
    )


def request(client, number, node):
    """Create an allocation with the uuid of an instance, and return the response."""
    return client.ask(
        'POST', ALLOCATIONS, {'resource_class': 'gold', 'candidate_nodes': [node], 'uuid': instance(number)}
    )


#: {kind of holder: function of a client, the number of an instance, and a node that tries to hold it}.
KINDS = {
    'reservation': lambda client, number, node: reserve(client, number, [node]),
    'allocation': request,
    'instance': put_on,
    'consumer': allocate,
}


def holds(response):
    """Whether a request has held the node."""
    return response.status_int < 300 and (not response.body or response.json.get('state') != 'error')


def release(client, node):
    """Remove every holder of a node."""
    for held in client.get(PATH)['reservations']:
        client.ask('DELETE', f'{PATH}/{held["uuid"]}')
    for allocation in client.get(f'{ALLOCATIONS}?fields=uuid')['allocations']:
        assert client.ask('DELETE', f'{ALLOCATIONS}/{allocation["uuid"]}').status_int == 204
    assert client.ask('PATCH', f'/v1/nodes/{node}', [{'op': 'remove', 'path': '/instance_uuid'}]).status_int == 200
    usages = client.placement('GET', f'/resource_providers/{node}/allocations').json['allocations']
    for consumer in usages:
        assert client.placement('DELETE', f'/allocations/{consumer}').status_int == 204


def test_sixteen_clients_of_four_kinds(clients):
    """If a reservation, an allocation, an instance_uuid and a Placement allocation compete, exactly one wins."""
    node = golden(clients[0])
    winners = []
    for round_ in range(6):
        kinds = list(itertools.islice(itertools.cycle(KINDS), round_, round_ + len(clients)))

        def take(client, number, kinds=kinds):
            return KINDS[kinds[number]](client, number, node)

        responses = at_once(clients, take)
        assert max(response.status_int for response in responses) < 500
        (winner,) = [number for number, response in enumerate(responses) if holds(response)]
        winners.append(kinds[winner])
        shown = clients[0].get(f'/v1/nodes/{node}?fields=instance_uuid,allocation_uuid,reservation_uuid')
        consumers = clients[0].placement('GET', f'/resource_providers/{node}/allocations').json['allocations']
        assert (shown['instance_uuid'] is not None) == (kinds[winner] in ('instance', 'allocation'))
        assert (shown['allocation_uuid'] is not None) == (kinds[winner] == 'allocation')
        assert (shown['reservation_uuid'] is not None) == (kinds[winner] == 'reservation')
        assert list(consumers) == ([instance(winner)] if kinds[winner] == 'consumer' else [])
        if shown['instance_uuid']:
            assert shown['instance_uuid'] == instance(winner)
        active = clients[0].get(f'{ALLOCATIONS}?state=active')['allocations']
        assert [each['uuid'] for each in active] == ([instance(winner)] if kinds[winner] == 'allocation' else [])
        assert clients[0].placement('GET', f'/resource_providers?resources={GOLD}:1').json['resource_providers'] == []
        release(clients[0], node)
    assert len(winners) == 6


def test_one_node_for_an_instance_of_three_kinds(clients):
    """If all clients want different nodes for one instance, it gets exactly one node."""
    nodes = [golden(clients[0]) for _ in clients]
    kinds = ('reservation', 'allocation', 'instance')
    for _ in range(3):

        def take(client, number):
            return KINDS[kinds[number % 3]](client, 1, nodes[number])

        responses = at_once(clients, take)
        assert max(response.status_int for response in responses) < 500
        # Several requests may get the same reservation, which is created once.
        held = [
            node
            for node in clients[0].get('/v1/nodes?fields=uuid,instance_uuid,reservation_uuid')['nodes']
            if node['instance_uuid'] or node['reservation_uuid']
        ]
        assert len(held) == 1
        assert any(map(holds, responses))
        release(clients[0], held[0]['uuid'])


def test_many_allocations_at_once(clients):
    """Each node is allocated once, with and without candidates. The excess requests end in "error"."""
    nodes = {golden(clients[0]) for _ in range(40)}

    def take(client, number):
        mine = []
        for turn in range(3):
            candidates = {'candidate_nodes': sorted(nodes)} if turn == 1 else {}
            response = client.ask('POST', ALLOCATIONS, {'resource_class': 'gold', **candidates})
            assert response.status_int == 201, response.text
            mine.append(response.json['node_uuid'])
        return mine

    given = [node for mine in at_once(clients, take) for node in mine]
    assert sorted(node for node in given if node) == sorted(nodes)
    assert len(clients[0].get(f'{ALLOCATIONS}?state=error')['allocations']) == 3 * len(clients) - len(nodes)


def test_allocations_begin_and_end_at_once(app, clients):
    """A node refers to an allocation exactly while the allocation refers to the node, and has its instance_uuid."""
    node = golden(clients[0])

    def work(client, number):
        seen = set()
        for turn in range(12):
            if number % 4 == 0:
                response = client.ask('POST', ALLOCATIONS, {'resource_class': 'gold', 'name': f'{number}-{turn}'})
            elif number % 4 == 1:
                response = client.ask('DELETE', f'/v1/nodes/{node}/allocation')
            elif number % 4 == 2:
                response = client.ask('PATCH', f'/v1/nodes/{node}', [{'op': 'remove', 'path': '/instance_uuid'}])
            else:
                response = put_on(client, number, node)
            seen.add(response.status_int)
        return seen

    assert set().union(*at_once(clients, work)) <= {200, 201, 204, 404, 409}
    with app.service.read() as connection:
        held = connection.execute(sa.select(tables.nodes.c.instance_uuid, tables.nodes.c.allocation_uuid)).one()
        active = sa.select(tables.node_allocations.c.uuid).where(tables.node_allocations.c.node_uuid == node)
        assert connection.scalar(active) == held.allocation_uuid
    assert held.allocation_uuid in (None, held.instance_uuid)


def test_an_allocation_ends_while_it_is_asked_for_again(client, monkeypatch):
    """The second one finds the node held by the first one. It must not be stored in "error" when the node is free."""
    node = golden(client)
    assert request(client, 1, node).json['state'] == 'active'

    def store(*arguments, original=allocate_module._store):
        client.ask('PATCH', f'/v1/nodes/{node}', [{'op': 'remove', 'path': '/instance_uuid'}])
        return original(*arguments)

    monkeypatch.setattr(allocate_module, '_store', store)
    again = request(client, 1, node)
    assert (again.json['state'], again.json['node_uuid']) == ('active', node)


def test_an_allocation_ends_while_it_is_deleted(database_url, client, monkeypatch):
    """The deletion does not end the next allocation of the node."""
    if database_url.startswith('sqlite'):
        pytest.skip('its writers take turns')
    node = golden(client)
    assert request(client, 1, node).json['state'] == 'active'

    def take(*arguments, original=allocations_module.take):
        client.ask('PATCH', f'/v1/nodes/{node}', [{'op': 'remove', 'path': '/instance_uuid'}])
        assert request(client, 2, node).json['state'] == 'active'
        return original(*arguments)

    monkeypatch.setattr(allocations_module, 'take', take)
    assert client.ask('DELETE', f'{ALLOCATIONS}/{instance(1)}').status_int == 404
    held = client.get(f'/v1/nodes/{node}?fields=instance_uuid,allocation_uuid')
    assert (held['instance_uuid'], held['allocation_uuid']) == (instance(2), instance(2))


def test_a_name_at_once(clients):
    """One client gets the name. The nodes of the others stay free."""
    nodes = [golden(clients[0]) for _ in clients]

    def take(client, number):
        return client.ask('POST', ALLOCATIONS, {'resource_class': 'gold', 'name': 'one'}).status_int

    assert sorted(at_once(clients, take)) == [201] + [409] * (len(clients) - 1)
    assert len(clients[0].get('/v1/nodes?associated=false')['nodes']) == len(nodes) - 1


def test_an_allocation_that_a_reservation_refuses_is_visible_before_that_ends(client, monkeypatch):
    """Who has deleted the reservation then finds the allocation in the state "error"."""
    first, second = golden(client), golden(client)
    uuid = reserve(client, 1, [first]).json['reservation']['uuid']
    shown = []

    def delete():
        assert client.ask('DELETE', f'{PATH}/{uuid}').status_int == 204
        shown.append(client.ask('GET', f'{ALLOCATIONS}/{instance(1)}').status_int)

    deletion = threading.Thread(target=delete)

    def finds(*arguments, original=NodeChoice.finds):
        found = original(*arguments)
        deletion.start()
        # It waits for the allocation. If it does not, it is over by then.
        deletion.join(1)
        return found

    monkeypatch.setattr(NodeChoice, 'finds', finds)
    assert request(client, 1, second).json['state'] == 'error'
    deletion.join()
    assert shown == [200]
