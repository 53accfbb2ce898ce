"""Reservations of nodes in groups: what they choose, what they refuse, and who sees what."""

import collections
import functools

import pytest
import sqlalchemy as sa

from ironic_traits.api.v1.protocol import BARE_METAL
from ironic_traits.context import Context, Grant
from ironic_traits.db import tables
from ironic_traits.inventory.holds.group_holds import GroupChoice
from ironic_traits.inventory.holds.taken_nodes import Lost
from ironic_traits.inventory.search import matches, node_index
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.matching.topology import parse
from tests.support.client import Client, ask_as, message
from tests.support.concurrency import at_once
from tests.support.providers import allocate, patch
from tests.support.reservations import PATH, available, instance
from tests.support.service import make_app

RACK = 'trait:CUSTOM_RACK_'
SAME, SPREAD = {'key': RACK, 'policy': 'affinity'}, {'key': RACK, 'policy': 'anti-affinity'}


def add_racks(client, *sizes, **fields):
    """Create racks of available nodes. Return {uuid of a node: number of its rack}."""
    racks = {}
    for rack, size in enumerate(sizes):
        client.placement('PUT', f'/traits/CUSTOM_RACK_{rack}')
        for _ in range(size):
            uuid = available(client, **fields)
            assert client.ask('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_RACK_{rack}').status_int == 204
            racks[uuid] = rack
    return racks


def ask(client, numbers, *topology, **more):
    """Request reservations for some instances."""
    instances = [instance(number) for number in numbers]
    return client.ask('POST', PATH, {'instance_uuids': instances, 'topology': list(topology), **more})


def held(racks, answer):
    """Return how many nodes of each rack a response holds: {rack: number}."""
    assert answer.status_int in (200, 201), answer.text
    return dict(collections.Counter(racks[each['node_uuid']] for each in answer.json['reservations']))


def test_fullest_and_emptiest(client):
    """The fullest group is the one of whose nodes the smallest share is free."""
    racks = add_racks(client, 4, 2, 4)
    # Rack 0 has 1 of 4 held, rack 1 has 1 of 2.
    for number, rack in enumerate((0, 1)):
        uuid = next(uuid for uuid in racks if racks[uuid] == rack)
        client.ask('POST', PATH, {'instance_uuid': instance(90 + number), 'node_uuid': uuid})
    assert held(racks, ask(client, [1], SAME | {'prefer': 'fullest'})) == {1: 1}
    assert held(racks, ask(client, [2, 3], SAME | {'prefer': 'fullest'})) == {0: 2}
    assert held(racks, ask(client, [4], {'key': RACK, 'prefer': 'emptiest'})) == {2: 1}
    assert held(racks, ask(client, [5, 6], {'key': RACK, 'prefer': 'fullest'})) == {0: 1, 2: 1}


def test_one_more_in_another_rack(client):
    """relative_to keeps away from the nodes of instances, or stays with them."""
    racks = add_racks(client, 2, 2, 2)
    assert held(racks, ask(client, [1, 2], SPREAD)) == {0: 1, 1: 1}
    assert held(racks, ask(client, [3], SPREAD, relative_to=[instance(1), instance(2)])) == {2: 1}
    refused = ask(client, [4], SPREAD, relative_to=[instance(number) for number in (1, 2, 3)])
    assert refused.status_int == 409
    assert refused.json['explanation']['topology']['largest'] == 0
    assert held(racks, ask(client, [4], SAME | {'relative_to': [instance(3)]})) == {2: 1}
    answer = ask(client, [5], SPREAD | {'max_per_group': 2, 'relative_to': [instance(3), instance(4)]})
    assert answer.json['topology'][0]['groups'] == [
        {'value': 'CUSTOM_RACK_0', 'nodes': 1},
        {'value': 'CUSTOM_RACK_2', 'nodes': 2},
    ]
    # What the related nodes do among themselves is not the fault of the choice, also if the request is repeated.
    for status in (201, 200):
        answer = ask(client, [7], SPREAD, relative_to=[instance(3), instance(4)])
        assert (answer.status_int, answer.json['topology'][0]['met']) == (status, True)
    unknown = ask(client, [6], SPREAD, relative_to=[instance(99)])
    assert unknown.status_int == 400
    assert f"'relative_to' names instance {instance(99)}, which holds no node that you may see." in message(unknown)


def test_instances_with_allocations_only(client):
    """relative_to counts the nodes that the instances have allocated in Placement, and no others."""
    racks = add_racks(client, 2, 2)
    first, _, last, _ = racks
    for number, node in enumerate((first, last), 1):
        patch(client, node, {'op': 'add', 'path': '/resource_class', 'value': 'gold'})
        assert allocate(client, number, node).status_int == 204
    assert held(racks, ask(client, [3], SPREAD, relative_to=[instance(1)])) == {1: 1}
    assert held(racks, ask(client, [4], SPREAD, relative_to=[instance(2)])) == {0: 1}


