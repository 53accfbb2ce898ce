"""The change feed: /v1/changes, and changed-since in lists of nodes."""

import concurrent.futures
import datetime
import random
import threading
import time
from uuid import uuid4

import pytest
import sqlalchemy as sa

from ironic_traits.changes import change_feed
from ironic_traits.db import tables
from ironic_traits.inventory.holds import reservations
from ironic_traits.worker import upkeep
from tests.support.client import Client
from tests.support.service import finish_work, make_app

LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC).replace(tzinfo=None)


def start(client):
    """Return the current token."""
    return client.get('/v1/changes')['token']


def changed(client, token, query=''):
    """Return the changes since a token, and the next token: ({(kind, uuid): deleted}, token)."""
    page = client.get(f'/v1/changes?since={token}{query}')
    assert 'next' not in page
    return {(each['kind'], each['uuid']): each['deleted'] for each in page['changes']}, page['token']


def test_nothing_has_changed(client):
    client.node()
    token = start(client)
    assert changed(client, token) == ({}, token)
    page = client.get(f'/v1/nodes?changed-since={token}')
    assert page == {'nodes': [], 'removed': [], 'token': token}


def test_each_write_is_a_change(app, client):
    """Creations, updates, traits, states, power, maintenance, reservations and deletions are changes."""
    client.node(name='other', resource_class='gold')
    token = start(client)
    uuid = client.node(resource_class='gold')['uuid']
    path = f'/v1/nodes/{uuid}'
    node = {('node', uuid): False}

    def expect(expected, *request, status):
        nonlocal token
        response = client.ask(*request)
        assert response.status_int == status, response.text
        finish_work(app)
        page, token = changed(client, token)
        assert page == expected
        return response

    page, token = changed(client, token)
    assert page == node
    expect(node, 'PATCH', path, [{'op': 'add', 'path': '/extra/rack', 'value': 7}], status=200)
    expect(node, 'PUT', f'{path}/traits', {'traits': ['CUSTOM_A']}, status=200)
    expect(node, 'DELETE', f'{path}/traits/CUSTOM_A', status=204)
    for verb in ('manage', 'provide'):
        expect(node, 'PUT', f'{path}/states/provision', {'target': verb}, status=202)
    expect(node, 'PUT', f'{path}/states/power', {'target': 'power on'}, status=202)
    expect(node, 'PUT', f'{path}/maintenance', {}, status=202)
    expect(node, 'DELETE', f'{path}/maintenance', status=202)
    edit = {'add': ['CUSTOM_B'], 'nodes': [uuid], 'preview': True}
    digest = expect({}, 'POST', '/v1/traits/edits', edit, status=200).json['digest']
    expect(node, 'POST', '/v1/traits/edits', {'add': ['CUSTOM_B'], 'nodes': [uuid], 'digest': digest}, status=200)
    reservation = client.ask('POST', '/v1/reservations', {'node_uuid': [uuid], 'instance_uuid': str(uuid4())})
    held = ('reservation', reservation.json['reservation']['uuid'])
    page, token = changed(client, token)
    assert page == node | {held: False}
    expect(node | {held: False}, 'POST', f'/v1/reservations/{held[1]}/renew', {'expires_in': 60}, status=200)
    expect(node | {held: True}, 'DELETE', f'/v1/reservations/{held[1]}', status=204)
    expect({('node', uuid): True}, 'DELETE', path, status=204)


def test_a_refused_write_is_none(client):
    uuid = client.node()['uuid']
    token = start(client)
    assert client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['nonsense']}).status_int == 400
    assert client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/driver', 'value': 'no'}]).status_int == 400
    assert changed(client, token)[0] == {}


def test_traits_of_a_provider(client):
    """Traits that Placement clients set on a node's provider are among its traits with sources."""
    uuid = client.node(resource_class='gold')['uuid']
    token = start(client)
    generation = client.placement('GET', f'/resource_providers/{uuid}').json['generation']
    body = {'resource_provider_generation': generation, 'traits': ['COMPUTE_NODE']}
    assert client.placement('PUT', f'/resource_providers/{uuid}/traits', body).status_int == 200
    assert changed(client, token)[0] == {('node', uuid): False}


def test_changed_nodes(client):
    """The list has only changed nodes, with any fields. It names changed nodes that do not match its filters."""
    uuids = [client.node(name=f'n{number}', resource_class='gold')['uuid'] for number in range(4)]
    token = start(client)
    client.ask('PUT', f'/v1/nodes/{uuids[0]}/traits', {'traits': ['CUSTOM_A']})
    client.ask('PATCH', f'/v1/nodes/{uuids[1]}', [{'op': 'replace', 'path': '/resource_class', 'value': 'iron'}])
    client.ask('DELETE', f'/v1/nodes/{uuids[2]}')
    page = client.get(f'/v1/nodes?changed-since={token}&fields=name,traits&resource_class=gold')
    assert page['nodes'] == [{'name': 'n0', 'traits': ['CUSTOM_A']}]
    assert sorted(page['removed']) == sorted(uuids[1:3])
    later = client.get(f'/v1/nodes?changed-since={page["token"]}&fields=name,traits&resource_class=gold')
    assert later == {'nodes': [], 'removed': [], 'token': page['token']}
    filtered = client.get(f'/v1/nodes?changed-since={token}&traits=CUSTOM_A')
    assert [node['uuid'] for node in filtered['nodes']] == [uuids[0]]
    assert len(client.get(f'/v1/nodes/detail?changed-since={token}')['nodes']) == 2


