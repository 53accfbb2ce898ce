"""Conductors, their nodes, and their work."""

import datetime

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.provisioning import transitions, workers
from tests.support.client import Client, message
from tests.support.service import finish_work, make_app
from tests.support.transitions import ask, state

FAKE = 'fake-hardware'


@pytest.fixture
def worker(app):
    """Function that adds the row of a worker."""
    numbers = iter(range(100))

    def add(hostname, group='', drivers=(FAKE,), silent=0):
        uuid = f'{next(numbers):036}'
        facts = {'hostname': hostname, 'pid': 1, 'conductor_group': group, 'drivers': list(drivers)}
        workers.beat(app.service, uuid, **facts)
        if silent:
            with app.service.write() as connection:
                row = sa.update(tables.workers).where(tables.workers.c.uuid == uuid)
                beat = connection.scalar(sa.select(tables.workers.c.heartbeat_at).where(tables.workers.c.uuid == uuid))
                connection.execute(row.values(heartbeat_at=beat - datetime.timedelta(seconds=silent)))
        app.service.conductors.forget()

    return add


def nodes_of(client, name):
    return {node['uuid'] for node in client.get(f'/v1/nodes?conductor={name}&fields=uuid')['nodes']}


def test_none(client):
    uuid = client.node()['uuid']
    assert client.get('/v1/conductors') == {'conductors': []}
    assert client.get(f'/v1/nodes/{uuid}')['conductor'] is None
    assert client.get('/v1/nodes?fields=conductor') == {'nodes': [{'conductor': None}]}
    assert nodes_of(client, 'a') == set()
    # An empty name is no filter.
    assert nodes_of(client, '') == {uuid}


def test_workers_of_a_host_are_one_conductor(client, worker):
    worker('b', 'rack1', ['x'], silent=100)
    worker('b', '', [FAKE])
    worker('b', '', ['y', FAKE])
    worker('a', silent=100)
    listed = client.get('/v1/conductors')['conductors']
    assert [(each['hostname'], each['alive'], each['conductor_group']) for each in listed] == [
        ('b', True, ''),
        ('a', False, ''),
    ]
    assert listed[0].keys() == {'hostname', 'alive', 'conductor_group', 'links'}
    shown = client.get('/v1/conductors/b')
    assert shown['drivers'] == [FAKE, 'y']
    assert shown['created_at'] <= shown['updated_at']
    assert client.get('/v1/conductors?detail=true')['conductors'][0] == shown
    assert client.get('/v1/conductors/a')['alive'] is False


def test_hosts_of_a_driver(client, worker):
    """A driver has the hosts of its alive workers, each once, and none without workers."""
    assert [each['hosts'] for each in client.get('/v1/drivers')['drivers']] == [[]]
    worker('b', 'rack1')
    worker('a')
    worker('a')
    worker('silent', silent=100)
    worker('other', drivers=['ipmi'])
    assert client.get('/v1/drivers')['drivers'][0]['hosts'] == ['a', 'b']
    assert client.get(f'/v1/drivers/{FAKE}')['hosts'] == ['a', 'b']


def test_pages(client, worker):
    for name, group in (('b', ''), ('c', 'z'), ('a', 'y')):
        worker(name, group)

    def names(query):
        return [each['hostname'] for each in client.get(f'/v1/conductors?{query}')['conductors']]

    assert names('') == ['b', 'c', 'a']
    assert names('sort_key=hostname') == ['a', 'b', 'c']
    assert names('sort_key=conductor_group&sort_dir=desc') == ['c', 'a', 'b']
    page = client.get('/v1/conductors?limit=2&sort_key=hostname')
    assert [each['hostname'] for each in page['conductors']] == ['a', 'b']
    assert 'marker=b' in page['next']
    assert names('limit=2&sort_key=hostname&marker=b') == ['c']
    assert 'next' not in client.get('/v1/conductors?limit=3')


