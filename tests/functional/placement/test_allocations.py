"""Concurrent claims on each database: no unit is allocated twice, and no client gets a 5xx."""

import concurrent.futures
import datetime
import random

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.db.statements.types import Json
from ironic_traits.inventory.core import node_providers
from tests.support.client import Client
from tests.support.concurrency import at_once, in_processes
from tests.support.reservations import instance, reserve
from tests.support.rows import analyze
from tests.support.service import make_app

PROCESSES = 4
CLIENTS = 8
MOMENT = datetime.datetime.fromisoformat('2026-01-01')


def uuid(number):
    """Return the uuid of a provider."""
    return f'aaaaaaaa-0000-4000-8000-{number:012}'


def make_providers(app, count):
    """Create providers of one VCPU each."""
    with app.service.write() as connection:
        rows = [
            {'id': number, 'uuid': uuid(number), 'name': uuid(number), 'root_provider_uuid': uuid(number)}
            for number in range(1, count + 1)
        ]
        connection.execute(sa.insert(tables.resource_providers), [row | {'created_at': MOMENT} for row in rows])
        class_id = connection.scalar(
            sa.select(tables.resource_classes.c.id).where(tables.resource_classes.c.name == 'VCPU')
        )
        values = dict.fromkeys(('total', 'min_unit', 'max_unit', 'step_size'), 1)
        values |= {'reserved': 0, 'allocation_ratio': 1.0, 'resource_class_id': class_id, 'created_at': MOMENT}
        connection.execute(
            sa.insert(tables.inventories), [{'resource_provider_id': row['id'], **values} for row in rows]
        )
    analyze(app)


def make_nodes(app, count):
    """Create available nodes of class gold."""
    blank = {column.name: {} for column in tables.nodes.c if isinstance(column.type, Json)}
    fixed = {'driver': 'fake-hardware', 'provision_state': 'available', 'power_state': 'power off'}
    with app.service.write() as connection:
        for number in range(1, count + 1):
            row = {**blank, **fixed, 'uuid': uuid(number), 'created_at': MOMENT, 'resource_class': 'gold'}
            result = connection.execute(sa.insert(tables.nodes).values(row))
            node_providers.create(connection, result.inserted_primary_key.id)
    analyze(app)


def claim_until_none(client, number, resources):
    """Claim random candidates for one consumer after another until none is left. Return (pairs, statuses).

    Like a scheduler, a client claims several candidates of one list while other clients claim the same ones.
    """
    got, seen = [], set()
    while True:
        candidates = client.placement('GET', f'/allocation_candidates?resources={resources}&limit=200')
        seen.add(candidates.status_int)
        if candidates.status_int != 200 or not candidates.json['allocation_requests']:
            return got, seen
        requests = candidates.json['allocation_requests']
        for request in random.sample(requests, min(4, len(requests))):
            consumer = instance(number * 10_000 + len(got))
            status = claim(client, consumer, request['allocations'])
            seen.add(status)
            if status == 204:
                got.append((consumer, next(iter(request['allocations']))))


def claim(client, consumer, allocations):
    """Claim the resources of a candidate, and return the status."""
    body = {
        'allocations': allocations,
        'project_id': 'project',
        'user_id': 'user',
        'consumer_generation': None,
        'consumer_type': 'INSTANCE',
    }
    return client.placement('PUT', f'/allocations/{consumer}', body).status_int


def reserve_until_none(client, number, uuids):
    """Reserve for one instance after another until no node is left. Return (pairs, statuses)."""
    got, seen = [], set()
    while True:
        held = instance(number * 10_000 + len(got))
        response = reserve(client, number * 10_000 + len(got), uuids)
        seen.add(response.status_int)
        if response.status_int != 201:
            return got, seen
        got.append((held, response.json['reservation']['node_uuid']))


def _grab(process, wait_for_others, url, uuids):
    """Run some clients in this process. Half of them reserve, and half claim."""
    # With so many threads, the check for a slow database may wait seconds for the processor.
    with make_app(url, database__connect_timeout=60) as app:
        client = Client(app)
        wait_for_others()

        def work(number):
            who = process * CLIENTS + number
            if uuids and number % 2:
                return reserve_until_none(client, who, uuids[who:] + uuids[:who])
            return claim_until_none(client, who, 'CUSTOM_GOLD:1' if uuids else 'VCPU:1')

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            return list(pool.map(work, range(CLIENTS)))


def grab(url, uuids=()):
    """Run all clients until nothing is left, and return ([(consumer, provider), …], statuses)."""
    taken = in_processes(PROCESSES, _grab, url, uuids)
    return [each for got, _ in taken for each in got], set().union(*(seen for _, seen in taken))


