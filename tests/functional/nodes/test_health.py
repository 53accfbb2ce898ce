"""The health of nodes: who sees it, and where."""

import pytest

from ironic_traits.inventory.core.single_node import change, take
from tests.support.client import Client
from tests.support.mirrored_nodes import UUIDS, Store
from tests.support.reservations import available_of, reserve
from tests.support.service import make_app


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


@pytest.fixture(params=[True, False], ids=['excluded', 'not excluded'])
def excludes(request):
    return request.param


@pytest.fixture
def matching(database_url, excludes):
    """An application with [matching] exclude_unhealthy, and one without."""
    with make_app(database_url, matching__exclude_unhealthy=excludes) as application:
        yield application


def reserved(client, uuid):
    """Return the generation of the provider of a node, and whether its unit is reserved."""
    document = client.placement('GET', f'/resource_providers/{uuid}/inventories').json
    return document['resource_provider_generation'], document['inventories']['CUSTOM_GOLD']['reserved']


def test_an_unhealthy_node_is_kept_back_everywhere(matching, excludes):
    """Placement, matches, reservations by name and by request, capacity, the filter and explanations agree."""
    client = Client(matching)
    uuid = available_of(client, 'gold')
    before, _ = reserved(client, uuid)
    set_health(matching, uuid, 'Critical')
    assert reserved(client, uuid) == (before + excludes, int(excludes))
    assert len(client.get('/v1/nodes?eligible=true')['nodes']) == (not excludes)
    found = client.ask('POST', '/v1/matches', {'resource_class': 'gold', 'explain': True}).json
    assert len(found['nodes']) == (not excludes)
    clauses = {each['clause']: each['rejected'] for each in found['explanation']['clauses']}
    assert clauses.get('eligible:health') == (1 if excludes else None)
    flavors = [{'name': 'one', 'resource_class': 'gold', 'required': []}]
    (flavor,) = client.ask('POST', '/v1/capacity', {'flavors': flavors}).json['flavors']
    assert flavor['unavailable'] == ({'health': 1} if excludes else {})
    candidates = client.placement('GET', '/allocation_candidates?resources=CUSTOM_GOLD:1').json
    assert len(candidates['provider_summaries']) == (not excludes)
    response = reserve(client, 1, [uuid])
    assert response.status_int == (409 if excludes else 201), response.text
    if excludes:
        assert 'Its health is Critical.' in response.text
        set_health(matching, uuid, 'OK')
        assert reserved(client, uuid) == (before + 2, 0)
        assert reserve(client, 1, [uuid]).status_int == 201


def test_an_unhealthy_node_of_a_cloud(matching, excludes):
    Store(matching.service, 'far').nodes({'health': 'OK'})
    client = Client(matching)
    before, _ = reserved(client, UUIDS[0])
    Store(matching.service, 'far').nodes({'health': 'Warning', 'updated_at': '2026-01-03T00:00:00+00:00'})
    assert reserved(client, UUIDS[0]) == (before + excludes, int(excludes))


def test_who_holds_an_unhealthy_node_keeps_it(matching):
    client = Client(matching)
    uuid = available_of(client, 'gold')
    held = reserve(client, 1, [uuid], expires_in=600).json['reservation']
    set_health(matching, uuid, 'Critical')
    assert client.ask('POST', f'/v1/reservations/{held["uuid"]}/renew', {'expires_in': 900}).status_int == 200
    body = {'target': 'active', 'reservation_uuid': held['uuid']}
    assert client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', body).status_int == 202


def test_services_with_and_without_the_option_share_a_database(database_url):
    """Each of them has the statements of its own option."""
    for excludes in (True, False, True):
        with make_app(database_url, matching__exclude_unhealthy=excludes) as application:
            client = Client(application)
            if not client.get('/v1/nodes')['nodes']:
                set_health(application, available_of(client, 'gold'), 'Warning')
            assert len(client.get('/v1/nodes?eligible=true')['nodes']) == (not excludes)
