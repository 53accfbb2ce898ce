"""Reservations that one process carries out together, on each database."""

import concurrent.futures
import functools
import itertools

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exception
from oslo_utils import timeutils, uuidutils

from ironic_traits.db import tables
from ironic_traits.db.drivers import timeouts
from ironic_traits.inventory.search import explanations
from tests.support.client import Client
from tests.support.combined_requests import sender
from tests.support.concurrency import wait_until
from tests.support.providers import allocate, patch
from tests.support.reservations import available, instance
from tests.support.service import database

BODY = {'required': []}


@pytest.fixture
def together(app, monkeypatch):
    """A function that sends requests, of which all but the first are carried out together: returns their responses."""
    send_all = sender(app, monkeypatch, functools.partial(_send, app))
    return lambda bodies: send_all(bodies, len({body['instance_uuid'] for body in bodies[1:]}))


@pytest.fixture
def explained(monkeypatch):
    """A list with an element for each explanation of a refusal."""
    found, explain = [], explanations.count
    monkeypatch.setattr(explanations, 'count', lambda *more, **options: found.append(1) or explain(*more, **options))
    return found


def _send(app, body):
    return Client(app).ask('POST', '/v1/reservations', body)


def _bodies(count, **more):
    return [{'instance_uuid': instance(number), 'required': ['CUSTOM_A'], **more} for number in range(count)]


def _nodes(client, count):
    uuids = [available(client) for _ in range(count)]
    for uuid in uuids:
        client.ask('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_A')
    return uuids


def test_each_gets_a_node_and_is_its_author(app, client, together, explained):
    nodes = _nodes(client, 8)
    responses = together(_bodies(6))
    assert [response.status_int for response in responses] == [201] * 6
    assert not explained
    reservations = [response.json['reservation'] for response in responses]
    assert [each['instance_uuid'] for each in reservations] == [instance(number) for number in range(6)]
    held = [each['node_uuid'] for each in reservations]
    assert len(set(held)) == 6
    assert set(held) <= set(nodes)
    for response, reservation in zip(responses, reservations, strict=True):
        assert response.headers['Location'].endswith(reservation['uuid'])
        entries = client.get(f'/v1/history?node={reservation["node_uuid"]}&event_type=reservation')['history']
        assert [each['request_id'] for each in entries] == [response.headers['OpenStack-Request-Id']]


@pytest.mark.parametrize('count', [1, 3])
def test_too_few_nodes_for_all(app, client, together, count):
    """Those that a node is left for get it. The others are refused as they are alone."""
    _nodes(client, count)
    responses = together(_bodies(6))
    assert sorted(response.status_int for response in responses) == [201] * count + [409] * (6 - count)
    assert responses[0].status_int == 201
    [alone] = {_send(app, body).text for body in _bodies(6) if body['instance_uuid'] not in _holders(client)}
    assert {response.text for response in responses if response.status_int == 409} == {alone}
    assert '1 is needed' in alone


def test_one_explanation_for_all(client, together, explained):
    _nodes(client, 1)
    assert [response.status_int for response in together(_bodies(6))] == [201] + [409] * 5
    assert len(explained) == 1


def _holders(client):
    return {each['instance_uuid'] for each in client.get('/v1/reservations')['reservations']}


def test_a_node_that_comes_free_before_the_refusal(app, client, together, monkeypatch):
    """Those that have found no node search again, each alone."""
    _nodes(client, 1)
    explain = explanations.count

    def free_first(*more, **options):
        monkeypatch.setattr(explanations, 'count', explain)
        _nodes(client, 2)
        return explain(*more, **options)

    monkeypatch.setattr(explanations, 'count', free_first)
    responses = together(_bodies(6))
    assert sorted(response.status_int for response in responses) == [201] * 3 + [409] * 3


@pytest.mark.parametrize('more', [{}, {'capacity_reservation': 'a'}], ids=['others', 'named'])
def test_too_few_nodes_beside_a_promise(client, together, explained, more):
    """The refusals are those of the requests alone, and no explanation is repeated."""
    for node in _nodes(client, 3):
        patch(client, node, {'op': 'add', 'path': '/resource_class', 'value': 'gold'})
    body = {'name': 'a', 'project': 'p', 'count': 1 if more else 3, 'resource_class': 'gold'}
    assert client.ask('POST', '/v1/capacity_reservations', body).status_int == 201
    responses = together(_bodies(6, **more))
    refused = [response for response in responses if response.status_int != 201]
    assert len(refused) == (5 if more else 6)
    code = 'used_up' if more else 'promised'
    assert {response.json['code'].rsplit('.')[-1] for response in refused} == {code}
    assert not explained


@pytest.mark.parametrize(
    'error', [db_exception.DBError('timeout'), db_exception.DBConnectionError('gone'), ValueError('bug')], ids=repr
)
def test_an_explanation_that_fails(app, client, together, monkeypatch, error):
    """Those that got a node before it have their own answer."""
    _nodes(client, 3)

    def explain(*more, **options):
        raise error

    monkeypatch.setattr(explanations, 'count', explain)
    responses = together(_bodies(6))
    assert [response.status_int for response in responses].count(201) == 3
    monkeypatch.undo()
    assert len(_holders(client)) == 3


def test_failures_stay_with_their_requests(app, client, together):
    nodes = _nodes(client, 8)
    with app.service.write() as connection:
        of_node = tables.nodes.c.uuid == nodes[7]
        connection.execute(sa.update(tables.nodes).values(instance_uuid=instance(3)).where(of_node))
    kept = client.ask('POST', '/v1/reservations', {'instance_uuid': instance(1), 'node_uuid': [nodes[6]]})
    responses = together(_bodies(5))
    assert [response.status_int for response in responses] == [201, 200, 201, 409, 201]
    assert responses[1].json['reservation']['uuid'] == kept.json['reservation']['uuid']
    assert instance(3) in responses[3].text