def test_a_thousand_providers_and_thirty_two_clients(app, client, database_url):
    """The clients claim candidates until none is left. Each unit is allocated once."""
    make_providers(app, 1000)
    got, statuses = grab(database_url)
    assert statuses <= {200, 204, 409}
    assert sorted(provider for _, provider in got) == [uuid(number) for number in range(1, 1001)]
    assert client.placement('GET', '/usages?project_id=project').json == {
        'usages': {'INSTANCE': {'VCPU': 1000, 'consumer_count': 1000}}
    }


def test_claims_and_reservations_of_the_same_nodes(app, client, database_url):
    """Half of the clients claim and half reserve. Each node goes to one client."""
    make_nodes(app, 200)
    uuids = [uuid(number) for number in range(1, 201)]
    got, statuses = grab(database_url, uuids)
    assert statuses <= {200, 201, 204, 409}
    assert sorted(node for _, node in got) == uuids
    held = {row['node_uuid'] for row in client.get('/v1/reservations?limit=1000')['reservations']}
    allocated = {
        node for node in uuids if client.placement('GET', f'/resource_providers/{node}/allocations').json['allocations']
    }
    assert not held & allocated
    assert held | allocated == set(uuids)


def test_the_last_unit(app, clients):
    """One of sixteen claims succeeds. The others are refused with 409."""
    make_providers(app, 1)

    def work(client, number):
        body = {
            'allocations': {uuid(1): {'resources': {'VCPU': 1}}},
            'project_id': 'project',
            'user_id': 'user',
            'consumer_generation': None,
            'consumer_type': 'INSTANCE',
        }
        return client.placement('PUT', f'/allocations/{instance(number)}', body).status_int

    assert sorted(at_once(clients, work)) == [204] + [409] * 15


def test_concurrent_creation_of_a_consumer(app, clients):
    """If sixteen clients create one consumer, each with a different provider, one wins and the others leave no rows."""
    make_providers(app, 16)

    def work(client, number):
        body = {
            'allocations': {uuid(number + 1): {'resources': {'VCPU': 1}}},
            'project_id': 'project',
            'user_id': 'user',
            'consumer_generation': None,
            'consumer_type': 'INSTANCE',
        }
        return client.placement('PUT', f'/allocations/{instance(1)}', body)

    responses = at_once(clients, work)
    assert sorted(response.status_int for response in responses) == [204] + [409] * 15
    assert {a.json['errors'][0]['code'] for a in responses if a.status_int == 409} == {'placement.concurrent_update'}
    shown = clients[0].placement('GET', f'/allocations/{instance(1)}').json
    assert shown['consumer_generation'] == 1
    assert len(shown['allocations']) == 1


def test_opposite_moves(app, clients):
    """POSTs that move allocations in opposite directions do not deadlock, and each one is atomic."""
    make_providers(app, 2)

    def work(client, number):
        first, second = (1, 2) if number % 2 else (2, 1)
        body = {
            instance(each): {
                'allocations': {uuid(provider): {'resources': {'VCPU': 1}}},
                'project_id': 'project',
                'user_id': 'user',
            }
            for each, provider in ((1, first), (2, second))
        }
        return [client.placement('POST', '/allocations', body, '1.27').status_int for _ in range(5)]

    statuses = {status for results in at_once(clients, work) for status in results}
    assert statuses <= {204, 409}
    shown = [clients[0].placement('GET', f'/allocations/{instance(each)}').json['allocations'] for each in (1, 2)]
    assert sorted(provider for each in shown for provider in each) == [uuid(1), uuid(2)]


@pytest.mark.parametrize('strategy', ['depth-first', 'breadth-first'])
def test_a_request_of_many_groups_ends(database_url, strategy):
    """Twelve groups over two trees of thirty devices succeed, although they have too many combinations to try."""
    with make_app(database_url, placement__allocation_candidates_generation_strategy=strategy) as app:
        client = Client(app)
        for tree in 'ab':
            root = client.placement('POST', '/resource_providers', {'name': tree}).json['uuid']
            for number in range(30):
                body = {'name': f'{tree}{number}', 'parent_provider_uuid': root}
                device = client.placement('POST', '/resource_providers', body).json['uuid']
                body = {'resource_class': 'VGPU', 'total': 1}
                client.placement('POST', f'/resource_providers/{device}/inventories', body)
        groups = '&'.join(f'resources{number}=VGPU:1' for number in range(12))
        path = f'/allocation_candidates?{groups}&group_policy=isolate&limit=20'
        requests = client.placement('GET', path).json['allocation_requests']
        assert len(requests) == 20
        assert all(len(request['allocations']) == 12 for request in requests)
        trees = {request['mappings']['0'][0] for request in requests}
        assert len(trees) == (1 if strategy == 'depth-first' else 2)