def test_pages(client):
    token = start(client)
    uuids = {client.node()['uuid'] for _ in range(5)}
    client.get(f'/v1/changes?since={token}')
    further = {client.node()['uuid'] for _ in range(2)}
    for path, key in (('/v1/changes?since=', 'changes'), ('/v1/nodes?fields=uuid&changed-since=', 'nodes')):
        seen, sizes, page = set(), [], client.get(f'{path}{token}&limit=3')
        while True:
            seen |= {each['uuid'] for each in page[key]}
            sizes.append(len(page[key]))
            if 'next' not in page:
                break
            page = client.get(page['next'].partition('http://localhost')[2])
        assert seen == uuids | further
        assert sizes == [3, 3, 1]
        assert client.get(f'{path}{page["token"]}')[key] == []


def test_of_some_kinds(client):
    token = start(client)
    client.node()
    assert changed(client, token, '&kind=reservation')[0] == {}
    assert len(changed(client, token, '&kind=reservation,node')[0]) == 1


@pytest.mark.parametrize(
    ('path', 'status', 'message'),
    [
        ('/v1/changes?since=yesterday', 400, 'is not a token'),
        ('/v1/changes?since=', 400, 'is not a token'),
        ('/v1/changes?kind=port', 400, 'is not a kind of changes'),
        ('/v1/nodes?changed-since=7', 400, 'is not a token'),
        (f'/v1/changes?since={"0" * 32}-0', 410, 'too old'),
        (f'/v1/nodes?changed-since={"0" * 32}-0', 410, 'too old'),
        (f'/v1/nodes?changed-since={"0" * 32}-0&sort_key=name', 400, 'sort_key cannot be in the same request'),
    ],
)
def test_bad_input(client, path, status, message):
    response = client.ask('GET', path)
    assert (response.status_int, message in response.text) == (status, True), response.text


def test_early_versions(client):
    token = start(client)
    assert client.ask('GET', '/v1/changes', version='1.37').status_int == 404
    assert client.ask('GET', f'/v1/nodes?changed-since={token}', version='1.37').status_int == 406


@pytest.mark.parametrize('is_deleted', [False, True])
def test_an_expired_reservation(app, client, is_deleted):
    """The purge of expired reservations is a change. The deletion of a node also deletes its expired reservation."""
    uuid = client.node()['uuid']
    row = {'uuid': str(uuid4()), 'node_uuid': uuid, 'instance_uuid': str(uuid4())}
    with app.service.write() as connection:
        connection.execute(sa.insert(tables.reservations).values(created_at=LONG_AGO, expires_at=LONG_AGO, **row))
    token = start(client)
    if is_deleted:
        assert client.ask('DELETE', f'/v1/nodes/{uuid}').status_int == 204
    else:
        assert reservations.purge(app.service) == 1
    assert changed(client, token)[0] == {('node', uuid): is_deleted, ('reservation', row['uuid']): True}


def test_a_token_that_is_too_old(app, client):
    """A token is refused if deletions after it were purged."""
    token = start(client)
    gone, kept = client.node()['uuid'], client.node()['uuid']
    client.ask('DELETE', f'/v1/nodes/{gone}')
    page, recent = changed(client, token)
    assert page == {('node', gone): True, ('node', kept): False}
    with app.service.write() as connection:
        connection.execute(sa.update(tables.changes).values(changed_at=LONG_AGO))
    assert change_feed.forget(app.service, days=7) == 1
    assert client.ask('GET', f'/v1/changes?since={token}').status_int == 410
    assert changed(client, recent)[0] == {}


def test_a_deletion_that_is_forgotten_before_it_has_a_number(app, client):
    """A token that is too old stays too old."""
    first, second = client.node()['uuid'], client.node()['uuid']
    token = changed(client, client.get('/v1/changes')['token'].partition('-')[0] + '-0')[1]
    for uuid in (second, first):
        client.ask('DELETE', f'/v1/nodes/{uuid}')
        if uuid == second:
            start(client)
        with app.service.write() as connection:
            connection.execute(sa.update(tables.changes).values(changed_at=LONG_AGO))
        assert change_feed.forget(app.service, days=7) == 1
    assert client.ask('GET', f'/v1/changes?since={token}').status_int == 410


def test_a_restored_database(app, client):
    client.node()
    token = start(client)
    change_feed.begin_again(app.service)
    assert client.ask('GET', f'/v1/changes?since={token}').status_int == 410
    assert changed(client, start(client))[0] == {}