def test_a_node_belongs_to_an_alive_conductor_of_its_driver_and_group(client, worker):
    for name in ('c', 'a', 'b'):
        worker(name)
    worker('dead', silent=100)
    worker('other', drivers=['x'])
    worker('rack', 'rack1')
    uuids = [client.node()['uuid'] for _ in range(9)]
    far = client.node(conductor_group='RACK1')['uuid']
    lost = client.node(conductor_group='rack2')['uuid']
    shown = {node['uuid']: node['conductor'] for node in client.get('/v1/nodes/detail')['nodes']}
    assert shown[far] == 'rack'
    assert shown[lost] is None
    assert sorted(shown[uuid] for uuid in uuids) == ['a'] * 3 + ['b'] * 3 + ['c'] * 3
    for name in ('a', 'b', 'c', 'rack', 'dead', 'other', 'none'):
        assert nodes_of(client, name) == {uuid for uuid, conductor in shown.items() if conductor == name}
    assert all(client.get(f'/v1/nodes/{uuid}?fields=conductor')['conductor'] == shown[uuid] for uuid in shown)
    matches = client.ask('POST', '/v1/matches', {'conductor': 'a', 'explain': True}).json
    assert matches['explanation']['considered'] >= 9


def test_the_directory_is_read_again(app, client, worker):
    uuid = client.node()['uuid']
    assert client.get(f'/v1/nodes/{uuid}')['conductor'] is None
    workers.beat(app.service, 'x' * 36, hostname='a', pid=1, conductor_group='', drivers=[FAKE])
    app.service.conductors.forget()
    assert client.get(f'/v1/nodes/{uuid}')['conductor'] == 'a'
    column = app.service.conductors.column(app.service)
    assert app.service.conductors.column(app.service) is column
    app.service.conductors.forget()
    assert app.service.conductors.column(app.service) is column
    workers.forget(app.service, 'x' * 36)
    app.service.conductors.forget()
    assert client.get(f'/v1/nodes/{uuid}')['conductor'] is None


def test_workers_do_the_work_of_their_group_only(database_url):
    with make_app(database_url) as app, make_app(database_url, deploy__conductor_group='Rack1') as far:
        client = Client(app)
        near_node, far_node = client.node()['uuid'], client.node(conductor_group='rack1')['uuid']
        for uuid in (near_node, far_node):
            ask(client, uuid, 'manage')
        assert transitions.claim(app.service, far_node) is None
        finish_work(app)
        assert (state(client, near_node), state(client, far_node)) == ('manageable', 'verifying')
        finish_work(far)
        assert state(client, far_node) == 'manageable'


def test_workers_do_the_work_of_their_drivers_only(app, client, monkeypatch):
    uuid = client.node()['uuid']
    ask(client, uuid, 'manage')
    with monkeypatch.context() as patch:
        patch.setattr(app.service, 'drivers', {})
        assert transitions.due(app.service, 10) == []
        assert transitions.claim(app.service, uuid) is None
    finish_work(app)
    assert state(client, uuid) == 'manageable'


@pytest.mark.parametrize(
    ('method', 'path', 'document'),
    [('PUT', 'states/provision', {'target': 'manage'}), ('PUT', 'states/power', {'target': 'power on'})],
)
def test_work_that_no_alive_worker_does_is_refused(client, worker, method, path, document):
    """Work waits if there is no worker at all, because workers may start after the service."""
    uuid = client.node(conductor_group='rack1')['uuid']
    worker('a')
    worker('b', 'rack1', drivers=['x'])
    worker('c', 'rack1', silent=100)
    response = client.ask(method, f'/v1/nodes/{uuid}/{path}', document)
    assert response.status_int == 404
    assert message(response) == (
        f'No valid host was found. Reason: No conductor service registered which supports driver {FAKE} for conductor '
        'group "rack1". Ensure the driver is valid and enabled.'
    )
    assert client.get(f'/v1/nodes/{uuid}')['reservation'] is None
    worker('d', 'rack1')
    assert client.ask(method, f'/v1/nodes/{uuid}/{path}', document).status_int == 202
