"""Concurrent clients that reserve nodes, on each database."""

import concurrent.futures
import datetime
import functools

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.types import Json
from ironic_traits.inventory.holds import free_nodes
from ironic_traits.inventory.holds import reserve as reserve_module
from ironic_traits.inventory.search import explanations
from tests.support.client import Client
from tests.support.concurrency import at_once, in_processes
from tests.support.reservations import PATH, available, available_of, expire, instance, reserve
from tests.support.rows import analyze
from tests.support.service import make_app


@pytest.fixture
def clients(database_url):
    """Eight clients of two applications, each application with its own connections."""
    with make_app(database_url) as first, make_app(database_url) as second:
        yield [Client((first, second)[i % 2]) for i in range(8)]


def test_concurrent_requests_of_one_instance(clients):
    """One request creates the reservation, and the others return it."""
    uuids = [available(clients[0]) for _ in clients]

    def work(client, number):
        return reserve(client, 1, uuids[number:] + uuids[:number])

    responses = at_once(clients, work)
    assert sorted(response.status_int for response in responses) == [200] * (len(clients) - 1) + [201]
    assert len({response.json['reservation']['uuid'] for response in responses}) == 1


@pytest.mark.parametrize(
    'body',
    [
        {'instance_uuid': instance(1), 'required': []},
        {'instance_uuid': instance(1), 'node_uuid': ['one']},
        {'instance_uuid': instance(1), 'node_uuid': ['one'], 'forbidden': ['CUSTOM_A']},
        {'instance_uuids': [instance(1), instance(2)], 'required': []},
        {'instance_uuids': [instance(1), instance(2)], 'node_uuid': ['one', 'two']},
    ],
    ids=['request', 'list', 'both', 'batch by request', 'batch by list'],
)
def test_the_last_nodes_for_one_request_at_once(clients, body):
    """The requests that find no node return the reservations, as they would one after the other."""
    count = len(body.get('instance_uuids', 'x'))
    for name in ('one', 'two')[:count]:
        available(clients[0], name=name)
    for _ in range(40):
        responses = at_once(clients[:4], lambda client, number: client.ask('POST', PATH, body))
        assert sorted(response.status_int for response in responses) == [200, 200, 200, 201]
        held = clients[0].get(PATH)['reservations']
        assert len(held) == count
        for reservation in held:
            clients[0].ask('DELETE', f'{PATH}/{reservation["uuid"]}')


@pytest.mark.parametrize('body', [{'required': []}, {'node_uuid': ['one', 'two']}], ids=['request', 'list'])
def test_reservation_is_deleted_during_requests_for_it(clients, body):
    """Each request returns the reservation or creates another one, without a 5xx."""
    for name in ('one', 'two'):
        available(clients[0], name=name)

    def work(client, number):
        seen = set()
        for _ in range(40):
            if number % 2:
                for held in client.get(PATH)['reservations']:
                    seen.add(client.ask('DELETE', f'{PATH}/{held["uuid"]}').status_int)
            else:
                seen.add(client.ask('POST', PATH, {'instance_uuid': instance(1), **body}).status_int)
        return seen

    assert set().union(*at_once(clients, work)) <= {200, 201, 204, 404}


@pytest.mark.parametrize(
    'more', [{}, {'topology': [{'key': 'resource_class', 'policy': 'affinity'}]}], ids=['any', 'topology']
)
def test_a_reservation_ends_during_a_request_for_it_and_another_one(database_url, client, monkeypatch, more):
    """The response never has a reservation that has ended in the meantime, and whose node another instance may get."""
    if database_url.startswith('sqlite'):
        pytest.skip('its writers take turns')
    nodes = [available_of(client, 'gold') for _ in range(2)]
    made = reserve(client, 1, None, required=[]).json['reservation']['uuid']

    def held_by(*arguments, original=reserve_module._held_by):
        held = original(*arguments)
        client.ask('DELETE', f'{PATH}/{made}')
        return held

    monkeypatch.setattr(reserve_module, '_held_by', held_by)
    answer = client.ask('POST', PATH, {'instance_uuids': [instance(1), instance(2)], 'required': [], **more})
    assert answer.status_int == 201, answer.text
    assert sorted(each['node_uuid'] for each in answer.json['reservations']) == sorted(nodes)
    assert {each['uuid'] for each in answer.json['reservations']} == {
        each['uuid'] for each in client.get(PATH)['reservations']
    }