@pytest.mark.parametrize('others', [1, 3, 30])
def test_a_transaction_that_stays_open(app, client, others):
    """A change with a low id that is committed late is not missed, and readers of the other changes do not wait for it.

    Which rows InnoDB locks depends on their number.
    """
    if app.service.database.url.get_backend_name() == 'sqlite':
        pytest.skip('SQLite has one writer')
    first, second = client.node()['uuid'], client.node()['uuid']
    token = start(client)
    with app.service.write() as late:
        change_feed.record(late, change_feed.NODE, [first])
        for number in range(others):
            client.ask('PUT', f'/v1/nodes/{second}/traits/CUSTOM_{number}')
        page, token = changed(client, token)
        assert page == {('node', second): False}
    assert changed(client, token)[0] == {('node', first): False}


def test_nothing_is_missed(app, client, database_url):
    """Readers that follow the feed during concurrent writes have the final state of each node at the end."""
    ended = threading.Event()

    def write(number):
        choose, own = random.Random(number), Client(app)
        uuids = []
        for step in range(30):
            verb = choose.choice(['create', 'create', 'patch', 'traits', 'traits', 'delete'])
            if verb == 'create' or not uuids:
                uuids.append(own.node(name=f'w{number}-{step}')['uuid'])
            elif verb == 'delete':
                own.ask('DELETE', f'/v1/nodes/{uuids.pop()}')
            elif verb == 'patch':
                patch = [{'op': 'add', 'path': '/extra/step', 'value': step}]
                own.ask('PATCH', f'/v1/nodes/{choose.choice(uuids)}', patch)
            else:
                body = {'traits': [f'CUSTOM_{choose.randrange(9)}']}
                own.ask('PUT', f'/v1/nodes/{choose.choice(uuids)}/traits', body)

    def follow(token, nodes):
        own = Client(app)
        is_last = False
        while True:
            page = own.get(f'/v1/nodes?changed-since={token}&fields=uuid,extra,traits&limit=7')
            nodes.update({node['uuid']: node for node in page['nodes']})
            for uuid in page['removed']:
                nodes.pop(uuid, None)
            token = page['token']
            if is_last and 'next' not in page:
                return nodes
            is_last = ended.is_set() if 'next' not in page else is_last

    token = start(client)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        followers = [pool.submit(follow, token, {}) for _ in range(2)]
        try:
            list(pool.map(write, range(4)))
        finally:
            ended.set()
        followed = [follower.result() for follower in followers]
    present = {node['uuid']: node for node in client.get('/v1/nodes?fields=uuid,extra,traits')['nodes']}
    assert present
    assert followed == [present, present]


def test_one_number_for_each_change(app):
    """Numbers are unique and in order when several processes number changes concurrently."""
    with app.service.write() as connection:
        change_feed.record(connection, change_feed.NODE, [f'{number:036}' for number in range(200)])
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda _: change_feed.number(app.service), range(4))) == 200
    with app.service.read() as connection:
        numbers = connection.scalars(sa.select(tables.changes.c.number)).all()
        assert sorted(numbers) == list(range(1, 201))
        assert connection.scalar(sa.select(sa.func.count()).select_from(tables.change_log)) == 0


def test_a_worker_keeps_the_log_short(app, client, monkeypatch):
    """A worker numbers changes that no client has requested, and purges deleted objects."""
    monkeypatch.setattr(upkeep, 'FIRST', 0.01)
    app.service.conf.set_override('interval', 1, group='changes')
    uuid = client.node()['uuid']
    client.ask('DELETE', f'/v1/nodes/{uuid}')

    def count(table):
        with app.service.read() as connection:
            return connection.scalar(sa.select(sa.func.count()).select_from(table))

    def wait_until(table, number):
        deadline = time.monotonic() + 30
        while count(table) != number and time.monotonic() < deadline:
            time.sleep(0.05)
        assert count(table) == number

    assert count(tables.change_log) == 2
    with upkeep.keep_up(app.service):
        wait_until(tables.change_log, 0)
    assert count(tables.changes) == 1
    with app.service.write() as connection:
        connection.execute(sa.update(tables.changes).values(changed_at=LONG_AGO))
    with upkeep.keep_up(app.service):
        wait_until(tables.changes, 0)


def test_who_may_see_changes(database_url):
    """The feed has nodes of all projects, so it needs a reader with the system scope."""
    with make_app(database_url, api__auth_strategy='noauth2') as app:
        client = Client(app)
        system = {'X-Auth-Token': 'admin', 'OpenStack-System-Scope': 'all', 'X-Roles': 'reader'}
        member = {'X-Auth-Token': 'demo:demo', 'X-Roles': 'admin,manager,member,reader'}
        page = client.ask('GET', '/v1/changes', headers=system)
        assert page.status_int == 200
        assert client.ask('GET', '/v1/changes', headers=member).status_int == 403
        path = f'/v1/nodes?changed-since={page.json["token"]}'
        assert client.ask('GET', path, headers=system).status_int == 200
        assert client.ask('GET', path, headers=member).status_int == 403


def test_a_write_moves_the_time_of_its_node_only(client):
    one, other = client.node()['uuid'], client.node()['uuid']
    assert client.ask('PUT', f'/v1/nodes/{one}/maintenance').status_int == 202
    times = [client.get(f'/v1/nodes/{uuid}')['updated_at'] for uuid in (one, other)]
    assert (times[0] is None, times[1]) == (False, None)
