"""Concurrent writes to resource providers, nodes among them, on each database."""

import concurrent.futures
import uuid

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.placement import allocations
from tests.support.concurrency import at_once, wait_until
from tests.support.providers import GOLD, allocate, free, golden, provider
from tests.support.reservations import instance
from tests.support.service import database


def test_one_writer_wins_each_generation(clients):
    """Of 16 concurrent writes of a provider's traits, one wins each generation. The others are refused with 409."""
    provider = clients[0].placement('POST', '/resource_providers', {'name': 'contended'}).json
    path = f'/resource_providers/{provider["uuid"]}/traits'
    for number in range(16):
        clients[0].placement('PUT', f'/traits/CUSTOM_{number}')
    for generation in range(5):

        def write(client, number, generation=generation):
            names = [f'CUSTOM_{number}', f'CUSTOM_{(number + generation + 1) % 16}']
            return client.placement('PUT', path, {'traits': names, 'resource_provider_generation': generation})

        responses = at_once(clients, write)
        assert sorted(response.status_int for response in responses) == [200] + [409] * 15
        assert {a.json['errors'][0]['code'] for a in responses if a.status_int == 409} == {
            'placement.concurrent_update'
        }
        (won,) = [response.json for response in responses if response.status_int == 200]
        assert won == clients[0].placement('GET', path).json
        assert won['resource_provider_generation'] == generation + 1


def test_concurrent_writes_to_a_node_and_its_provider(clients):
    """Neither the node's traits nor those of others are lost, and there is no 5xx."""
    node = golden(clients[0])

    def write(client, number):
        if number % 2:
            return client.ask('PUT', f'/v1/nodes/{node}/traits/CUSTOM_{number}').status_int
        names = ['COMPUTE_NODE', 'OWNER_NOVA', 'HW_CPU_X86_VMX'][: number % 3 + 1]
        generation, _ = client.placement('GET', f'/resource_providers/{node}').json['generation'], None
        body = {'traits': names, 'resource_provider_generation': generation}
        return client.placement('PUT', f'/resource_providers/{node}/traits', body).status_int

    statuses = at_once(clients, write)
    assert set(statuses) <= {200, 204, 409}
    own = clients[0].get(f'/v1/nodes/{node}/traits')['traits']
    assert own == sorted(f'CUSTOM_{number}' for number in range(1, 16, 2))
    assert set(own) <= set(provider(clients[0], node)[1]['traits']['traits'])


def test_trait_is_deleted_while_it_is_added(clients):
    """Either the trait stays with all its providers, or it is deleted and no provider has it."""
    node = golden(clients[0])
    for _ in range(5):
        clients[0].placement('PUT', '/traits/CUSTOM_FLEETING')
        clients[0].ask('DELETE', f'/v1/nodes/{node}/traits')

        def work(client, number):
            if number % 2:
                return client.placement('DELETE', '/traits/CUSTOM_FLEETING').status_int
            return client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': ['CUSTOM_FLEETING']}).status_int

        statuses = at_once(clients, work)
        assert set(statuses[::2]) == {200}
        assert set(statuses[1::2]) <= {204, 404, 409}
        assert clients[0].get(f'/v1/nodes/{node}/traits') == {'traits': ['CUSTOM_FLEETING']}
        assert clients[0].placement('GET', '/traits/CUSTOM_FLEETING').status_int == 204


def test_concurrent_moves_make_no_circle(clients):
    """If two providers are moved below each other, one of the moves is refused."""
    for round_ in range(5):
        providers = [
            clients[0].placement('POST', '/resource_providers', {'name': f'{round_}-{i}'}).json for i in range(4)
        ]
        uuids = [each['uuid'] for each in providers]

        def move(client, number, uuids=uuids, round_=round_):
            child, parent = number % 4, (number + 1) % 4
            body = {'name': f'{round_}-{child}', 'parent_provider_uuid': uuids[parent]}
            return client.placement('PUT', f'/resource_providers/{uuids[child]}', body).status_int

        assert set(at_once(clients, move)) <= {200, 400, 409}
        shown = [clients[0].placement('GET', f'/resource_providers/{each}').json for each in uuids]
        above = {each['uuid']: each['parent_provider_uuid'] for each in shown}
        for each in shown:
            root, steps = each['uuid'], 0
            while above[root]:
                root, steps = above[root], steps + 1
                assert steps < 4
            assert each['root_provider_uuid'] == root


