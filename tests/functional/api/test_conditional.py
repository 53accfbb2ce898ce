"""Conditional requests: ETag and If-None-Match."""

import concurrent.futures
import random
import threading
import time
from uuid import uuid4

import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support.client import Client
from tests.support.service import make_app

LISTS = ('/v1/nodes', '/v1/nodes/detail', '/v1/nodes?fields=name,traits&traits=CUSTOM_A', '/v1/nodes?limit=1')


def ask(client, path, tag=None, **options):
    headers = {'If-None-Match': tag} if tag else {}
    return client.ask('GET', path, headers=headers | options.pop('headers', {}), **options)


def test_unchanged(client):
    """A 304 has the ETag and no body."""
    uuid = client.node(name='one')['uuid']
    client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A']})
    for path in (
        *LISTS,
        f'/v1/nodes/{uuid}',
        f'/v1/nodes/{uuid}/traits',
        '/v1/ports',
        '/v1/traits',
        '/v1',
        '/v1/drivers',
    ):
        first = ask(client, path)
        tag = first.headers['ETag']
        assert tag.startswith('"')
        for _ in range(3):
            second = ask(client, path, tag)
            assert (second.status_int, second.body, second.headers['ETag']) == (304, b'', tag), path
            assert 'Content-Type' not in second.headers
        assert ask(client, path, '"another"').body == first.body
        assert ask(client, path, f'"another", {tag}').status_int == 304
        assert ask(client, path, '*').status_int == 304


def test_unchanged_lists_are_not_read(app, client, monkeypatch):
    """The second conditional request reads no nodes."""
    client.node()
    tag = ask(client, '/v1/nodes').headers['ETag']
    assert ask(client, '/v1/nodes', tag).status_int == 304
    statements = []
    for engine in (app.service.database._reader, app.service.database._writer):
        sa.event.listen(engine, 'before_cursor_execute', lambda *arguments: statements.append(arguments[2]))
    assert ask(client, '/v1/nodes', tag).status_int == 304
    assert not [statement for statement in statements if 'FROM nodes' in statement]


def test_each_change_changes_the_tag(app, client):
    uuid = client.node(name='one')['uuid']
    path = f'/v1/nodes/{uuid}'
    for method, target, body in (
        ('PATCH', path, [{'op': 'add', 'path': '/extra/rack', 'value': 7}]),
        ('PUT', f'{path}/traits', {'traits': ['CUSTOM_A']}),
        ('PUT', f'{path}/maintenance', {}),
        ('DELETE', path, None),
    ):
        tag = ask(client, '/v1/nodes/detail').headers['ETag']
        assert ask(client, '/v1/nodes/detail', tag).status_int == 304
        assert client.ask(method, target, body).status_int < 300
        changed = ask(client, '/v1/nodes/detail', tag)
        assert changed.status_int == 200
        assert changed.headers['ETag'] != tag


def test_what_changes_without_a_write(app, client, available):
    """The ETag changes when a reservation expires, and when a conductor starts."""
    uuid = available()
    path = '/v1/nodes?fields=uuid,reservation_uuid,conductor&reserved=true'
    body = {'node_uuid': [uuid], 'instance_uuid': str(uuid4()), 'expires_in': 1}
    assert client.ask('POST', '/v1/reservations', body).status_int == 201
    tag = ask(client, path).headers['ETag']
    assert ask(client, path, tag).status_int == 304
    deadline = time.monotonic() + 20
    while (response := ask(client, path, tag)).status_int == 304 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert response.json == {'nodes': []}
    path = '/v1/nodes?fields=conductor'
    tag = ask(client, path).headers['ETag']
    assert ask(client, path, tag).status_int == 304
    with app.service.write() as connection:
        moment = connection.scalar(sa.select(tables.nodes.c.updated_at)) or connection.scalar(sa.func.now())
        row = {'uuid': str(uuid4()), 'hostname': 'rack9', 'pid': 1, 'conductor_group': '', 'drivers': ['fake-hardware']}
        connection.execute(sa.insert(tables.workers).values(**row, started_at=moment, heartbeat_at=moment))
    app.service.conductors.forget()
    assert ask(client, path, tag).json == {'nodes': [{'conductor': 'rack9'}]}


def test_callers_and_versions_have_tags_of_their_own(database_url):
    """The ETag of one caller or version does not match the list of another one."""
    with make_app(database_url, api__auth_strategy='noauth2') as app:
        client = Client(app)
        admin = {'X-Auth-Token': 'admin', 'OpenStack-System-Scope': 'all', 'X-Roles': 'admin,member,reader'}
        member = {'X-Auth-Token': 'demo:demo', 'X-Roles': 'member,reader'}
        body = {'driver': 'fake-hardware', 'name': 'one'}
        assert client.ask('POST', '/v1/nodes', body, headers=admin).status_int == 201
        tag = ask(client, '/v1/nodes', headers=admin).headers['ETag']
        assert ask(client, '/v1/nodes', tag, headers=admin).status_int == 304
        assert ask(client, '/v1/nodes', tag, headers=member).json == {'nodes': []}
        assert ask(client, '/v1/nodes', tag, version='1.50', headers=admin).status_int in (200, 304)


def test_never_stale(app, client, database_url):
    """Clients of two applications that poll with ETags during writes see the latest state."""
    ended = threading.Event()
    uuids = [client.node(name=f'n{number}')['uuid'] for number in range(4)]

    def write(number):
        choose, own = random.Random(number), Client(app)
        for step in range(40):
            uuid = choose.choice(uuids)
            if choose.random() < 0.5:
                own.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/extra/step', 'value': [number, step]}])
            else:
                own.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': [f'CUSTOM_{choose.randrange(9)}']})

    def poll(application):
        own, tag, nodes, statuses = Client(application), None, None, set()
        is_last = False
        while not is_last:
            is_last = ended.is_set()
            response = ask(own, '/v1/nodes?fields=uuid,extra,traits', tag)
            statuses.add(response.status_int)
            if response.status_int == 200:
                tag, nodes = response.headers['ETag'], response.json['nodes']
        return nodes, statuses

    with make_app(database_url) as other, concurrent.futures.ThreadPoolExecutor(6) as pool:
        pollers = [pool.submit(poll, each) for each in (app, app, other)]
        try:
            list(pool.map(write, range(3)))
        finally:
            ended.set()
        polled = [each.result() for each in pollers]
    present = client.get('/v1/nodes?fields=uuid,extra,traits')['nodes']
    assert [nodes for nodes, _ in polled] == [present] * 3
    assert {200} <= set().union(*(statuses for _, statuses in polled)) <= {200, 304}
