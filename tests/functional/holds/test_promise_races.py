"""Capacity reservations and claims of 16 clients, and of servers that are killed, on each database."""

import concurrent.futures
import contextlib
import functools
import http.client
import itertools
import os
import random
import signal
import subprocess
import threading

import pytest
from webob.client import send_request_app

from ironic_traits.changes import change_feed
from ironic_traits.inventory.holds import capacity_reservations, free_nodes, promise_claims, promised_nodes
from tests.support.client import Client
from tests.support.concurrency import at_once, wait_until
from tests.support.promises import CAPACITY, add_trait, claim, figures, promise, take
from tests.support.providers import golden
from tests.support.reservations import PATH, instance, reserve
from tests.support.service import ForkedServer, make_app


def one_request(client, number, chance, nodes):
    """Create a promise, or claim a node in one of four ways, and return the status."""
    shown = [each['name'] for each in client.get(CAPACITY)['capacity_reservations']] or ['none']
    required, name = chance.choice([[], ['CUSTOM_X']]), chance.choice(shown)
    kinds = {
        'promise': lambda: promise(client, str(number), chance.randint(1, 3), required=required),
        'request': lambda: take(client, number, required=required),
        'consumer': lambda: claim(client, number, chance.choice(nodes), f'project-{name}'),
        'request of a promise': lambda: take(client, number, capacity_reservation=name),
        'deletion': lambda: client.ask('DELETE', f'{CAPACITY}/{name}'),
    }
    return kinds[chance.choices([*kinds], [10, 6, 2, 2, 0.5])[0]]().status_int


def work(client, number, nodes):
    """Make requests, and return their statuses."""
    chance = random.Random(number)
    return [one_request(client, 100 * number + turn, chance, nodes) for turn in range(12)]


def check_all_can_be_kept(client):
    """Reserve all nodes that the projects have a right to."""
    shown = [each for each in client.get(CAPACITY)['capacity_reservations'] if each['left']]
    assert shown
    for number, each in enumerate(shown):
        assert each['short'] == 0
        instances = [instance(10_000 + 10 * number + one) for one in range(each['left'])]
        response = client.ask('POST', PATH, {'instance_uuids': instances, 'capacity_reservation': each['name']})
        assert response.status_int == 201, response.text


def half_special(client):
    """Create golden nodes, each second one with a trait, and return their uuids."""
    nodes = [golden(client) for _ in range(60)]
    for node in nodes[::2]:
        add_trait(client, node, 'CUSTOM_X')
    return nodes


def test_sixteen_clients(clients):
    """Promises and claims compete. In the end, each promise gets what it has a right to."""
    nodes = half_special(clients[0])
    statuses = {status for each in at_once(clients, functools.partial(work, nodes=nodes)) for status in each}
    assert {201, 204, 409} <= statuses <= {201, 204, 404, 409}
    check_all_can_be_kept(clients[0])


class Remote(Client):
    """A client of a server."""

    def __init__(self, server):
        super().__init__(send_request_app)
        self._base = server.base

    def ask(self, method, path, *arguments, **options):
        return super().ask(method, self._base + path, *arguments, **options)


def test_kill(app, client, database_url, tmp_path):
    """Servers that are killed while they handle promises and claims leave promises that can be kept."""
    nodes, handled = half_special(client), []

    def send(remote, number):
        chance = random.Random(number)
        # Until the server is killed.
        with contextlib.suppress(OSError, http.client.HTTPException):
            for turn in itertools.count():
                handled.append(one_request(remote, 1000 * number + turn, chance, nodes))

    for round_ in range(3):
        server = ForkedServer(database_url, '--nostart-worker', cwd=tmp_path).wait()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for number in range(8):
                pool.submit(send, Remote(server), 8 * round_ + number)
            wait_until(lambda target=10 * (round_ + 1): len(handled) > target)
            children = subprocess.run(['pgrep', '-P', str(server.process.pid)], capture_output=True, text=True)
            for pid in [server.process.pid, *map(int, children.stdout.split())]:
                os.kill(pid, signal.SIGKILL)
        server.process.wait()
    assert set(handled) <= {201, 204, 404, 409}
    check_all_can_be_kept(client)


def test_enough_nodes_are_locked(app, client):
    """A creation locks nodes that keep all promises, also if one that matches some of them is used up."""
    nodes = [golden(client) for _ in range(4)]
    for node in nodes[:2]:
        add_trait(client, node, 'CUSTOM_X')
    assert promise(client, 'special', 1, required=['CUSTOM_X']).status_int == 201
    assert take(client, 1, capacity_reservation='special').status_int == 201
    assert promise(client, 'any', 3).status_int == 201
    promised = promised_nodes.read(app.service)
    assert len(set(promised.sufficient(promised.newest))) == sum(promised.kept().values()) == 3


