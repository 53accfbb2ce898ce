"""Placement allocations of nodes, together with reservations and instances, on each database."""

import uuid

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support.providers import GOLD, allocate, free, golden, moves, patch, provider, provision
from tests.support.reservations import expire, instance, reserve


@pytest.fixture
def node(client):
    """An available node of class gold."""
    return golden(client)


def test_allocations(app, client, node):
    """An allocation and a reservation exclude each other, unless they have the same instance."""
    with moves(client, node, 1, used={GOLD: 1}, reserved={GOLD: 0}):
        assert allocate(client, 1, node).status_int == 204
    assert free(client) == []
    assert client.get('/v1/nodes?eligible=true')['nodes'] == []
    refused = allocate(client, 2, node)
    assert refused.status_int == 409
    assert 'would exceed the capacity' in refused.json['errors'][0]['detail']
    response = reserve(client, 2, [node])
    assert [reason['reason'] for reason in response.json['reasons']] == ['allocated']
    for number, status in (2, 409), (1, 200):
        operation = {'op': 'add', 'path': '/instance_uuid', 'value': instance(number)}
        assert client.ask('PATCH', f'/v1/nodes/{node}', [operation]).status_int == status
    patch(client, node, {'op': 'remove', 'path': '/instance_uuid'})
    with moves(client, node, 0):
        assert allocate(client, 1, node).status_int == 204
        assert reserve(client, 1, [node]).status_int == 201
    assert allocate(client, 2, node).status_int == 409
    with moves(client, node, 0):
        client.ask('DELETE', f'/v1/reservations/{client.get("/v1/reservations")["reservations"][0]["uuid"]}')
    with moves(client, node, 1, used={GOLD: 0}):
        assert client.placement('DELETE', f'/allocations/{instance(1)}').status_int == 204
    assert free(client) == [node]


def test_an_allocation_of_a_reserved_node(app, client, node):
    """Only the instance of the reservation can allocate the node."""
    reserve(client, 1, [node], expires_in=60)
    assert allocate(client, 2, node).status_int == 409
    with moves(client, node, 0, used={GOLD: 1}):
        assert allocate(client, 1, node).status_int == 204
    with moves(client, node, 1, used={GOLD: 0}):
        client.ask('DELETE', f'/v1/reservations/{client.get("/v1/reservations")["reservations"][0]["uuid"]}')
        assert allocate(client, 1, node, used=0).status_int == 204
    reserve(client, 1, [node], expires_in=60)
    expire(app)
    assert allocate(client, 2, node).status_int == 204


def test_fields_of_an_allocated_node_are_protected(client, node):
    assert allocate(client, 1, node).status_int == 204
    reclass = [{'op': 'add', 'path': '/resource_class', 'value': 'silver'}]
    for method, path, body in (
        ('DELETE', '', None),
        ('PATCH', '', reclass),
        ('PATCH', '', [{'op': 'remove', 'path': '/resource_class'}]),
        ('PUT', '/states/provision', {'target': 'active'}),
    ):
        response = client.ask(method, f'/v1/nodes/{node}{path}', body)
        assert (response.status_int, response.json['code']) == (409, 'baremetal.node.allocated'), method


def test_an_allocation_protects_its_node_only(client, node):
    other = golden(client)
    assert allocate(client, 1, other).status_int == 204
    reclass = [{'op': 'add', 'path': '/resource_class', 'value': 'silver'}]
    statuses = [client.ask('PATCH', f'/v1/nodes/{uuid}', reclass).status_int for uuid in (other, node)]
    assert statuses == [409, 200]


