"""A node that is reserved, as Placement shows it and gives it away, on each database."""

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory import reservations
from tests.functional.test_races import at_once, clients  # noqa: F401 (a fixture)
from tests.functional.test_reservations import available, expire, instance, reserve
from tests.support.providers import GOLD, allocate, free, golden, moves, patch, provider


def test_a_reserved_node_stays_held_while_its_instance_has_something_else(client):
    """Only an allocation of the node itself stands for the reservation."""
    held, other = golden(client), golden(client)
    assert reserve(client, 1, [held]).status_int == 201
    assert allocate(client, 1, other).status_int == 204
    assert provider(client, held)[1]['usages'] == {'usages': {GOLD: 1}}
    assert free(client) == []
    assert allocate(client, 2, held).status_int == 409


def generations(client, node):
    """Return each generation that is shown of a node's provider."""
    path = f'/resource_providers/{node}'
    listed = client.placement('GET', f'/resource_providers?uuid={node}').json['resource_providers']
    parts = [
        client.placement('GET', f'{path}/{part}').json['resource_provider_generation']
        for part in ('inventories', 'traits', 'usages', 'aggregates', 'allocations')
    ]
    return {client.placement('GET', path).json['generation'], listed[0]['generation'], *parts}


def test_an_expired_reservation_moves_the_generation(app, client):
    """By one, wherever it is shown, without any write; and nothing moves when the row goes."""
    node = golden(client)
    reserve(client, 1, [node], expires_in=60)
    before = provider(client, node)[0]
    with moves(client, node, 1, used={GOLD: 0}):
        expire(app)
    assert generations(client, node) == {before + 1}
    with moves(client, node, 1, traits=['CUSTOM_A']):
        client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': ['CUSTOM_A']})
    with moves(client, node, 0):
        assert reservations.purge(app.service) == 1
    assert generations(client, node) == {before + 2}


def test_a_generation_from_before_the_expiry_is_a_conflict(app, client):
    node = golden(client)
    reserve(client, 1, [node], expires_in=60)
    before = provider(client, node)[0]
    expire(app)
    path = f'/resource_providers/{node}/traits'
    for generation, status in (before, 409), (before + 1, 200):
        body = {'traits': ['COMPUTE_NODE'], 'resource_provider_generation': generation}
        answer = client.placement('PUT', path, body)
        assert answer.status_int == status
    assert answer.json['resource_provider_generation'] == before + 2
    assert generations(client, node) == {before + 2}


def test_a_node_is_held_again_after_an_expiry(app, client):
    """By a reservation of the same instance or of another one, of this node or another one, or by an allocation."""
    node, other = golden(client), golden(client)
    for number in (1, 1, 2):
        with moves(client, node, 1, used={GOLD: 1}):
            assert reserve(client, number, [node], expires_in=60).status_int == 201
        with moves(client, node, 1, used={GOLD: 0}):
            expire(app)
    with moves(client, node, 0), moves(client, other, 1):
        assert reserve(client, 2, [other], expires_in=60).status_int == 201
    expire(app)
    with moves(client, node, 0), moves(client, other, 1, used={GOLD: 1}):
        assert allocate(client, 3, other).status_int == 204
    with moves(client, other, 1, used={GOLD: 0}):
        assert allocate(client, 3, other, used=0).status_int == 204


def test_the_expiry_of_an_allocated_node_moves_nothing(app, client):
    """It is used by its instance as before; when that gives it back, it moves once."""
    node = golden(client)
    reserve(client, 1, [node], expires_in=60)
    assert allocate(client, 1, node).status_int == 204
    with moves(client, node, 0, used={GOLD: 1}):
        expire(app)
    with moves(client, node, 1, used={GOLD: 0}):
        assert allocate(client, 1, node, used=0).status_int == 204
    with moves(client, node, 0):
        reservations.purge(app.service)


def test_many_expired_reservations_are_purged(app, client, monkeypatch):
    monkeypatch.setattr(reservations, '_BATCH', 2)
    made = [golden(client) for _ in range(5)]
    for number, node in enumerate(made):
        reserve(client, number, [node], **({'expires_in': 60} if number else {}))
    expire(app)
    before = [generations(client, node) for node in made]
    assert reservations.purge(app.service) == 4
    assert [generations(client, node) for node in made] == before


def test_an_instance_is_reserved_for_and_put_on_a_node_at_once(clients):  # noqa: F811
    """On whichever of the nodes it ends up, it holds no other one."""
    held, on, new = available(clients[0]), available(clients[0]), {'driver': 'fake-hardware'}
    for number in range(40):
        who = instance(number)

        def work(client, number, who=who):
            if number == 0:
                return client.ask('POST', '/v1/reservations', {'instance_uuid': who, 'node_uuid': [held]}).status_int
            if number == 1:
                operation = {'op': 'add', 'path': '/instance_uuid', 'value': who}
                return client.ask('PATCH', f'/v1/nodes/{on}', [operation]).status_int
            return client.ask('POST', '/v1/nodes', {**new, 'instance_uuid': who}).status_int

        answers = at_once(clients[: 2 + number % 2], work)
        assert set(answers) <= {200, 201, 409}
        assert sum(status != 409 for status in answers) == 1
        for each in clients[0].get('/v1/reservations')['reservations']:
            clients[0].ask('DELETE', f'/v1/reservations/{each["uuid"]}')
        for each in clients[0].get('/v1/nodes?associated=true')['nodes']:
            patch(clients[0], each['uuid'], {'op': 'remove', 'path': '/instance_uuid'})


def test_expired_reservations_are_settled_at_once(app, clients):  # noqa: F811
    """By whoever holds the nodes next, and by a purge: each expiry counts once."""
    made = [golden(clients[0]) for _ in range(4)]
    for _ in range(10):
        for number, node in enumerate(made):
            assert reserve(clients[0], number, [node], expires_in=60).status_int == 201
        before = [provider(clients[0], node)[0] for node in made]
        expire(app)

        def work(client, number):
            if number == 4:
                return reservations.purge(client.app.service)
            return reserve(client, (number + 1) % 4, [made[number]]).status_int

        assert at_once(clients[:5], work)[:4] == [201] * 4
        assert [provider(clients[0], node)[0] for node in made] == [generation + 2 for generation in before]
        for each in clients[0].get('/v1/reservations')['reservations']:
            clients[0].ask('DELETE', f'/v1/reservations/{each["uuid"]}')


def test_a_node_keeps_its_instance_while_it_is_deployed(app, client):
    """Also in maintenance, where an instance that is gone can be taken off a node that is stuck."""
    node = available(client)
    patch(client, node, {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    assert client.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': 'active'}).status_int == 202
    client.ask('PUT', f'/v1/nodes/{node}/maintenance')
    removal = [{'op': 'remove', 'path': '/instance_uuid'}]
    answer = client.ask('PATCH', f'/v1/nodes/{node}', removal)
    assert (answer.status_int, answer.json['code']) == (409, 'baremetal.node.locked')
    with app.service.database.write() as connection:
        connection.execute(sa.update(tables.nodes).values(reservation=None))
    assert client.ask('PATCH', f'/v1/nodes/{node}', removal).status_int == 200
