"""Allocations of new consumers that one process carries out together, on each database."""

import concurrent.futures
import uuid

import pytest
import sqlalchemy as sa

from ironic_traits.app import build
from ironic_traits.db import tables
from ironic_traits.placement import combined_allocations
from tests.support.client import Client
from tests.support.combined_requests import sender
from tests.support.concurrency import wait_until
from tests.support.providers import GOLD, golden, provider
from tests.support.reservations import expire, instance, reserve
from tests.support.service import database


@pytest.fixture
def together(app, monkeypatch):
    """A function that sends demands, of which all but the first are carried out together: returns their responses."""
    return sender(app, monkeypatch, lambda pair: _send(app, *pair))


def _send(app, consumer, body):
    return Client(app).placement('PUT', f'/allocations/{consumer}', body)


def _demand(node, number, amount=1, name=GOLD, **more):
    """Return a demand of a new consumer: (its uuid, body)."""
    resources = {'allocations': {node: {'resources': {name: amount}}}}
    owners = {'project_id': 'project', 'user_id': 'user', 'consumer_generation': None, 'consumer_type': 'INSTANCE'}
    return instance(number), resources | owners | more


def _consumers(client, node):
    return set(client.placement('GET', f'/resource_providers/{node}/allocations').json['allocations'])


def test_each_gets_its_allocation(client, together):
    nodes = [golden(client) for _ in range(6)]
    before = [provider(client, node)[0] for node in nodes]
    pairs = [
        _demand(node, number, project_id=f'project{number}', consumer_type=f'KIND_{number % 2}')
        for number, node in enumerate(nodes)
    ]
    assert [response.status_int for response in together(pairs)] == [204] * 6
    for number, node in enumerate(nodes):
        generation, parts = provider(client, node)
        assert (generation, parts['usages']['usages']) == (before[number] + 1, {GOLD: 1})
        shown = client.placement('GET', f'/allocations/{instance(number)}').json
        assert shown == {
            'allocations': {node: {'generation': generation, 'resources': {GOLD: 1}}},
            'project_id': f'project{number}',
            'user_id': 'user',
            'consumer_generation': 1,
            'consumer_type': f'KIND_{number % 2}',
        }


def test_failures_stay_with_their_requests(app, client, together):
    nodes = [golden(client) for _ in range(5)]
    assert _send(app, *_demand(nodes[2], 90)).status_int == 204
    client.ask('PUT', f'/v1/nodes/{nodes[3]}/maintenance')
    pairs = [
        _demand(nodes[0], 0),
        _demand(nodes[1], 1),
        _demand(nodes[2], 2),
        _demand(nodes[3], 3),
        _demand(str(uuid.uuid4()), 4),
        _demand(nodes[4], 5, amount=2),
    ]
    responses = together(pairs)
    assert [response.status_int for response in responses] == [204, 204, 409, 409, 400, 409]
    assert nodes[2] in responses[2].text
    held = [_consumers(client, node) for node in nodes]
    assert held == [{instance(0)}, {instance(1)}, {instance(90)}, set(), set()]


def test_those_that_are_left_do_not_block_reads(app, client, monkeypatch, database_kind, database_url):
    """Another transaction has locked their nodes. They are carried out alone, as many at a time as other writes."""
    if database_kind == 'sqlite':
        pytest.skip('it has no locks of rows')
    free, *locked = [golden(client) for _ in range(21)]
    monkeypatch.setattr(app, '_wsgi', build(app.service, takes_turns=True))
    send_all = sender(app, monkeypatch, lambda pair: _send(app, *pair))
    raising = sa.update(tables.nodes).values(generation=tables.nodes.c.generation + 1)
    with (
        database(database_url) as other,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
        other.write() as connection,
    ):
        connection.execute(raising.where(tables.nodes.c.uuid.in_(locked)))
        responses = pool.submit(send_all, [_demand(node, number) for number, node in enumerate([free, *locked])])
        # The first transaction of several is over.
        wait_until(lambda: _consumers(client, free) and not app.service.combined._waiting)
        statuses = [client.ask('GET', f'/v1/nodes/{free}').status_int for _ in range(5)]
        connection.rollback()
        responses.result()
    assert statuses == [200] * 5


def test_the_same_node_several_times(client, together):
    """Requests for one provider take their turns, so one of them gets the node."""
    nodes = [golden(client) for _ in range(3)]
    pairs = [_demand(nodes[0], 0), _demand(nodes[1], 1), _demand(nodes[1], 2), _demand(nodes[2], 3)]
    statuses = [response.status_int for response in together(pairs, 2)]
    assert (statuses[0], sorted(statuses[1:3]), statuses[3]) == (204, [204, 409], 204)
    assert len(_consumers(client, nodes[1])) == 1