def test_an_instance_that_has_a_node_gets_no_second_one(client, together):
    nodes = _nodes(client, 8)
    kept = client.ask('POST', '/v1/reservations', {'instance_uuid': instance(2), 'node_uuid': [nodes[6]]})
    responses = together(_bodies(4))
    assert [response.status_int for response in responses] == [201, 201, 200, 201]
    assert responses[2].json['reservation']['uuid'] == kept.json['reservation']['uuid']
    assert len({response.json['reservation']['node_uuid'] for response in responses}) == 4


def test_an_instance_whose_node_is_locked(app, client, together, database_kind, database_url):
    """It keeps its reservation, and the others need not wait for the lock."""
    if database_kind == 'sqlite':
        pytest.skip('it has no locks of rows')
    _nodes(client, 6)
    bodies = _bodies(4)
    held = _send(app, bodies[2]).json['reservation']
    raising = sa.update(tables.nodes).values(generation=tables.nodes.c.generation + 1)
    with database(database_url) as other, other.write() as connection:
        connection.execute(raising.where(tables.nodes.c.uuid == held['node_uuid']))
        responses = together(bodies)
        connection.rollback()
    assert [response.status_int for response in responses] == [201, 201, 200, 201]
    assert responses[2].json['reservation'] == held


def test_only_one_waits_for_a_locked_node(app, client, monkeypatch, database_kind, database_url):
    """There are nodes for all, but another transaction has locked the last one."""
    if database_kind == 'sqlite':
        pytest.skip('it has no locks of rows')
    nodes, ended = _nodes(client, 4), []
    send_all = sender(app, monkeypatch, lambda body: [_send(app, body), ended.append(body)][0])
    raising = sa.update(tables.nodes).values(generation=tables.nodes.c.generation + 1)
    with (
        database(database_url) as other,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
        other.write() as connection,
    ):
        connection.execute(raising.where(tables.nodes.c.uuid == nodes[3]))
        responses = pool.submit(send_all, _bodies(4))
        try:
            wait_until(lambda: len(ended) == 3)
        finally:
            connection.rollback()
        assert [response.status_int for response in responses.result()] == [201] * 4


def test_the_deadline_of_the_first_request(app, client, database_kind, database_url, monkeypatch):
    """It is over while the others could still wait, for a key that another transaction has locked."""
    if database_kind == 'sqlite':
        pytest.skip('it has no locks of rows')
    *_, spare = _nodes(client, 8)
    numbers, request = itertools.count(), timeouts.request
    # That of the second request, which leads the others, is the first one to end.
    monkeypatch.setattr(timeouts, 'request', lambda seconds: request(2 if next(numbers) == 1 else seconds))
    send_all = sender(app, monkeypatch, functools.partial(_send, app))
    row = {'uuid': uuidutils.generate_uuid(), 'node_uuid': spare, 'instance_uuid': instance(2)}
    with (
        database(database_url) as other,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
        other.write() as connection,
    ):
        connection.execute(sa.insert(tables.reservations).values(row | {'created_at': timeutils.utcnow()}))
        responses = pool.submit(send_all, _bodies(5))
        concurrent.futures.wait([responses], timeout=4)
        connection.rollback()
        assert [response.status_int for response in responses.result()] == [201] * 5


def test_the_allocated_node_of_an_instance_is_its_first_choice(client, together):
    """As if its request was carried out alone. So each of the others gets a node, too, which nobody has."""
    nodes = _nodes(client, 8)
    for node in nodes:
        patch(client, node, {'op': 'add', 'path': '/resource_class', 'value': 'gold'})
    assert allocate(client, 2, nodes[7]).status_int == 204
    responses = together(_bodies(4))
    assert [response.status_int for response in responses] == [201] * 4
    held = [response.json['reservation']['node_uuid'] for response in responses]
    assert held[2] == nodes[7]
    assert len(set(held)) == 4


def test_the_same_instance_several_times(client, together):
    _nodes(client, 8)
    bodies = _bodies(3)
    responses = together([bodies[0], bodies[1], bodies[1], bodies[1], bodies[2]])
    assert [response.status_int for response in responses].count(201) == 3
    assert [response.status_int for response in responses].count(200) == 2
    assert len({response.json['reservation']['uuid'] for response in responses}) == 3


def test_only_requests_that_are_alike(app, client, monkeypatch):
    """What differs in a request is part of its kind. A list, filters and a topology are carried out alone."""
    kinds = []
    run = app.service.combined.run
    monkeypatch.setattr(app.service.combined, 'run', lambda kind, *more: kinds.append(kind) or run(kind, *more))
    uuid = _nodes(client, 1)[0]
    variants = (
        *({}, {'required': ['CUSTOM_B']}, {'forbidden': ['CUSTOM_B']}, {'required_any': [['CUSTOM_A', 'CUSTOM_B']]}),
        *({'resource_class': 'gold'}, {'expires_in': 60}, {'expires_at': '2040-01-01T00:00:00Z'}),
    )
    client.ask('PUT', '/v1/traits/CUSTOM_B')
    for more in variants:
        _send(app, _bodies(1, **more)[0])
    assert len(set(kinds)) == len(variants)
    for more in (
        *({'node_uuid': [uuid]}, {'instance_uuids': [instance(1), instance(2)]}),
        {'topology': [{'key': 'owner', 'policy': 'affinity'}]},
    ):
        body = {**_bodies(1)[0], **more}
        if 'instance_uuids' in more:
            del body['instance_uuid']
        assert _send(app, body).status_int in (200, 201, 409), more
    assert len(kinds) == len(variants)
