"""Reservations: expiry, lists of nodes, and the order of nodes, on each database."""

import datetime
import functools

import pytest
import sqlalchemy as sa

from ironic_traits.cmd import manage
from ironic_traits.db import tables
from tests.support.client import VERSION, Client, ask_as, message
from tests.support.history import entries
from tests.support.personas import NODE, RECORD
from tests.support.providers import allocate, golden
from tests.support.reservations import PATH, available, available_of, expire, instance, reserve
from tests.support.service import make_app


def rows(app):
    """Return the number of rows of reservations."""
    with app.service.read() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(tables.reservations))


def test_expired_reservation_holds_nothing(app, client):
    """An expired reservation holds nothing, whether or not its row still exists."""
    uuid = available(client)
    held = reserve(client, 1, [uuid], expires_in=60).json['reservation']
    assert reserve(client, 2, [uuid]).status_int == 409
    expire(app)
    path = f'{PATH}/{held["uuid"]}'
    assert client.get(PATH) == {'reservations': []}
    for method, address in (('GET', path), ('DELETE', path), ('POST', f'{path}/renew')):
        assert client.ask(method, address).status_int == 404
    assert client.get(f'/v1/nodes/{uuid}?fields=reservation_uuid') == {'reservation_uuid': None}
    assert len(client.get('/v1/nodes?eligible=true&reserved=false')['nodes']) == 1
    deploy = {'target': 'active', 'reservation_uuid': held['uuid']}
    assert client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', deploy).status_int == 409
    assert rows(app) == 1
    assert reserve(client, 2, [uuid]).status_int == 201
    assert rows(app) == 1


@pytest.mark.parametrize('holder', ['reservation', 'allocation'])
def test_an_instance_gets_no_node_of_another_one(client, holder):
    """A node that is reserved or allocated is refused, although all others are free."""
    *_, uuid = [golden(client) for _ in range(9)]
    if holder == 'reservation':
        assert reserve(client, 1, [uuid]).status_int == 201
    else:
        assert allocate(client, 1, uuid).status_int == 204
    patch = [{'op': 'add', 'path': '/instance_uuid', 'value': instance(2)}]
    assert client.ask('PATCH', f'/v1/nodes/{uuid}', patch).status_int == 409


def test_expiry_frees_the_instance(app, client):
    first, second = available(client), available(client)
    assert reserve(client, 1, [first], expires_in=60).status_int == 201
    expire(app)
    response = reserve(client, 1, [second, first])
    assert (response.status_int, response.json['reservation']['node_uuid']) == (201, second)
    assert client.ask('DELETE', f'/v1/nodes/{first}').status_int == 204


def test_expiry_frees_the_node(app, client):
    """After the expiry, the node can be deployed, get an instance, and be deleted."""
    uuids = [available(client) for _ in range(3)]
    for number, uuid in enumerate(uuids):
        assert reserve(client, number, [uuid], expires_in=60).status_int == 201
    expire(app)
    patch = [{'op': 'add', 'path': '/instance_uuid', 'value': instance(9)}]
    assert client.ask('PUT', f'/v1/nodes/{uuids[0]}/states/provision', {'target': 'active'}).status_int == 202
    assert client.ask('PATCH', f'/v1/nodes/{uuids[1]}', patch).status_int == 200
    assert client.ask('DELETE', f'/v1/nodes/{uuids[2]}').status_int == 204


def test_purge(app, client, database_url, monkeypatch, capsys):
    uuids = [available(client) for _ in range(3)]
    for number, uuid in enumerate(uuids):
        reserve(client, number, [uuid], **({'expires_in': 60} if number else {}))
    expire(app)
    monkeypatch.setattr('sys.argv', ['ironic-traits-manage', '--database', database_url, 'reservations', 'purge'])
    for purged in (2, 0):
        manage.main()
        assert capsys.readouterr().out == f'{purged} reservations were deleted\n'
    assert rows(app) == len(client.get(PATH)['reservations']) == 1