def test_the_same_consumer_several_times(client, together):
    nodes = [golden(client) for _ in range(3)]
    responses = together([_demand(nodes[0], 0), _demand(nodes[1], 1), _demand(nodes[2], 1)])
    statuses = [response.status_int for response in responses]
    assert (statuses[0], sorted(statuses[1:])) == (204, [204, 409])
    assert len([node for node in nodes[1:] if _consumers(client, node)]) == 1


def test_providers_that_are_no_nodes(client, together):
    """Their generations move, and a node beside them is allocated in the same transaction."""
    hosts = [
        client.placement('POST', '/resource_providers', {'name': f'host{number}'}).json['uuid'] for number in range(3)
    ]
    for host in hosts:
        body = {'resource_provider_generation': 0, 'inventories': {'VCPU': {'total': 8}}}
        assert client.placement('PUT', f'/resource_providers/{host}/inventories', body).status_int == 200
    node = golden(client)
    pairs = [_demand(host, number, amount=4, name='VCPU') for number, host in enumerate(hosts)]
    assert [response.status_int for response in together([*pairs, _demand(node, 9)])] == [204] * 4
    assert [provider(client, host)[0] for host in hosts] == [2, 2, 2]
    assert _consumers(client, node) == {instance(9)}


def test_failures_do_not_undo_the_others(app, client, together, monkeypatch):
    """Requests that are refused are carried out alone, and no others."""
    written = []
    replace = combined_allocations.replace
    monkeypatch.setattr(combined_allocations, 'replace', lambda *given: written.append(given) or replace(*given))
    nodes = [golden(client) for _ in range(6)]
    assert _send(app, *_demand(nodes[2], 90)).status_int == 204
    written.clear()
    pairs = [*(_demand(node, number) for number, node in enumerate(nodes)), _demand(str(uuid.uuid4()), 6)]
    statuses = [response.status_int for response in together([*pairs[:5], (instance(90), pairs[5][1]), pairs[6]])]
    assert statuses == [204, 204, 409, 204, 204, 409, 400]
    alone = {demand.consumer for _, (demand,) in written}
    # The first one finds nobody beside it.
    assert alone == {instance(0), instance(2), instance(90), instance(6)}


def test_a_node_that_is_locked(client, together, database_kind, database_url):
    """Only who wants that node waits for it."""
    if database_kind == 'sqlite':
        pytest.skip('it has no locks of rows')
    nodes = [golden(client) for _ in range(5)]
    bodies = [_demand(node, number) for number, node in enumerate(nodes)]
    raising = sa.update(tables.nodes).values(generation=tables.nodes.c.generation + 1)
    with database(database_url) as other, other.write() as connection:
        connection.execute(raising.where(tables.nodes.c.uuid == nodes[3]))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            sent = pool.submit(together, bodies)
            # All others have ended before the lock does.
            wait_until(lambda: [bool(_consumers(client, node)) for node in nodes] == [True, True, True, False, True])
            assert not sent.done()
            connection.rollback()
            assert [response.status_int for response in sent.result(60)] == [204] * 5


def test_a_node_whose_reservation_has_expired(app, client, together):
    """Its lock comes after that of the reservation, so it goes alone. The others do not."""
    nodes = [golden(client) for _ in range(4)]
    assert reserve(client, 90, [nodes[2]], expires_at='2030-01-01T00:00:00+00:00').status_int == 201
    before = provider(client, nodes[2])[0]
    expire(app)
    responses = together([_demand(node, number) for number, node in enumerate(nodes)])
    assert [response.status_int for response in responses] == [204] * 4
    assert _consumers(client, nodes[2]) == {instance(2)}
    assert provider(client, nodes[2])[0] > before


def test_only_new_consumers_of_one_provider(app, client, monkeypatch):
    """Other demands are carried out alone: they may affect more than they name."""
    kinds = []
    run = app.service.combined.run
    monkeypatch.setattr(app.service.combined, 'run', lambda kind, *more: kinds.append(kind) or run(kind, *more))
    nodes = [golden(client) for _ in range(3)]
    assert _send(app, *_demand(nodes[0], 0)).status_int == 204
    assert len(kinds) == 1
    both = {node: {'resources': {GOLD: 1}} for node in nodes[1:]}
    assert _send(app, *_demand(nodes[1], 1, allocations=both)).status_int == 204
    assert _send(app, *_demand(nodes[0], 0, consumer_generation=1)).status_int == 204
    assert _send(app, *_demand(nodes[0], 0, consumer_generation=2, allocations={})).status_int == 204
    assert len(kinds) == 1
