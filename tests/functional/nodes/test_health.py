"""The health of nodes: who sees it, and where."""

import pytest

from ironic_traits.inventory.core.single_node import change, take
from tests.support.client import Client
from tests.support.mirrored_nodes import UUIDS, Store


def set_health(app, ident, health):
    """Write the health of a node, as a worker does."""
    with app.service.write() as connection:
        change(connection, take(connection, ident), {'health': health})


def health_of(app, ident):
    return Client(app).get(f'/v1/nodes/{ident}?fields=health')['health']


@pytest.mark.parametrize('health', ['OK', 'Warning', 'Critical', None])
def test_health_is_shown_and_in_the_change_feed(app, client, health):
    client.node(name='one')
    set_health(app, 'one', 'Warning' if health != 'Warning' else None)
    token = client.get('/v1/changes')['token']
    set_health(app, 'one', health)
    assert [each['kind'] for each in client.get(f'/v1/changes?since={token}')['changes']] == ['node']
    (changed,) = client.get(f'/v1/nodes?changed-since={token}&fields=name,health')['nodes']
    assert changed == {'name': 'one', 'health': health}
    assert client.get('/v1/nodes/one')['health'] == health
    assert client.get('/v1/nodes/detail')['nodes'][0]['health'] == health
    assert client.ask('GET', '/v1/nodes/one?fields=health', version='1.108').status_int == 406
    assert 'health' not in client.ask('GET', '/v1/nodes/one', version='1.108').json


def test_clients_cannot_set_it(client):
    client.node(name='one')
    assert client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', 'health': 'OK'}).status_int == 400
    patch = [{'op': 'add', 'path': '/health', 'value': 'OK'}]
    assert client.ask('PATCH', '/v1/nodes/one', patch).status_int == 400


def test_a_mirrored_node_has_the_health_that_its_cloud_says(app):
    far = Store(app.service, 'far')
    far.nodes({'health': 'Critical'})
    assert health_of(app, UUIDS[0]) == 'Critical'
    far.nodes({'health': None, 'updated_at': '2026-01-03T00:00:00+00:00'})
    assert health_of(app, UUIDS[0]) is None
    # An Ironic before 1.109 does not say it.
    far.nodes({'number': 1})
    assert health_of(app, UUIDS[1]) is None