@pytest.mark.parametrize(
    ('default', 'longest', 'requested', 'seconds'),
    [
        (None, None, None, None),
        (60, None, None, 60),
        (None, 60, None, 60),
        (90, 60, None, 60),
        (60, 90, None, 60),
        (60, 90, 80, 80),
        (60, None, 1000, 1000),
        (60, 90, 91, 'refused'),
        (None, 90, 91, 'refused'),
    ],
)
def test_lifetimes(database_url, default, longest, requested, seconds):
    with make_app(database_url, reservations__default_lifetime=default, reservations__max_lifetime=longest) as app:
        client = Client(app)
        response = reserve(client, 1, [available(client)], **({'expires_in': requested} if requested else {}))
        if seconds == 'refused':
            assert response.status_int == 400
            assert '90 seconds' in message(response)
            assert rows(app) == 0
            return
        held = response.json['reservation']
        if seconds is None:
            assert held['expires_at'] is None
            return
        begin, end = (datetime.datetime.fromisoformat(held[name]) for name in ('created_at', 'expires_at'))
        assert end - begin == datetime.timedelta(seconds=seconds)


def test_max_nodes(database_url):
    with make_app(database_url, reservations__max_nodes=3) as app:
        client = Client(app)
        uuid = available(client)
        assert reserve(client, 1, ['a', 'b', 'c', uuid]).status_int == 400
        assert reserve(client, 1, ['a', 'b', uuid]).status_int == 201


def test_list_of_a_thousand_nodes(app, client):
    """If no node is left, the response has a reason for each."""
    uuid = available(client)
    idents = [f'node-{number}' for number in range(999)] + [uuid]
    assert reserve(client, 1, idents).json['reservation']['node_uuid'] == uuid
    response = reserve(client, 2, idents)
    assert response.status_int == 409
    assert [reason['node'] for reason in response.json['reasons']] == idents
    assert message(response) == 'None of the nodes can be reserved: 999 not found, 1 reserved.'
    assert reserve(client, 2, [*idents, 'more']).status_int == 400


def test_instance_with_a_reservation_gets_no_other_node(app, client):
    """Neither an existing node nor a new one accepts the instance. Only the reserved node does."""
    first, second = available(client), available(client)
    held = reserve(client, 1, [first], expires_in=60).json['reservation']
    patch = [{'op': 'add', 'path': '/instance_uuid', 'value': instance(1)}]
    new = {'driver': 'fake-hardware', 'instance_uuid': instance(1)}
    for method, path, body in ('PATCH', f'/v1/nodes/{second}', patch), ('POST', '/v1/nodes', new):
        response = client.ask(method, path, body)
        assert (response.status_int, response.json['code']) == (409, 'baremetal.instance.reserved')
        assert message(response).startswith(f'Instance {instance(1)} already has a reservation of node {first}')
    assert len(client.get('/v1/nodes')['nodes']) == 2
    assert client.ask('PATCH', f'/v1/nodes/{first}', patch).status_int == 200
    assert client.get(f'/v1/nodes/{first}?fields=instance_uuid,reservation_uuid') == {
        'instance_uuid': instance(1),
        'reservation_uuid': held['uuid'],
    }
    client.ask('PATCH', f'/v1/nodes/{first}', [{'op': 'remove', 'path': '/instance_uuid'}])
    expire(app)
    assert client.ask('PATCH', f'/v1/nodes/{second}', patch).status_int == 200


def test_a_refused_deploy_keeps_its_reservation(client):
    uuid = available(client)
    held = reserve(client, 1, [uuid]).json['reservation']
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/instance_info/traits', 'value': ['CUSTOM_A']}])
    deploy = {'target': 'active', 'reservation_uuid': held['uuid']}
    assert client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', deploy).status_int == 400
    assert client.get(f'{PATH}/{held["uuid"]}')['reservation'] == held


def test_requests_get_nodes_in_turn(client):
    """A search continues after the nodes of earlier searches, and begins again at the end."""
    nodes = [available(client) for _ in range(3)]

    def claim(*numbers):
        body = {'instance_uuids': [instance(number) for number in numbers], 'required': []}
        response = client.ask('POST', PATH, body)
        assert response.status_int == 201, response.text
        return [reservation['node_uuid'] for reservation in response.json['reservations']]

    assert [*claim(1), *claim(2)] == nodes[:2]
    for reservation in client.get(PATH)['reservations']:
        client.ask('DELETE', f'{PATH}/{reservation["uuid"]}')
    assert claim(3, 4) == [nodes[2], nodes[0]]
    assert claim(5) == [nodes[1]]
    # The last node counts once, although a search for more begins again at the first one.
    last = available(client)
    too_many = {'instance_uuids': [instance(6), instance(7)], 'required': []}
    assert client.ask('POST', PATH, too_many).status_int == 409
    assert claim(6) == [last]