def test_an_instance_comes_to_its_node_during_a_request_for_it_and_another_one(database_url, client, monkeypatch):
    """The request is refused, as it would be afterwards. It does not reserve a node for the other one."""
    if database_url.startswith('sqlite'):
        pytest.skip('its writers take turns')
    nodes = [available_of(client, 'gold') for _ in range(2)]
    assert reserve(client, 1, nodes[0]).status_int == 201

    def held_by(*arguments, original=reserve_module._held_by):
        held = original(*arguments)
        patch = [{'op': 'add', 'path': '/instance_uuid', 'value': instance(1)}]
        assert client.ask('PATCH', f'/v1/nodes/{nodes[0]}', patch).status_int == 200
        return held

    monkeypatch.setattr(reserve_module, '_held_by', held_by)
    answer = client.ask('POST', PATH, {'instance_uuids': [instance(1), instance(2)], 'required': []})
    assert answer.status_int == 409, answer.text
    assert instance(2) not in [each['instance_uuid'] for each in client.get(PATH)['reservations']]


@pytest.mark.parametrize('is_listed', [True, False])
@pytest.mark.parametrize('expires', [True, False])
def test_a_reservation_of_the_instance_ends_during_a_request(database_url, client, monkeypatch, is_listed, expires):
    """Another request for the instance took the node for a moment. It is no reason to refuse this one."""
    if database_url.startswith('sqlite'):
        pytest.skip('its writers take turns')
    node, turns, refusals = available(client), [], []
    body = {'instance_uuid': instance(1)} | ({'node_uuid': [node]} if is_listed else {'required': []})

    def take(*arguments, original=free_nodes.NodeChoice.take):
        turns.append(1)
        if len(turns) == 1:
            assert client.ask('POST', PATH, body | {'expires_in': 60}).status_int == 201
        return original(*arguments)

    def explain(*arguments, original, **options):
        found = original(*arguments, **options)
        refusals.append(found)
        if len(refusals) == 1:
            assert found[0][0][1]['reason'] == 'reserved' if is_listed else found.reserved
            (reservation,) = client.get(PATH)['reservations']
            if expires:
                expire(client.app)
            else:
                assert client.ask('DELETE', f'{PATH}/{reservation["uuid"]}').status_int == 204
            assert not client.get(PATH)['reservations']
        return found

    for module, name in ((free_nodes, '_refusals'), (explanations, 'count')):
        monkeypatch.setattr(module, name, functools.partial(explain, original=getattr(module, name)))
    monkeypatch.setattr(free_nodes.NodeChoice, 'take', take)
    assert client.ask('POST', PATH, body).status_int == 201
    assert refusals


def test_one_holder(clients):
    """If a reservation, an instance_uuid, a deploy without either, and a deletion compete, one gets the node."""
    for _ in range(5):
        uuid = available(clients[0])

        def work(client, number, uuid=uuid):
            if number % 4 == 0:
                return reserve(client, number, [uuid]).status_int
            if number % 4 == 1:
                patch = [{'op': 'add', 'path': '/instance_uuid', 'value': instance(number)}]
                return client.ask('PATCH', f'/v1/nodes/{uuid}', patch).status_int
            if number % 4 == 2:
                return client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'active'}).status_int
            return client.ask('DELETE', f'/v1/nodes/{uuid}').status_int

        statuses = at_once(clients, work)
        assert max(statuses) < 500
        node = clients[0].ask('GET', f'/v1/nodes/{uuid}?fields=instance_uuid,reservation_uuid,provision_state')
        if node.status_int == 404:
            assert statuses[3::4].count(204) == 1
            assert not {200, 201, 202}.intersection(statuses)
            continue
        assert 204 not in statuses
        held = [number for number in range(8) if statuses[number] in (200, 201)]
        assert len(held) <= 1
        holders = [node.json['instance_uuid'], node.json['reservation_uuid']]
        assert sum(holder is not None for holder in holders) == len(held)
        for path in clients[0].get(PATH)['reservations']:
            clients[0].ask('DELETE', f'{PATH}/{path["uuid"]}')
        clients[0].ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'remove', 'path': '/instance_uuid'}])