def test_a_soft_policy_chooses_the_group(client):
    """A soft policy decides between groups that hard policies allow, also for the same key, with the index."""
    racks = add_racks(client, 3, 2)
    client.ask('POST', PATH, {'instance_uuid': instance(9), 'node_uuid': next(iter(racks))})
    client.ask('POST', '/v1/capacity', {'flavors': [{'name': 'any', 'required': []}]})
    away, near = (
        {'key': RACK, 'policy': f'soft-{name}', 'relative_to': [instance(9)]} for name in ('anti-affinity', 'affinity')
    )
    assert held(racks, ask(client, [1], SAME, away)) == {1: 1}
    assert held(racks, ask(client, [2], SAME | {'prefer': 'fullest'}, near)) == {0: 1}


def test_more_instances_of_a_group(client):
    """If some instances of a request have nodes already, the other nodes must fit to them."""
    racks = add_racks(client, 2, 3)
    assert held(racks, ask(client, [1, 2], SAME)) == {0: 2}
    assert held(racks, ask(client, [1, 2], SAME)) == {0: 2}
    refused = ask(client, [1, 2, 3], SAME)
    assert (refused.status_int, len(client.get(PATH)['reservations'])) == (409, 2)
    assert held(racks, ask(client, [1, 2, 3], SPREAD | {'max_per_group': 2})) == {0: 2, 1: 1}
    for node in racks:
        patch(client, node, {'op': 'add', 'path': '/resource_class', 'value': 'gold'})
    for policies in [SPREAD], [SAME, SPREAD | {'key': 'resource_class'}]:
        violated = ask(client, [1, 2], *policies)
        assert violated.status_int == 409
        assert 'does not match' in message(violated)


def test_a_refusal_names_the_best_groups(client):
    racks = add_racks(client, 3, 2)
    for uuid in [*racks][:2]:
        client.placement('PUT', '/traits/CUSTOM_X')
        client.ask('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_X')
    refused = ask(client, [1, 2, 3], SAME, required=['CUSTOM_X'])
    assert refused.status_int == 409
    assert 'CUSTOM_RACK_0 has 2 of 3 nodes; without CUSTOM_X it has 3.' in message(refused)
    assert refused.json['explanation']['topology'] == {
        'count': 3,
        'largest': 2,
        'groups': [
            {
                'groups': {RACK: 'CUSTOM_RACK_0'},
                'nodes': 2,
                'relaxations': [{'drop': ['required:CUSTOM_X'], 'nodes': 3}],
            },
            {'groups': {RACK: 'CUSTOM_RACK_1'}, 'nodes': 0, 'relaxations': []},
        ],
    }
    drops = [each['drop'] for each in refused.json['explanation']['relaxations']]
    assert drops == [['required:CUSTOM_X']]
    of_list = ask(client, [1, 2, 3], SAME, node_uuid=[*racks][1:4])
    assert of_list.status_int == 409
    assert 'CUSTOM_RACK_0 has 2 of 3 nodes' in message(of_list)


def test_nodes_without_a_group(client):
    """A node in no rack, or in two, is not chosen, and is counted in the explanation."""
    racks = add_racks(client, 1)
    client.placement('PUT', '/traits/CUSTOM_RACK_9')
    both = available(client)
    client.ask('PUT', f'/v1/nodes/{both}/traits', {'traits': ['CUSTOM_RACK_0', 'CUSTOM_RACK_9']})
    none = available(client)
    refused = ask(client, [1, 2], SAME)
    assert refused.status_int == 409
    clause = next(each for each in refused.json['explanation']['clauses'] if each['clause'] == f'topology:{RACK}')
    assert clause == {'clause': f'topology:{RACK}', 'rejected': 2, 'rejected_only': 2}
    assert {each['node'] for each in refused.json['explanation']['near_misses']} == {both, none}
    assert client.ask('POST', PATH, {'instance_uuid': instance(3), 'node_uuid': none}).status_int == 201
    undecided = ask(client, [1], SPREAD, relative_to=[instance(3)])
    assert (undecided.status_int, undecided.json['code']) == (409, 'baremetal.topology.no_group')
    soft = SPREAD | {'policy': 'soft-anti-affinity', 'relative_to': [instance(3)]}
    assert held(racks, ask(client, [1], soft)) == {0: 1}


def test_nodes_of_other_projects_do_not_count(database_url):
    """A project chooses among its own nodes, and may not refer to instances on other nodes."""
    with make_app(database_url, api__auth_strategy='noauth2') as app:
        request = functools.partial(ask_as, Client(app))
        for owner in ('beta', 'beta', 'alpha'):
            uuid = request('system', 'POST', '/v1/nodes', {'driver': 'fake-hardware'}, version='1.10').json['uuid']
            patch = [{'op': 'add', 'path': f'/{name}', 'value': owner} for name in ('owner', 'resource_class')]
            assert request('system', 'PATCH', f'/v1/nodes/{uuid}', patch).status_int == 200
        body = {'topology': [{'key': 'resource_class', 'policy': 'affinity', 'prefer': 'fullest'}], 'explain': True}
        answer = request('project', 'POST', '/v1/matches', body | {'count': 2}).json
        assert answer['nodes'] == []
        groups = [{'groups': {'resource_class': 'alpha'}, 'nodes': 1, 'relaxations': []}]
        assert answer['explanation']['topology'] == {'count': 2, 'largest': 1, 'groups': groups}
        assert len(request('system', 'POST', '/v1/matches', body | {'count': 2}).json['nodes']) == 2
        uuids = [each['uuid'] for each in request('system', 'GET', '/v1/nodes').json['nodes']]
        held = {'instance_uuid': instance(1), 'node_uuid': uuids[:1]}
        assert request('system', 'POST', PATH, held).status_int == 201
        related = body | {'relative_to': [instance(1)]}
        assert request('project', 'POST', '/v1/matches', related).status_int == 400
        assert request('system', 'POST', '/v1/matches', related).status_int == 200


