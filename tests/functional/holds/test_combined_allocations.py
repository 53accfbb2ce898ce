"""Allocations that one process carries out together, on each database."""

import functools

import pytest
from oslo_db import exception as db_exception

from tests.support.client import Client
from tests.support.combined_requests import sender
from tests.support.providers import golden, provider

BODY = {'resource_class': 'gold', 'traits': ['CUSTOM_A']}


@pytest.fixture
def together(app, monkeypatch):
    """A function that sends bodies, of which all but the first are carried out together: returns their responses."""
    return sender(app, monkeypatch, functools.partial(_send, app))


def _send(app, body):
    return Client(app).ask('POST', '/v1/allocations', body)


def _nodes(client, count):
    uuids = [golden(client) for _ in range(count)]
    for uuid in uuids:
        client.ask('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_A')
    return uuids


def test_each_gets_a_node_and_is_its_author(client, together):
    nodes = _nodes(client, 8)
    before = {node: provider(client, node)[0] for node in nodes}
    bodies = [{**BODY, 'extra': {'number': number}} for number in range(6)]
    responses = together(bodies)
    assert [response.status_int for response in responses] == [201] * 6
    assert [response.json['extra']['number'] for response in responses] == list(range(6))
    held = [response.json['node_uuid'] for response in responses]
    assert len(set(held)) == 6
    for response, uuid in zip(responses, held, strict=True):
        shown = client.get(f'/v1/allocations/{response.json["uuid"]}')
        assert (shown['state'], shown['node_uuid'], shown['extra']) == ('active', uuid, response.json['extra'])
        node = client.get(f'/v1/nodes/{uuid}')
        assert (node['instance_uuid'], node['allocation_uuid']) == (shown['uuid'], shown['uuid'])
        assert node['instance_info']['traits'] == ['CUSTOM_A']
        assert provider(client, uuid)[0] == before[uuid] + 1
        entries = client.get(f'/v1/history?node={uuid}&event_type=reservation')['history']
        assert [each['request_id'] for each in entries] == [response.headers['OpenStack-Request-Id']]


def test_too_few_nodes_for_all(client, together):
    """Those that a node is left for get it. The others end in error, as alone."""
    _nodes(client, 3)
    responses = together([BODY] * 6)
    assert [response.status_int for response in responses] == [201] * 6
    shown = [client.get(f'/v1/allocations/{response.json["uuid"]}') for response in responses]
    assert sorted(each['state'] for each in shown) == ['active'] * 3 + ['error'] * 3
    assert all(each['last_error'] for each in shown if each['state'] == 'error')
    assert len({each['node_uuid'] for each in shown if each['state'] == 'active'}) == 3


def test_only_requests_that_are_alike(app, client, monkeypatch):
    """What differs in a request is part of its kind. One with a name, a uuid or a list is carried out alone."""
    kinds = []
    run = app.service.combined.run
    monkeypatch.setattr(app.service.combined, 'run', lambda kind, *more: kinds.append(kind) or run(kind, *more))
    uuid = _nodes(client, 4)[0]
    variants = ({}, {'traits': []}, {'resource_class': 'silver'})
    for more in variants:
        assert _send(app, {**BODY, **more}).status_int == 201
    assert len(set(kinds)) == len(variants)
    for more in (
        {'name': 'a-name'},
        {'uuid': 'aaaaaaaa-0000-4000-8000-000000000001'},
        {'candidate_nodes': [uuid]},
    ):
        assert _send(app, {**BODY, **more}).status_int == 201
    assert len(kinds) == len(variants)


def test_a_lost_answer_to_the_commit(app, client, together, monkeypatch):
    """Nobody knows whether the transaction was committed, so nobody writes again. Each client is told to look."""
    _nodes(client, 12)
    run = app.service.combined.run

    def losing(kind, ticket, alone, together):
        def lose(tickets):
            together(tickets)
            raise db_exception.DBConnectionError(Exception('server closed the connection'))

        return run(kind, ticket, alone, lose)

    monkeypatch.setattr(app.service.combined, 'run', losing)
    responses = together([BODY] * 6)
    assert [response.status_int for response in responses] == [201, 503, 503, 503, 503, 503]
    assert len(client.get('/v1/allocations')['allocations']) == 6