PROCESSES = 4


CLIENTS = 8


HELD = 1000
#: Number of nodes in a list. It overlaps with the lists of sixteen other clients. Longer lists would take too long.
LISTED = 250


def of_the_list(uuids, offset, who):
    """Return a request for one node of an overlapping list."""
    return {'instance_uuid': who[0], 'node_uuid': (uuids[offset:] + uuids[:offset])[:LISTED]}


def by_request(uuids, offset, who):
    """Return a request that all nodes match. Every other client requests two of them."""
    request = {'required': ['CUSTOM_A'], 'forbidden': ['CUSTOM_B']}
    return request | ({'instance_uuid': who[0]} if offset % 2 else {'instance_uuids': who})


def _grab(process, wait_for_others, url, wants, uuids):
    """Run some clients in this process that reserve until no node is left."""
    # With so many threads, the check for a slow database may wait seconds for the processor.
    with make_app(url, database__connect_timeout=60) as app:
        client = Client(app)
        wait_for_others()

        def work(number):
            mine, seen, offset = [], set(), (process * CLIENTS + number) * 31
            while True:
                who = [instance((process * CLIENTS + number) * 10_000 + len(mine) + more) for more in range(2)]
                response = client.ask('POST', PATH, wants(uuids, offset, who))
                seen.add(response.status_int)
                if response.status_int != 201:
                    return mine, seen
                created = response.json.get('reservations') or [response.json['reservation']]
                mine += [held['node_uuid'] for held in created]

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            return list(pool.map(work, range(CLIENTS)))


@pytest.mark.parametrize('wants', [of_the_list, by_request])
def test_a_thousand_nodes_and_thirty_two_clients(app, client, database_url, wants):
    """Clients in four processes reserve each of the nodes once, without a 5xx."""
    with app.service.write() as connection:
        blank = {column.name: {} for column in tables.nodes.c if isinstance(column.type, Json)}
        new_rows = [
            {
                **blank,
                'uuid': f'aaaaaaaa-0000-4000-8000-{number:012}',
                'created_at': datetime.datetime.fromisoformat('2026-01-01'),
                'driver': 'fake-hardware',
                'provision_state': 'available',
                'power_state': 'power off',
            }
            for number in range(HELD)
        ]
        connection.execute(sa.insert(tables.nodes), new_rows)
        connection.execute(sa.insert(tables.traits), {'name': 'CUSTOM_A', 'created_at': new_rows[0]['created_at']})
        carried = sa.select(tables.nodes.c.id, sa.literal('CUSTOM_A'))
        connection.execute(sa.insert(tables.node_traits).from_select(['node_id', 'trait'], carried))
    analyze(app)
    uuids = [node['uuid'] for node in new_rows]
    got = in_processes(PROCESSES, _grab, database_url, wants, uuids)
    assert set().union(*(seen for _, seen in got)) == {201, 409}
    held = [uuid for mine, _ in got for uuid in mine]
    assert sorted(held) == uuids
    page = client.get(f'{PATH}?limit=1000&fields=node_uuid,instance_uuid')['reservations']
    assert sorted(row['node_uuid'] for row in page) == uuids
    assert len({row['instance_uuid'] for row in page}) == HELD