@pytest.mark.parametrize('is_listed', [True, False])
def test_a_node_that_is_reserved_has_changed(client, is_listed):
    """It is in the change feed, because it shows its reservation."""
    node = available(client)
    token = client.get('/v1/changes')['token']
    body = {'instance_uuid': instance(1), **({'node_uuid': node} if is_listed else {'required': []})}
    assert client.ask('POST', PATH, body).status_int == 201
    changes = client.get(f'/v1/changes?since={token}&kind=node')['changes']
    assert [change['uuid'] for change in changes] == [node]


def test_a_list_decides_before_an_allocation(client):
    """The instance gets the first node of the list, also if another one is allocated to it."""
    other, allocated = (available_of(client, 'gold') for _ in range(2))
    assert allocate(client, 1, allocated).status_int == 204
    assert reserve(client, 1, [other, allocated]).json['reservation']['node_uuid'] == other


def test_an_allocated_node_in_maintenance_is_no_choice(client):
    """The instance gets another node."""
    other, allocated = (available_of(client, 'gold') for _ in range(2))
    assert allocate(client, 1, allocated).status_int == 204
    client.ask('PUT', f'/v1/nodes/{allocated}/maintenance', {})
    response = client.ask('POST', PATH, {'instance_uuid': instance(1), 'required': []})
    assert response.json['reservation']['node_uuid'] == other


def test_an_instance_on_another_node_is_no_obstacle(client):
    taken, free = available(client), available(client)
    patch = [{'op': 'add', 'path': '/instance_uuid', 'value': instance(1)}]
    assert client.ask('PATCH', f'/v1/nodes/{taken}', patch).status_int == 200
    assert reserve(client, 2, [free]).status_int == 201


def test_a_wrong_expiry_is_refused_before_a_node_is_looked_for(client):
    """It is refused if the instance has its node already, and if there is none."""
    uuid = available(client)
    assert reserve(client, 1, [uuid]).status_int == 201
    for number in (1, 2):
        response = reserve(client, number, [uuid], expires_at='2020-01-01T00:00:00+00:00')
        assert (response.status_int, 'is in the past' in message(response)) == (400, True)


def test_one_of_two_nodes_has_an_expired_reservation(app, client):
    first, second = available(client), available(client)
    assert reserve(client, 3, [first], expires_in=60).status_int == 201
    expire(app)
    body = {'instance_uuids': [instance(1), instance(2)], 'node_uuid': [first, second]}
    assert client.ask('POST', PATH, body).status_int == 201
    assert rows(app) == 2


def test_a_search_continues_after_the_last_of_several_nodes(client):
    first, second = available(client), available(client)
    both = {'instance_uuids': [instance(1), instance(2)], 'required': []}
    for reservation in client.ask('POST', PATH, both).json['reservations']:
        client.ask('DELETE', f'{PATH}/{reservation["uuid"]}')
    held = [client.ask('POST', PATH, {'instance_uuid': instance(number), 'required': []}) for number in (3, 4)]
    assert [response.json['reservation']['node_uuid'] for response in held] == [first, second]


def test_several_reservations_leave_the_traces_of_one(client):
    """Each is in the change feed and in the history of its node, and moves the generation of the provider."""
    nodes = [available_of(client, 'gold') for _ in range(2)]
    generations = [client.placement('GET', f'/resource_providers/{node}').json['generation'] for node in nodes]
    token = client.get('/v1/changes')['token']
    body = {'instance_uuids': [instance(1), instance(2)], 'required': []}
    held = client.ask('POST', PATH, body).json['reservations']
    changes = client.get(f'/v1/changes?since={token}&kind=reservation')['changes']
    assert {change['uuid'] for change in changes} == {reservation['uuid'] for reservation in held}
    for node, generation in zip(nodes, generations, strict=True):
        assert entries(client, node)[-1]['event_type'] == 'reservation'
        assert client.placement('GET', f'/resource_providers/{node}').json['generation'] == generation + 1