@pytest.mark.parametrize(('prefer', 'is_indexed'), [(None, False), ('fullest', False), ('fullest', True)])
def test_16_clients_race_for_racks(app, client, clients, prefer, is_indexed):
    """Each rack goes to one client as a whole. All clients but those for whom nothing is left succeed."""
    racks = add_racks(client, *[3] * 12)
    if is_indexed:
        client.ask('POST', '/v1/capacity', {'flavors': [{'name': 'any', 'required': []}]})
    topology = SAME | ({'prefer': prefer} if prefer else {})

    def claim(client, number):
        return ask(client, range(10 * number, 10 * number + 3), topology)

    answers = at_once(clients, claim)
    assert [answer.text for answer in answers if answer.status_int not in (201, 409)] == []
    assert sorted(answer.status_int for answer in answers) == [201] * 12 + [409] * 4
    whole = [held(racks, answer) for answer in answers if answer.status_int == 201]
    assert sorted(next(iter(each.items())) for each in whole) == [(rack, 3) for rack in range(12)]
    with app.service.read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(tables.reservations)) == 36


def test_16_clients_spread(client, clients):
    """Clients that need a node in each rack get them, because there are enough at every moment."""
    racks = add_racks(client, *[16] * 3)

    def claim(client, number):
        return ask(client, range(10 * number, 10 * number + 3), SPREAD)

    assert [held(racks, answer) for answer in at_once(clients, claim)] == [dict.fromkeys(range(3), 1)] * 16


@pytest.mark.parametrize('change', ['rack of a chosen node', 'rack of the related node', 'holder of the related node'])
def test_a_choice_is_checked_under_the_locks(app, client, change):
    """If groups or holders have changed since the choice, it is made again."""
    racks = add_racks(client, 2, 1)
    related, chosen, _ = racks
    held = client.ask('POST', PATH, {'instance_uuid': instance(9), 'node_uuid': related}).json['reservation']
    context = Context(app.service, BARE_METAL, 80, '')
    policies = parse([SAME], [instance(9)])
    attempt = GroupChoice(context, NodeRequest(Grant(()), topology=policies))
    attempt.prepare([instance(1)])
    if change == 'holder of the related node':
        assert client.ask('DELETE', f'{PATH}/{held["uuid"]}').status_int == 204
    else:
        moved = chosen if change == 'rack of a chosen node' else related
        assert client.ask('PUT', f'/v1/nodes/{moved}/traits', {'traits': ['CUSTOM_RACK_1']}).status_int == 200
    with pytest.raises(Lost), context.write() as connection:
        attempt.take(connection, [instance(1)])


@pytest.mark.parametrize('is_large', [False, True])
def test_a_large_inventory_waits_for_the_index(app, client, monkeypatch, is_large):
    """With many nodes, no request reads all of them for itself, also not when a service has just started."""
    racks = add_racks(client, 1, 2)
    monkeypatch.setattr(node_index, 'MAX_NODES', 2 if is_large else 3)
    monkeypatch.setattr(matches, 'grouped', functools.partial(count_calls, calls := [], matches.grouped))
    assert held(racks, ask(client, [1, 2], SAME)) == {1: 2}
    assert len(calls) == (0 if is_large else 1)


def count_calls(calls, function, *arguments):
    """Note a call, and call a function."""
    calls.append(arguments)
    return function(*arguments)


def test_a_cluster_grows_from_many_sides(app, client, clients):
    """Clients that add a machine to one cluster, while its first machine moves, each get one in its rack of then."""
    racks = add_racks(client, 9, 9)
    first = available(client)
    client.ask('PUT', f'/v1/nodes/{first}/traits/CUSTOM_RACK_0')
    assert client.ask('POST', PATH, {'instance_uuid': instance(999), 'node_uuid': first}).status_int == 201

    def work(client, number):
        if number == 0:
            moves = [['CUSTOM_RACK_1'], ['CUSTOM_RACK_0']] * 4
            return [client.ask('PUT', f'/v1/nodes/{first}/traits', {'traits': names}) for names in moves]
        return ask(client, [number], SAME, relative_to=[instance(999)])

    answers = at_once(clients[:8], work)[1:]
    assert sum(sum(held(racks, answer).values()) for answer in answers) == 7
    for answer in answers:
        assert answer.json['topology'][0]['policy'] == 'affinity'