def test_deployed_node_is_not_taken_over(app, client, node):
    """No instance takes over a deployed node, not even in one request with the release by its instance."""
    assert allocate(client, 1, node).status_int == 204
    patch(client, node, {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    provision(client, app, node, 'active')
    owner = {'project_id': 'project', 'user_id': 'user', 'consumer_type': 'INSTANCE'}
    body = {
        instance(1): {'allocations': {}, 'consumer_generation': 1, **owner},
        instance(2): {'allocations': {node: {'resources': {GOLD: 1}}}, 'consumer_generation': None, **owner},
    }
    assert client.placement('POST', '/allocations', body).status_int == 409
    reshape = {
        'inventories': {node: {'resource_provider_generation': provider(client, node)[0], 'inventories': {}}},
        'allocations': body,
    }
    assert client.placement('POST', '/reshaper', reshape).status_int == 409
    assert list(client.placement('GET', f'/resource_providers/{node}/allocations').json['allocations']) == [instance(1)]


def test_lost_allocation_of_a_deployed_node(app, client, node):
    """Only the instance can allocate the node again, as nova-manage placement heal_allocations does."""
    patch(client, node, {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    provision(client, app, node, 'active')
    assert allocate(client, 2, node).status_int == 409
    assert allocate(client, 1, node).status_int == 204
    assert allocate(client, 2, node).status_int == 409


def test_life_of_an_instance_as_nova_runs_it(app, client, node):
    """An instance goes through candidates, claim, deploy, a second claim, and undeploy, as in nova."""
    candidates = client.placement('GET', f'/allocation_candidates?resources={GOLD}:1&limit=5').json
    (candidate,) = candidates['allocation_requests']
    assert list(candidate['allocations']) == [node]
    assert candidates['provider_summaries'][node]['resources'] == {GOLD: {'capacity': 1, 'used': 0}}
    assert allocate(client, 1, node).status_int == 204
    assert client.placement('GET', f'/allocation_candidates?resources={GOLD}:1').json['allocation_requests'] == []
    patch(client, node, {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    provision(client, app, node, 'active')
    assert allocate(client, 1, node).status_int == 204
    provision(client, app, node, 'deleted')
    assert free(client) == []
    assert client.placement('DELETE', f'/allocations/{instance(1)}').status_int == 204
    assert free(client) == [node]


def test_allocation_moves_to_another_node(client):
    """One request moves it, and increments the generations of both nodes."""
    first, second = golden(client), golden(client)
    allocate(client, 1, first)
    with moves(client, first, 1, used={GOLD: 0}), moves(client, second, 1, used={GOLD: 1}):
        assert allocate(client, 1, second).status_int == 204


@pytest.mark.parametrize('number', [1, 2])
def test_an_allocation_locks_its_nodes_only(app, client, number):
    """The lock of a node is an UPDATE of its own generation."""
    nodes = [golden(client) for _ in range(3)]
    body = {
        'allocations': {node: {'resources': {GOLD: 1}} for node in nodes[:number]},
        **{'project_id': 'project', 'user_id': 'user', 'consumer_generation': None, 'consumer_type': 'INSTANCE'},
    }
    before = locks(app)
    assert client.placement('PUT', f'/allocations/{instance(1)}', body).status_int == 204
    after = locks(app)
    assert {node for node in nodes if after[node] != before[node]} == set(nodes[:number])


def locks(app):
    """Return {uuid of a node: its generation}."""
    with app.service.read() as connection:
        rows = connection.execute(sa.select(tables.nodes.c.uuid, tables.nodes.c.generation))
        return {row.uuid: row.generation for row in rows}


def test_reshape_of_a_node(client, node):
    """The inventory of a node is derived and stays. Its allocations can be moved."""
    generation, _ = provider(client, node)
    body = {
        'inventories': {
            node: {'resource_provider_generation': generation, 'inventories': {'VCPU': {'total': 8}}},
        },
        'allocations': {
            instance(1): {
                'allocations': {node: {'resources': {GOLD: 1}}},
                'project_id': 'project',
                'user_id': 'user',
                'consumer_generation': None,
                'consumer_type': 'INSTANCE',
            }
        },
    }
    with moves(client, node, 1, used={GOLD: 1}, reserved={GOLD: 0}):
        assert client.placement('POST', '/reshaper', body).status_int == 204


def test_provider_with_allocations_is_not_adopted(client):
    """A provider with allocations cannot become the provider of a node."""
    node = str(uuid.uuid4())
    client.placement('POST', '/resource_providers', {'name': 'of nova', 'uuid': node})
    client.placement('PUT', f'/resource_classes/{GOLD}')
    client.placement('POST', f'/resource_providers/{node}/inventories', {'resource_class': GOLD, 'total': 2})
    assert allocate(client, 1, node).status_int == 204
    response = client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', 'uuid': node, 'resource_class': 'gold'})
    assert (response.status_int, response.json['code']) == (409, 'baremetal.node.provider_taken')