def test_what_happens_to_one_reservation_leaves_the_others(client):
    """A renewal, a deploy and a deletion are in the change feed, and change no other reservation."""
    uuids = [available_of(client, 'gold') for _ in range(4)]
    held = [reserve(client, number, [uuid], expires_in=60).json['reservation'] for number, uuid in enumerate(uuids)]
    token = client.get('/v1/changes')['token']
    renewed = client.ask('POST', f'{PATH}/{held[0]["uuid"]}/renew', {'expires_in': 600}).json['reservation']
    assert renewed['expires_at'] > held[0]['expires_at']
    deploy = {'target': 'active', 'reservation_uuid': held[1]['uuid']}
    assert client.ask('PUT', f'/v1/nodes/{uuids[1]}/states/provision', deploy).status_int == 202
    generation = client.placement('GET', f'/resource_providers/{uuids[2]}').json['generation']
    assert client.ask('DELETE', f'{PATH}/{held[2]["uuid"]}').status_int == 204
    assert client.placement('GET', f'/resource_providers/{uuids[2]}').json['generation'] == generation + 1
    assert entries(client, uuids[2])[-1]['event'] == f'Reservation {held[2]["uuid"]} was deleted.'
    changes = client.get(f'/v1/changes?since={token}&kind=reservation')['changes']
    assert {change['uuid'] for change in changes} == {each['uuid'] for each in held[:3]}
    left = {each['uuid']: each['expires_at'] for each in client.get(PATH)['reservations']}
    assert left == {each['uuid']: each['expires_at'] for each in (renewed, held[3])}


def test_a_refusal_has_the_end_of_the_reservation(client):
    uuid = available(client)
    held = reserve(client, 1, [uuid], expires_in=60).json['reservation']
    patch = [{'op': 'add', 'path': '/instance_uuid', 'value': instance(2)}]
    seconds = held['expires_at'].partition('.')[0]
    assert message(client.ask('PATCH', f'/v1/nodes/{uuid}', patch)) == (
        f'Node {uuid} is reserved for instance {instance(1)} by reservation {held["uuid"]} until {seconds}+00:00.'
    )


def test_only_expired_reservations_in_the_way_are_deleted(app, client):
    """A request does not lock, or write, those of other nodes."""
    uuids = [available_of(client, 'gold') for _ in range(3)]
    for number, uuid in enumerate(uuids):
        assert reserve(client, number, [uuid], expires_in=60).status_int == 201
    expire(app)
    assert allocate(client, 5, uuids[1]).status_int == 204
    assert rows(app) == 2
    assert reserve(client, 6, [uuids[0]]).status_int == 201
    assert rows(app) == 2


def test_each_reservation_has_the_projects_of_its_node(ask):
    """A project sees the reservations of its own nodes only, and none that has expired."""
    with ask.app.service.write() as connection:
        of_node = tables.nodes.c.uuid == NODE
        connection.execute(sa.update(tables.nodes).where(of_node).values(owner='gamma', lessee=None))
    body = {'instance_uuid': instance(1), 'node_uuid': NODE, 'expires_in': 60}
    response = ask('system_admin', 'POST /v1/reservations', body)
    assert response.status_int == 201, response.text
    path = f'/v1/reservations/{response.json["reservation"]["uuid"]}'
    other = 'GET /v1/reservations/{reservation_uuid}'
    for persona, statuses in {'stranger_reader': [200, 404], 'owner_reader': [404, 200]}.items():
        assert [ask(persona, route).status_int for route in (f'GET {path}', other)] == statuses
        assert ask(persona, f'GET /v1/reservations/{RECORD}9').status_int == 404
    assert ask('stranger_reader', f'DELETE {path}').status_int == 403
    expire(ask.app)
    assert ask('stranger_reader', f'DELETE {path}').status_int == 404


@pytest.mark.parametrize(('owner', 'shown', 'ended', 'refused'), [('alpha', 200, 204, 403), ('gamma', 404, 404, 404)])
def test_a_member_of_the_project_alpha(database_url, owner, shown, ended, refused):
    """The reservations and the records of nodes of other projects do not exist for it."""
    with make_app(database_url, api__auth_strategy='noauth2') as app:
        ask = functools.partial(ask_as, Client(app))
        uuid = ask('system', 'POST', '/v1/nodes', {'driver': 'fake-hardware'}, '1.10').json['uuid']
        ask('system', 'PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/owner', 'value': owner}])
        port = ask('system', 'POST', '/v1/ports', {'node_uuid': uuid, 'address': '52:54:00:00:00:01'}).json['uuid']
        body = {'instance_uuid': instance(1), 'node_uuid': uuid}
        path = f'{PATH}/{ask("system", "POST", PATH, body, VERSION).json["reservation"]["uuid"]}'
        assert ask('project', 'GET', path, version=VERSION).status_int == shown
        assert ask('project', 'DELETE', path, version=VERSION).status_int == ended
        assert ask('project', 'DELETE', f'/v1/ports/{port}').status_int == refused