def test_two_first_ones_at_once(database_url, client, monkeypatch):
    """A claim that has read the one with the higher id does not overlook the other one, which is committed later."""
    if database_url.startswith('sqlite'):
        pytest.skip('its writers take turns')
    golds, special, statuses = [golden(client) for _ in range(2)], golden(client), {}
    add_trait(client, special, 'CUSTOM_X')
    is_inserted, may_commit = threading.Event(), threading.Event()

    def read(*arguments, original=capacity_reservations._read):
        if threading.current_thread().name == 'slow' and not is_inserted.is_set():
            is_inserted.set()
            assert may_commit.wait(20)
        return original(*arguments)

    monkeypatch.setattr(capacity_reservations, '_read', read)
    threads = [
        threading.Thread(target=lambda: statuses.update(any=promise(client, 'any', 2).status_int), name='slow'),
        threading.Thread(target=lambda: statuses.update(x=promise(client, 'x', 1, required=['CUSTOM_X']).status_int)),
        threading.Thread(target=lambda: statuses.update(claim=reserve(client, 1, golds[:1]).status_int)),
    ]
    for thread in threads:
        thread.start()
        assert is_inserted.wait(20)
        # Time to commit, or to wait for a lock.
        thread.join(1)
    may_commit.set()
    for thread in threads:
        thread.join()
    assert statuses['any'] == 201
    assert all(each['short'] == 0 for each in client.get(CAPACITY)['capacity_reservations']), statuses


def test_a_claim_before_the_creation(client, monkeypatch):
    """Between the choice of the nodes that keep a promise, and their locks, another project takes one."""
    node, statuses = golden(client), []

    def insert(*arguments, original=capacity_reservations._insert):
        monkeypatch.setattr(capacity_reservations, '_insert', original)
        statuses.append(claim(client, 1, node, 'another').status_int)
        return original(*arguments)

    monkeypatch.setattr(capacity_reservations, '_insert', insert)
    assert promise(client, 'a', 1).status_int == 409
    assert statuses == [204]


def test_the_first_promise_during_a_claim(client, monkeypatch):
    """A claim that has read that there is no promise commits before one of its node is created."""
    node, statuses = golden(client), []
    creation = threading.Thread(target=lambda: statuses.append(promise(client, 'a', 1).status_int))

    def take_free(*arguments, original=promise_claims.take):
        original(*arguments)
        creation.start()
        # It waits for the lock of the node. If it does not, it is over by then.
        creation.join(1)

    monkeypatch.setattr(promise_claims, 'take', take_free)
    assert claim(client, 1, node, 'another').status_int == 204
    creation.join()
    assert statuses == [409]


def test_two_nodes_change_during_a_claim(database_url, app, client, monkeypatch):
    """Between the estimate and the lock of a node, the node becomes the only one that matches a promise."""
    if database_url.startswith('sqlite'):
        pytest.skip('its writers take turns')
    kept, node = golden(client), golden(client)
    add_trait(client, kept, 'CUSTOM_X')
    assert promise(client, 'a', 1, required=['CUSTOM_X']).status_int == 201
    change_feed.now(app.service)
    client.get(CAPACITY)
    # From now on, an estimate does not know which promises the node matches.
    add_trait(client, node, 'CUSTOM_Y')

    def take_waiting(*arguments, original=free_nodes.take_waiting):
        monkeypatch.setattr(free_nodes, 'take_waiting', original)
        add_trait(client, node, 'CUSTOM_X')
        assert client.ask('PUT', f'/v1/nodes/{kept}/maintenance', {}).status_int == 202
        original(*arguments)

    monkeypatch.setattr(free_nodes, 'take_waiting', take_waiting)
    refused = reserve(client, 1, [node])
    assert refused.status_int == 409
    assert 'capacity reservation a needs 1 of the 1 that match it' in refused.text


def test_a_node_that_is_given_back_during_a_claim(database_url, app, client, monkeypatch):
    """A promise was used up when a claim read it. Before the claim commits, its node breaks, and another goes."""
    if database_url.startswith('sqlite'):
        pytest.skip('its writers take turns')
    (used, first, second), statuses = [golden(client) for _ in range(3)], []
    assert promise(client, 'a', 1).status_int == 201
    assert claim(client, 1, used, 'project-a').status_int == 204
    # From now on, an estimate knows that the promise is used up.
    change_feed.now(app.service)
    client.get(CAPACITY)

    def confirm(*arguments, original=promise_claims.Claim.confirm):
        monkeypatch.setattr(promise_claims.Claim, 'confirm', original)
        assert client.placement('DELETE', f'/allocations/{instance(1)}', None, '1.28').status_int == 204
        assert client.ask('PUT', f'/v1/nodes/{used}/maintenance', {}).status_int == 202
        statuses.append(claim(client, 2, second, 'another').status_int)
        return original(*arguments)

    monkeypatch.setattr(promise_claims.Claim, 'confirm', confirm)
    statuses.append(claim(client, 3, first, 'another').status_int)
    assert statuses == [204, 409]
    assert figures(client, 'a') == (0, 1, 0, 1)


@pytest.mark.parametrize('number', [1, 2])
@pytest.mark.parametrize('nodes', [1, 2])
def test_an_instance_gets_the_last_node_meanwhile(client, database_url, monkeypatch, nodes, number):
    """A second request for it, by name, returns the same reservation. Another instance is refused."""
    if database_url.startswith('sqlite'):
        pytest.skip('its writers take turns')
    for _ in range(nodes):
        golden(client)
    promise(client, 'a', 1)
    first = []

    def take_after_another(*arguments, original=free_nodes.NodeChoice.take):
        monkeypatch.undo()
        # The transaction has begun, and has no locks yet.
        with make_app(database_url) as other:
            first.append(take(Client(other), 1, capacity_reservation='a'))
        return original(*arguments)

    monkeypatch.setattr(free_nodes.NodeChoice, 'take', take_after_another)
    second = take(client, number, capacity_reservation='a')
    assert first[0].status_int == 201
    if number == 1:
        assert (second.status_int, second.json) == (200, first[0].json)
    else:
        assert second.json['code'] == 'baremetal.capacity_reservation.used_up'
