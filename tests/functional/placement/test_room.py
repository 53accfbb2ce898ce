"""Whether allocations fit: inventories with too little room, and nodes that are not for new instances."""

import uuid

import pytest

from tests.support.providers import GOLD, allocate, free, golden, patch
from tests.support.reservations import expire, instance, reserve

PROVIDER = 'eeeeeeee-0000-4000-8000-000000000001'


@pytest.fixture
def node(client):
    """An available node of class gold."""
    return golden(client)


@pytest.fixture
def stock(client):
    """Function that sets the inventory of 8 VCPU of a provider, with other fields."""
    body = {'name': 'host', 'uuid': PROVIDER}
    assert client.placement('POST', '/resource_providers', body).status_int == 200

    def put(**fields):
        generation = client.placement('GET', f'/resource_providers/{PROVIDER}').json['generation']
        inventories = {'VCPU': {'total': 8, **fields}}
        body = {'resource_provider_generation': generation, 'inventories': inventories}
        assert client.placement('PUT', f'/resource_providers/{PROVIDER}/inventories', body).status_int == 200

    put()
    return put


def use(client, number, amount):
    """Replace the allocations of a consumer by an amount of VCPU, and return the status."""
    existing = client.placement('GET', f'/allocations/{instance(number)}').json
    body = {
        'allocations': {PROVIDER: {'resources': {'VCPU': amount}}},
        'project_id': 'project',
        'user_id': 'user',
        'consumer_type': 'INSTANCE',
        'consumer_generation': existing.get('consumer_generation'),
    }
    return client.placement('PUT', f'/allocations/{instance(number)}', body).status_int


def summaries(client, query):
    """Return the providers of the candidates of a request."""
    return client.placement('GET', f'/allocation_candidates?resources={query}').json['provider_summaries']


def test_consumers_may_give_back_from_too_little(client, stock):
    """If an inventory shrinks below what is used, consumers keep what they have, or less, but get no more."""
    assert [use(client, number, 4) for number in (1, 2)] == [204, 204]
    stock(total=6)
    assert [use(client, 1, amount) for amount in (5, 4, 3)] == [409, 204, 204]
    assert use(client, 2, 5) == 409
    assert use(client, 2, 3) == 204


def test_a_reserved_part_and_a_ratio(client, stock):
    """The capacity is (total - reserved) * allocation_ratio, and may be used up exactly."""
    stock(reserved=2, allocation_ratio=2.0)
    assert summaries(client, 'VCPU:12')[PROVIDER]['resources']['VCPU'] == {'capacity': 12, 'used': 0}
    assert summaries(client, 'VCPU:13') == {}
    assert [use(client, 1, amount) for amount in (13, 12)] == [409, 204]
    assert use(client, 2, 1) == 409


def test_a_very_large_capacity_is_a_64_bit_integer(client, stock):
    stock(allocation_ratio=1e30)
    assert summaries(client, 'VCPU:1')[PROVIDER]['resources']['VCPU']['capacity'] == 2**63 - 1


def test_units(client, stock):
    """Candidates have amounts that allocations may have: not below min_unit, above max_unit, or between the steps."""
    stock(min_unit=4, max_unit=6, step_size=2)
    amounts = (2, 4, 5, 6, 8)
    assert [bool(summaries(client, f'VCPU:{amount}')) for amount in amounts] == [False, True, False, True, False]
    assert [use(client, 1, amount) for amount in amounts] == [409, 204, 409, 204, 409]


def test_the_usage_of_each_class(client, stock):
    """What is used of a class takes no room from another class of the provider, nor from another provider."""
    other = PROVIDER[:-1] + '2'
    assert client.placement('POST', '/resource_providers', {'name': 'other', 'uuid': other}).status_int == 200
    for host, generation in (PROVIDER, 1), (other, 0):
        body = {'resource_provider_generation': generation, 'inventories': {'MEMORY_MB': {'total': 8}}}
        body['inventories'] |= {'VCPU': {'total': 8}}
        assert client.placement('PUT', f'/resource_providers/{host}/inventories', body).status_int == 200
    assert use(client, 1, 6) == 204
    shown = summaries(client, 'MEMORY_MB:8,VCPU:2')
    assert {host: each['resources']['VCPU']['used'] for host, each in shown.items()} == {PROVIDER: 6, other: 0}
    assert {each['resources']['MEMORY_MB']['used'] for each in shown.values()} == {0}
    assert summaries(client, 'MEMORY_MB:8,VCPU:3').keys() == {other}
    usages = client.placement('GET', f'/resource_providers/{PROVIDER}/usages').json['usages']
    assert usages == {'MEMORY_MB': 0, 'VCPU': 6}


