"""Spare nodes of one search, which the next reservations take without a search, on each database."""

import pytest

from ironic_traits.inventory.search.search_places import Places
from tests.support import plans
from tests.support.client import Client
from tests.support.promises import add_trait, promise, take
from tests.support.providers import allocate, golden
from tests.support.reservations import PATH, available, instance
from tests.support.service import make_app


@pytest.fixture
def clients(database_url):
    """Clients of two applications that keep spare nodes for a minute."""
    with make_app(database_url) as first, make_app(database_url) as second:
        for each in (first, second):
            each.service.places = Places(longest=60)
            plans.keep_noted_traits(each.service)
        yield [Client(first), Client(second)]


def _reserve(client, number):
    response = client.ask('POST', PATH, {'instance_uuid': instance(number), 'required': []})
    return response.json['reservation']['node_uuid'] if response.status_int == 201 else response.status_int


@pytest.mark.parametrize('other', [{'node_uuid': 'first'}, {'preferred': ['CUSTOM_A']}])
def test_other_requests_do_not_count(clients, other):
    """Requests take nodes in turn only after requests of the same kind: not after one with a list, or a preference."""
    first, _ = (available(clients[0]) for _ in range(2))
    body = {'instance_uuid': instance(1), **other} | ({'node_uuid': first} if 'node_uuid' in other else {})
    reservation = clients[0].ask('POST', PATH, body).json['reservation']
    assert reservation['node_uuid'] == first
    clients[0].ask('DELETE', f'{PATH}/{reservation["uuid"]}')
    assert _reserve(clients[0], 2) == first


@pytest.mark.parametrize('other', [{'node_uuid': 'both'}, {'preferred': ['CUSTOM_A']}])
def test_other_requests_begin_at_the_first_node(clients, other):
    """A list, or a request with a preference, does not continue after the node of an earlier request."""
    both = [available(clients[0]) for _ in range(2)]
    assert _reserve(clients[0], 1) == both[0]
    (held,) = clients[0].get(PATH)['reservations']
    clients[0].ask('DELETE', f'{PATH}/{held["uuid"]}')
    body = {'instance_uuid': instance(2), **other} | ({'node_uuid': both} if 'node_uuid' in other else {})
    assert clients[0].ask('POST', PATH, body).json['reservation']['node_uuid'] == both[0]


def test_another_capacity_reservation(clients):
    """A claim for one tries none of the nodes that a claim for another one has found."""
    for name in 'aabb':
        add_trait(clients[0], golden(clients[0]), f'CUSTOM_{name.upper()}')
    for name in 'ab':
        assert promise(clients[0], name, 2, required=[f'CUSTOM_{name.upper()}']).status_int == 201
    assert take(clients[0], 1, capacity_reservation='a').status_int == 201
    with plans.statements() as executed:
        assert take(clients[0], 2, capacity_reservation='b').status_int == 201
    assert sum(' AS moment, (EXISTS' in statement for statement, _ in executed) == 1


def test_node_is_in_maintenance_by_now(clients):
    """A kept node that is no longer free is skipped."""
    nodes = [available(clients[0]) for _ in range(4)]
    assert _reserve(clients[0], 1) == nodes[0]
    clients[1].ask('PUT', f'/v1/nodes/{nodes[1]}/maintenance', {'reason': 'a fan'})
    assert {_reserve(clients[0], 2), _reserve(clients[0], 3)} == {nodes[2], nodes[3]}
    assert _reserve(clients[0], 4) == 409


def test_search_after_a_kept_node_that_is_not_free(clients):
    """It begins after the kept nodes, because another process may take the same ones."""
    nodes = [available(clients[0]) for _ in range(35)]
    assert _reserve(clients[0], 1) == nodes[0]
    clients[1].ask('PUT', f'/v1/nodes/{nodes[1]}/maintenance', {'reason': 'a fan'})
    # The first search has read one node, and 32 more.
    assert _reserve(clients[0], 2) == nodes[33]


def test_node_is_deleted_by_now(clients):
    """A kept node that no longer exists is skipped."""
    nodes = [available(clients[0]) for _ in range(3)]
    _reserve(clients[0], 1)
    clients[1].ask('DELETE', f'/v1/nodes/{nodes[1]}')
    assert _reserve(clients[0], 2) == nodes[2]


def test_two_processes_keep_the_same_nodes(clients):
    """Each node is reserved exactly once."""
    nodes = [available(clients[0]) for _ in range(12)]
    held = [_reserve(clients[number % 2], number) for number in range(12)]
    assert sorted(held) == sorted(nodes)
    assert _reserve(clients[0], 20) == _reserve(clients[1], 21) == 409


def test_one_search_serves_many_requests_of_several_nodes(clients):
    """Only the first request searches. The others execute fewer statements, and get their nodes."""
    # What a process reads once, it has read by then.
    body = {'instance_uuid': instance(99), 'node_uuid': available(clients[0])}
    assert clients[0].ask('POST', PATH, body).status_int == 201
    nodes = [available(clients[0]) for _ in range(44)]
    counts, held = [], []
    for number in range(4):
        instances = [instance(number * 11 + each) for each in range(11)]
        with plans.statements() as executed:
            response = clients[0].ask('POST', PATH, {'instance_uuids': instances, 'required': []})
        assert response.status_int == 201, response.text
        counts.append(len(executed))
        held += [each['node_uuid'] for each in response.json['reservations']]
    assert sorted(held) == sorted(nodes)
    assert counts[0] > counts[1] == counts[2] == counts[3]


def test_node_that_is_free_again(clients):
    """A node that is free again is found, although the search has passed it."""
    nodes = [available(clients[0]) for _ in range(3)]
    for number in range(3):
        _reserve(clients[0], number)
    held = next(each for each in clients[0].get(PATH)['reservations'] if each['node_uuid'] == nodes[0])
    clients[1].ask('DELETE', f'{PATH}/{held["uuid"]}')
    assert _reserve(clients[0], 5) == nodes[0]


def test_an_allocated_node_comes_before_kept_ones(clients):
    """An instance gets the node that is allocated to it in Placement, not the next one in turn."""
    nodes = [golden(clients[0]) for _ in range(3)]
    assert _reserve(clients[0], 1) == nodes[0]
    assert allocate(clients[0], 2, nodes[2]).status_int == 204
    assert _reserve(clients[0], 2) == nodes[2]