def adoptable(client):
    """Create a provider with an inventory, as nova does before the node exists, and return its uuid."""
    provider = client.placement('POST', '/resource_providers', {'name': f'of nova {uuid.uuid4()}'}).json
    body = {'resource_class': 'VCPU', 'total': 4}
    client.placement('POST', f'/resource_providers/{provider["uuid"]}/inventories', body)
    return provider['uuid']


def delete(client, provider, parent):
    """Delete a provider."""
    return client.placement('DELETE', f'/resource_providers/{provider}')


def move(client, provider, parent):
    """Move a provider below another one."""
    body = {'name': 'moved', 'parent_provider_uuid': parent}
    return client.placement('PUT', f'/resource_providers/{provider}', body)


def rename(client, provider, parent):
    """Rename a provider."""
    return client.placement('PUT', f'/resource_providers/{provider}', {'name': f'renamed {provider}'})


def take_some(client, provider, parent):
    """Create an allocation of a provider."""
    body = {
        'allocations': {provider: {'resources': {'VCPU': 1}}},
        'project_id': 'project',
        'user_id': 'user',
        'consumer_generation': None,
    }
    return client.placement('PUT', f'/allocations/{uuid.uuid4()}', body, '1.28')


def put_inventories(client, provider, parent):
    """Replace the inventories of a provider."""
    body = {'inventories': {'DISK_GB': {'total': 9}}, 'resource_provider_generation': 1}
    return client.placement('PUT', f'/resource_providers/{provider}/inventories', body)


def put_custom_trait(client, provider, parent):
    """Add a custom trait to a provider."""
    body = {'traits': ['CUSTOM_X'], 'resource_provider_generation': 1}
    return client.placement('PUT', f'/resource_providers/{provider}/traits', body)


@pytest.mark.parametrize('beside', [delete, move, rename, take_some, put_inventories, put_custom_trait])
def test_provider_is_adopted_during_another_write(clients, beside):
    """Either it becomes the node's provider as a whole, or the other client's write applies."""
    client = clients[0]
    client.placement('PUT', '/traits/CUSTOM_X')
    parent = client.placement('POST', '/resource_providers', {'name': 'parent'}).json['uuid']
    for _ in range(20):
        node = adoptable(client)

        def work(client, number, node=node):
            if number % 2:
                return beside(client, node, parent).status_int
            body = {'driver': 'fake-hardware', 'uuid': node, 'resource_class': 'gold'}
            return client.ask('POST', '/v1/nodes', body).status_int

        creation, done = at_once(clients[:2], work)
        assert creation in (201, 409)
        assert done < 500
        if creation == 201:
            shown = client.placement('GET', f'/resource_providers/{node}').json
            assert (shown['name'], shown['parent_provider_uuid'], shown['root_provider_uuid']) == (node, None, node)
            _, parts = provider(client, node)
            assert list(parts['inventories']['inventories']) == [GOLD]
            assert parts['traits']['traits'] == []
            assert client.placement('GET', f'/resource_providers/{node}/allocations').json['allocations'] == {}
        else:
            assert client.ask('GET', f'/v1/nodes/{node}').status_int == 404
            assert beside in (move, take_some)


@pytest.mark.parametrize('reclass', [False, True], ids=['new', 'reclassed'])
@pytest.mark.parametrize('method', ['PUT', 'DELETE'])
def test_resource_class_changes_while_nodes_use_it(clients, method, reclass):
    """A node's provider has the node's class, also if the class is renamed or deleted concurrently."""
    client = clients[0]
    for number in range(10):
        name = f'CUSTOM_{method}_{number}'
        client.placement('PUT', f'/resource_classes/{name}')
        nodes = [client.node(resource_class='gold')['uuid'] if reclass else str(uuid.uuid4()) for _ in range(3)]

        def work(client, number, name=name, nodes=nodes):
            if number == 3:
                body = {'name': f'{name}_RENAMED'} if method == 'PUT' else None
                return client.placement(method, f'/resource_classes/{name}', body, '1.6').status_int
            if reclass:
                operation = {'op': 'add', 'path': '/resource_class', 'value': name[7:]}
                return client.ask('PATCH', f'/v1/nodes/{nodes[number]}', [operation]).status_int
            body = {'driver': 'fake-hardware', 'uuid': nodes[number], 'resource_class': name[7:]}
            return client.ask('POST', '/v1/nodes', body).status_int

        *creations, changed = at_once(clients[:4], work)
        assert set(creations) <= {200, 201}
        assert changed in (200, 204, 409)
        for node in nodes:
            assert list(provider(client, node)[1]['inventories']['inventories']) == [name]


