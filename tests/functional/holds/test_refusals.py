"""Refusals of requests for nodes: how many attempts they take, and what they name, on each database."""

import pytest

from ironic_traits.inventory.holds import free_nodes
from ironic_traits.inventory.search import explanations, matches
from tests.support.mirrored_nodes import INSTANCE, UUIDS
from tests.support.reservations import PATH, available, available_of, expire, instance, reserve

TOO_MANY = {
    'list': lambda nodes: {'instance_uuid': instance(9), 'node_uuid': nodes},
    'request': lambda nodes: {'instance_uuid': instance(9), 'resource_class': 'gold'},
    'list and request': lambda nodes: {'instance_uuid': instance(9), 'resource_class': 'tin', 'node_uuid': nodes},
    'topology': lambda nodes: {
        'instance_uuids': [instance(8), instance(9)],
        'resource_class': 'tin',
        'topology': [{'key': 'properties/rack', 'policy': 'affinity'}],
    },
}


@pytest.fixture
def attempts(monkeypatch):
    """[number of contradictions before it, …] of the attempts that have found too few nodes."""
    found, original = [], free_nodes._refuse

    def refuse(attempt, instances, contradictions):
        found.append(contradictions)
        original(attempt, instances, contradictions)

    monkeypatch.setattr(free_nodes, '_refuse', refuse)
    return found


@pytest.fixture
def no_candidates(monkeypatch):
    """Let searches find no node, although there may be free ones."""
    monkeypatch.setattr(matches, 'candidates', lambda *arguments: [])


@pytest.mark.parametrize('kind', TOO_MANY)
def test_a_refusal_takes_one_attempt(client, attempts, kind):
    """It explains itself at once: to search again would find no more."""
    nodes = [available_of(client, 'gold')]
    assert reserve(client, 1, nodes).status_int == 201
    for rack in 'rs':
        available_of(client, 'tin', properties={'rack': rack})
    response = client.ask('POST', PATH, TOO_MANY[kind](nodes))
    assert (response.status_int, attempts) == (409, [0])
    assert ('explanation' in response.json) == (kind != 'list')


@pytest.mark.parametrize('more', [{'required': []}, {'required': [], 'node_uuid': 'first'}, {'node_uuid': 'first'}])
def test_a_search_that_finds_nothing_ends(client, attempts, no_candidates, more):
    """The request is refused, although the explanation finds a free node again and again."""
    node = available(client)
    body = {'instance_uuid': instance(1), **more} | ({'node_uuid': [node]} if 'node_uuid' in more else {})
    assert client.ask('POST', PATH, body).status_int == 409
    assert attempts == list(range(11))


def test_the_index_is_used_until_it_contradicts_a_search(client, monkeypatch, attempts, no_candidates):
    """Later explanations read the nodes themselves."""
    used, original = [], explanations.count

    def count(*arguments, by_index):
        used.append(by_index)
        return original(*arguments, by_index=by_index)

    monkeypatch.setattr(explanations, 'count', count)
    available(client)
    assert client.ask('POST', PATH, {'instance_uuid': instance(1), 'required': []}).status_int == 409
    assert used == [True] + [False] * 10


def test_an_expired_reservation_costs_one_more_attempt(app, client, attempts):
    """It may have expired between the search and the explanation, so the search may find its node now."""
    other = available_of(client, 'tin')
    assert reserve(client, 1, [other], expires_in=60).status_int == 201
    expire(app)
    body = {'instance_uuid': instance(1), 'resource_class': 'gold'}
    assert client.ask('POST', PATH, body).status_int == 409
    assert attempts == [0, 1]


def test_a_reservation_of_the_instance_after_a_contradiction(client, monkeypatch):
    """Another request for the instance took the last node. The next attempt finds its reservation."""
    node = available(client)
    body, looks = {'instance_uuid': instance(1), 'required': []}, []
    original = matches.candidates, free_nodes._refuse

    def refuse(attempt, instances, contradictions):
        looks.append(contradictions)
        if contradictions == 1:
            monkeypatch.setattr(matches, 'candidates', original[0])
            assert client.ask('POST', PATH, body).status_int == 201
        original[1](attempt, instances, contradictions)

    monkeypatch.setattr(matches, 'candidates', lambda *arguments: [])
    monkeypatch.setattr(free_nodes, '_refuse', refuse)
    response = client.ask('POST', PATH, body)
    assert (response.status_int, looks) == (200, [0, 1])
    assert response.json['reservation']['node_uuid'] == node


def test_each_node_of_the_list_is_named_once(app, client):
    """A node that could be reserved is not named: here, its reservation has expired."""
    free, broken = available(client), available(client, name='broken')
    assert reserve(client, 1, [free], expires_in=60).status_int == 201
    expire(app)
    client.ask('PUT', f'/v1/nodes/{broken}/maintenance', {})
    body = {'instance_uuids': [instance(2), instance(3)], 'node_uuid': [free, 'broken', broken, 'none']}
    response = client.ask('POST', PATH, body)
    assert response.status_int == 409
    assert [(each['node'], each['reason']) for each in response.json['reasons']] == [
        ('broken', 'maintenance'),
        ('none', 'not found'),
    ]


def test_a_node_that_the_caller_cannot_see(ask):
    """The refusal is the one for a node that does not exist."""
    node = ask('owner_admin', 'POST /v1/nodes', {'driver': 'fake-hardware'}).json['uuid']
    assert ask('owner_admin', f'PUT /v1/nodes/{node}/maintenance', {}).status_int == 202
    body = {'instance_uuid': INSTANCE, 'node_uuid': [node, INSTANCE]}
    response = ask('stranger_admin', 'POST /v1/reservations', body)
    assert response.status_int == 409
    assert {each['reason'] for each in response.json['reasons']} == {'not found'}


def test_a_node_of_a_cloud_that_cannot_be_reached(app, far, client):
    """The refusal says so, if nothing else is in the way."""
    app.service.conf.set_override('claims', 'instance_uuid', group='mirror')
    far.nodes({}, {'number': 1, 'maintenance': True})
    response = client.ask('POST', PATH, {'instance_uuid': INSTANCE, 'node_uuid': UUIDS[:2]})
    assert response.status_int == 409, response.text
    assert [each['reason'] for each in response.json['reasons']] == ['cloud', 'maintenance']