def test_impossible_request_ends(database_url):
    """A request for eleven of ten devices ends before the search has tried all combinations."""
    with make_app(database_url, placement__max_candidate_combinations=1000) as app:
        client = Client(app)
        root = client.placement('POST', '/resource_providers', {'name': 'root'}).json['uuid']
        for number in range(10):
            body = {'name': f'{number}', 'parent_provider_uuid': root}
            device = client.placement('POST', '/resource_providers', body).json['uuid']
            client.placement(
                'POST', f'/resource_providers/{device}/inventories', {'resource_class': 'VGPU', 'total': 1}
            )
        groups = '&'.join(f'resources{number}=VGPU:1' for number in range(11))
        path = f'/allocation_candidates?{groups}&group_policy=isolate'
        assert client.placement('GET', path).json['allocation_requests'] == []


def test_request_for_traits_that_no_combination_has_ends(database_url):
    """The search ends for five classes with thirty devices each in one tree, and traits that no five devices have."""
    with make_app(database_url, placement__max_candidate_combinations=1000) as app:
        client = Client(app)
        root = client.placement('POST', '/resource_providers', {'name': 'root'}).json['uuid']
        classes = ['VGPU', 'FPGA', 'PGPU', 'SRIOV_NET_VF', 'PCI_DEVICE']
        traits = [f'CUSTOM_{number}' for number in range(6)]
        for name in traits:
            client.placement('PUT', f'/traits/{name}')
        for number in range(30):
            for class_ in classes:
                body = {'name': f'{class_}{number}', 'parent_provider_uuid': root}
                path = '/resource_providers/' + client.placement('POST', '/resource_providers', body).json['uuid']
                client.placement('POST', f'{path}/inventories', {'resource_class': class_, 'total': 1})
                body = {'traits': [traits[number % 6]], 'resource_provider_generation': 1}
                client.placement('PUT', f'{path}/traits', body)
        resources = ','.join(f'{class_}:1' for class_ in classes)
        response = client.placement('GET', f'/allocation_candidates?resources={resources}&required={",".join(traits)}')
        assert response.json == {'allocation_requests': [], 'provider_summaries': {}}


def test_candidates_equal_an_evaluation_provider_by_provider(client):
    """On random providers and nodes, for required, forbidden and any-of traits, and aggregates."""
    choose = random.Random(3)
    traits = [f'CUSTOM_{letter}' for letter in 'ABCDE']
    aggregates = [f'b0a1d1c0-0000-4000-8000-{number:012}' for number in range(3)]
    for name in traits:
        client.placement('PUT', f'/traits/{name}')
    client.placement('PUT', '/resource_classes/CUSTOM_GOLD')
    has, member, room = {}, {}, {}
    for number in range(30):
        names = choose.sample(traits, choose.randrange(len(traits) + 1))
        if number % 2:
            provider = client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware'}, version='1.10').json['uuid']
            client.ask('PATCH', f'/v1/nodes/{provider}', [{'op': 'add', 'path': '/resource_class', 'value': 'gold'}])
            client.ask('PUT', f'/v1/nodes/{provider}/traits', {'traits': names})
            if choose.random() < 0.2:
                client.ask('PUT', f'/v1/nodes/{provider}/maintenance')
                room[provider] = 0
        else:
            provider = client.placement('POST', '/resource_providers', {'name': f'{number}'}).json['uuid']
            room[provider] = choose.randrange(1, 4)
            body = {'resource_class': 'CUSTOM_GOLD', 'total': room[provider]}
            client.placement('POST', f'/resource_providers/{provider}/inventories', body)
            body = {'traits': names, 'resource_provider_generation': 1}
            client.placement('PUT', f'/resource_providers/{provider}/traits', body)
        room.setdefault(provider, 1)
        has[provider], member[provider] = set(names), set(choose.sample(aggregates, choose.randrange(3)))
        client.placement('PUT', f'/resource_providers/{provider}/aggregates', sorted(member[provider]), '1.18')
    for _ in range(40):
        names = choose.sample(traits, 4)
        required, one_of, forbidden = names[:1], names[1:3], names[3:]
        within, amount = choose.choice(aggregates), choose.randrange(1, 4)
        limits = f'required={required[0]},!{forbidden[0]}&required=in:{",".join(one_of)}&member_of={within}'
        expected = {
            each
            for each, traits_of in has.items()
            if room[each] >= amount
            and within in member[each]
            and traits_of.issuperset(required)
            and traits_of & set(one_of)
            and not traits_of & set(forbidden)
        }
        path = f'?resources=CUSTOM_GOLD:{amount}&{limits}'
        listed = client.placement('GET', f'/resource_providers{path}').json['resource_providers']
        candidates = client.placement('GET', f'/allocation_candidates{path}').json
        assert {row['uuid'] for row in listed} == expected
        assert {next(iter(each['allocations'])) for each in candidates['allocation_requests']} == expected
        assert set(candidates['provider_summaries']) == expected