def test_the_numbers_of_a_node_are_integers(client, node):
    """Clients may not read 1.0 as an integer. The ratio is the only number with a fraction."""
    inventory = client.placement('GET', f'/resource_providers/{node}/inventories').json['inventories'][GOLD]
    ratio = inventory.pop('allocation_ratio')
    assert (type(ratio), {type(number) for number in inventory.values()}) == (float, {int})


def test_nodes_with_room(client, node):
    """A node has room if it is free, has the class, and has the traits."""
    free_one, silver, held, plain = golden(client), golden(client), golden(client), node
    for each in (free_one, held, silver):
        assert client.ask('PUT', f'/v1/nodes/{each}/traits/CUSTOM_A').status_int == 204
    patch(client, silver, {'op': 'add', 'path': '/resource_class', 'value': 'silver'})
    assert reserve(client, 1, [held]).status_int == 201
    assert set(free(client)) == {free_one, plain}
    assert summaries(client, f'{GOLD}:1').keys() == {free_one, plain}
    assert summaries(client, f'{GOLD}:1&required=CUSTOM_A').keys() == {free_one}
    assert summaries(client, f'{GOLD}:2') == {}


def test_a_consumer_keeps_a_node_in_maintenance(client, node):
    """Its allocation can be written again, but no other one, and not by another consumer."""
    other = golden(client)
    assert allocate(client, 2, other).status_int == 204
    assert allocate(client, 1, node).status_int == 204
    client.ask('PUT', f'/v1/nodes/{node}/maintenance')
    assert allocate(client, 1, node).status_int == 204
    assert allocate(client, 2, node).status_int == 409


def test_a_reserved_node_beside_another(client, node):
    """Each instance gets the node that is reserved for it, also in one request."""
    other = golden(client)
    for number, reserved in (1, node), (2, other), (3, golden(client)):
        assert reserve(client, number, [reserved]).status_int == 201
    owner = {'project_id': 'project', 'user_id': 'user', 'consumer_type': 'INSTANCE', 'consumer_generation': None}
    body = {
        instance(number): {'allocations': {each: {'resources': {GOLD: 1}}}, **owner}
        for number, each in ((1, node), (2, other))
    }
    crossed = {instance(1): body[instance(2)], instance(2): body[instance(1)]}
    assert client.placement('POST', '/allocations', crossed).status_int == 409
    assert client.placement('POST', '/allocations', body).status_int == 204


def test_an_expired_reservation_gives_no_right(app, client, node):
    """A consumer whose reservation has expired does not get the node beside the one that has it now."""
    assert reserve(client, 1, [node], expires_in=60).status_int == 201
    expire(app)
    assert allocate(client, 2, node).status_int == 204
    assert allocate(client, 1, node).status_int == 409


def test_amounts_of_a_node_and_of_a_provider(client, node, stock):
    """A consumer may have a node and resources of another provider, and writes both again."""
    consumer = str(uuid.uuid4())
    for each, name in (node, GOLD), (PROVIDER, 'VCPU'):
        inventories = client.placement('GET', f'/resource_providers/{each}/inventories').json['inventories']
        assert inventories.keys() == {name}
    body = {
        'allocations': {node: {'resources': {GOLD: 1}}, PROVIDER: {'resources': {'VCPU': 8}}},
        'project_id': 'project',
        'user_id': 'user',
        'consumer_type': 'INSTANCE',
        'consumer_generation': None,
    }
    assert client.placement('PUT', f'/allocations/{consumer}', body).status_int == 204
    assert client.placement('PUT', f'/allocations/{consumer}', body | {'consumer_generation': 1}).status_int == 204
    assert use(client, 1, 1) == 409