@pytest.mark.parametrize('gone', ['a provider', 'a node', 'the class of a node'])
def test_child_is_created_while_its_parent_is_deleted(clients, gone):
    """Either the deletion of the parent is refused, or the creation of the child."""
    client = clients[0]
    for _ in range(20):
        if gone == 'a provider':
            root = client.placement('POST', '/resource_providers', {'name': f'root {uuid.uuid4()}'}).json['uuid']
            body = {'name': f'parent {uuid.uuid4()}', 'parent_provider_uuid': root}
            parent = client.placement('POST', '/resource_providers', body).json['uuid']
        else:
            parent = client.node(resource_class='gold')['uuid']

        def work(client, number, parent=parent):
            if number % 2:
                body = {'name': f'child {uuid.uuid4()}', 'parent_provider_uuid': parent}
                return client.placement('POST', '/resource_providers', body).status_int
            if gone == 'a provider':
                return client.placement('DELETE', f'/resource_providers/{parent}').status_int
            if gone == 'a node':
                return client.ask('DELETE', f'/v1/nodes/{parent}').status_int
            operation = {'op': 'remove', 'path': '/resource_class'}
            return client.ask('PATCH', f'/v1/nodes/{parent}', [operation]).status_int

        deletion, creation = at_once(clients[:2], work)
        assert (deletion, creation) in {(200, 400), (204, 400), (409, 200), (409, 201)}
        shown = client.placement('GET', f'/resource_providers/{parent}').status_int
        assert shown == (200 if deletion == 409 else 404)


@pytest.mark.parametrize('grandparent', [False, True])
def test_provider_moves_while_its_new_parent_is_deleted(clients, grandparent):
    """Either the provider moves and its new parent stays, or the provider does not move."""
    client = clients[0]

    def post(**fields):
        body = {'name': f'{uuid.uuid4()}', **fields}
        return client.placement('POST', '/resource_providers', body).json['uuid']

    for _ in range(20):
        parent = post(parent_provider_uuid=post()) if grandparent else post()
        child = post()

        def work(client, number, parent=parent, child=child):
            if number % 2:
                return move(client, child, parent).status_int
            return client.placement('DELETE', f'/resource_providers/{parent}').status_int

        ended, moved = at_once(clients[:2], work)
        assert (ended, moved) in {(204, 400), (409, 200)}
        shown = client.placement('GET', f'/resource_providers/{child}').json
        assert shown['parent_provider_uuid'] == (parent if moved == 200 else None)
        client.placement('PUT', f'/resource_providers/{child}', {'name': f'child {child}'})


def test_other_consumers_do_not_block(client, database_kind, database_url):
    """A consumer whose allocations are replaced waits for its own providers only."""
    if database_kind == 'sqlite':
        pytest.skip('it has no locks of rows')
    node, other_node = golden(client), golden(client)
    assert [allocate(client, number, each).status_int for number, each in enumerate([node, other_node])] == [204, 204]
    with (
        database(database_url) as other,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
        other.write() as connection,
    ):
        for table in (tables.nodes, tables.resource_providers):
            raising = sa.update(table).values(generation=table.c.generation + 1)
            connection.execute(raising.where(table.c.uuid == other_node))
        response = pool.submit(allocate, client, 0, node)
        wait_until(response.done)
        connection.rollback()
    assert response.result().status_int == 204


def test_a_consumer_moves_before_its_providers_are_locked(client, database_kind, monkeypatch):
    """A write without a generation of the consumer also locks the provider to which it has moved meanwhile."""
    if database_kind == 'sqlite':
        pytest.skip('it locks the whole database')
    first, meanwhile, last = (golden(client) for _ in range(3))
    assert allocate(client, 1, first).status_int == 204
    take_all, moved = allocations.take_all, []

    def take_after_a_move(connection, uuids):
        if not moved:
            moved.append(meanwhile)
            assert allocate(client, 1, meanwhile).status_int == 204
            moved.append(provider(client, meanwhile)[0])
        return take_all(connection, uuids)

    monkeypatch.setattr(allocations, 'take_all', take_after_a_move)
    body = {'allocations': {last: {'resources': {GOLD: 1}}}, 'project_id': 'p', 'user_id': 'u'}
    assert client.placement('PUT', f'/allocations/{instance(1)}', body, '1.12').status_int == 204
    assert provider(client, meanwhile)[0] == moved[1] + 1
    assert sorted(free(client)) == sorted([first, meanwhile])