@pytest.mark.parametrize(
    'query',
    [
        'required={}'.format(','.join(f'HW_{number}' for number in range(101))),
        '&'.join(f'member_of={uuid(number)}' for number in range(101)),
        '&'.join(f'resources{number}=VCPU:1' for number in range(1, 52)),
    ],
)
def test_queries_with_too_many_conditions(client, query):
    """Such queries are refused before they reach the database, which would take long to plan them."""
    response = client.placement('GET', f'/allocation_candidates?resources=VCPU:1&{query}&group_policy=none')
    assert response.status_int == 400
    assert 'at most' in response.json['errors'][0]['detail']


def test_query_with_as_many_conditions_as_allowed(client):
    """A query may have a hundred aggregates in as many parameters, fifty traits of each kind, and fifty groups."""
    names = [f'CUSTOM_{number}' for number in range(100)]
    for name in names:
        client.placement('PUT', f'/traits/{name}')
    required = f'required={",".join(names[:50])},!{",!".join(names[50:])}'
    member_of = '&'.join(f'member_of={uuid(number)}' for number in range(100))
    groups = '&'.join(f'resources{number}=VCPU:1' for number in range(1, 50))
    query = f'resources=VCPU:1&{required}&{member_of}'
    for path in (f'/resource_providers?{query}', f'/allocation_candidates?{query}&{groups}&group_policy=isolate'):
        assert client.placement('GET', path).status_int == 200


@pytest.mark.parametrize(
    ('method', 'path', 'status'),
    [
        ('GET', '/allocations/%C3%A9', 200),
        ('DELETE', '/allocations/%C3%A9', 404),
        ('PUT', '/allocations/%C3%A9', 415),
        ('GET', '/resource_providers/%C3%A9/allocations', 404),
        ('DELETE', '/resource_providers/%C3%A9/traits', 404),
        ('GET', '/resource_classes/%C3%A9', 404),
        ('GET', '/traits/%C3%A9', 404),
    ],
)
def test_paths_that_are_not_ascii(client, method, path, status):
    """MariaDB would refuse to compare them with ASCII columns."""
    assert client.placement(method, path).status_int == status


def test_a_provider_moves_once(app, client):
    """As in Placement, also if one consumer takes what another one gives back. The provider that it leaves stays."""
    make_providers(app, 3)
    identity = {'project_id': 'project', 'user_id': 'user'}

    def demand(generation, *numbers):
        allocations = {uuid(number): {'resources': {'VCPU': 1}} for number in numbers}
        return identity | {'consumer_generation': generation, 'allocations': allocations}

    def generations():
        return [client.placement('GET', f'/resource_providers/{uuid(n)}').json['generation'] for n in (1, 2, 3)]

    for number in (1, 2, 3):
        response = client.placement('PUT', f'/allocations/{instance(number)}', demand(None, number), version='1.28')
        assert response.status_int == 204
    before = generations()
    demands = {instance(1): demand(1), instance(2): demand(1, 1)}
    assert client.placement('POST', '/allocations', demands, version='1.28').status_int == 204
    assert generations() == [before[0] + 1, *before[1:]]
    demands = {instance(2): demand(2), instance(4): demand(None, 2)}
    assert client.placement('POST', '/allocations', demands, version='1.28').status_int == 204
    assert generations() == [before[0] + 2, before[1] + 1, before[2]]


@pytest.mark.parametrize('present', [False, True], ids=['created', 'deleted'])
def test_allocations_are_replaced_while_they_are_read(app, client, present):
    """A response has the allocations and the attributes of a consumer, or neither."""
    make_providers(app, 1)
    allocations = {uuid(1): {'resources': {'VCPU': 1}}}
    body = {'project_id': 'project', 'user_id': 'user', 'consumer_type': 'INSTANCE', 'consumer_generation': None}
    path = f'/allocations/{instance(1)}'
    if present:
        assert client.placement('PUT', path, body | {'allocations': allocations}).status_int == 204
    arguments = ('DELETE', path) if present else ('PUT', path, body | {'allocations': allocations})
    writes = [lambda: Client(app).placement(*arguments)]

    def write(connection, cursor, statement, *others):
        """Write in another thread, between the SELECT of the consumer and that of its allocations."""
        if writes and 'FROM consumers' in statement:
            with concurrent.futures.ThreadPoolExecutor() as pool:
                assert pool.submit(writes.pop()).result().status_int == 204

    sa.event.listen(sa.Engine, 'after_cursor_execute', write)
    try:
        response = client.placement('GET', path)
    finally:
        sa.event.remove(sa.Engine, 'after_cursor_execute', write)
    assert not writes
    assert (response.status_int, response.json) == (200, {'allocations': {}})
    assert client.placement('GET', path).json['allocations'].keys() == (set() if present else {uuid(1)})
