"""Capacity reservations: what others may take, and who uses them up, on each database."""

import dataclasses
import datetime

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.holds import promised_nodes
from ironic_traits.placement import imports
from ironic_traits.placement.snapshot_differences import Scope
from ironic_traits.placement.snapshots import Consumer
from tests.support import personas
from tests.support.client import Client
from tests.support.mirrored_nodes import OTHER, UUIDS, Store
from tests.support.promises import CAPACITY, add_trait, claim, figures, promise, take
from tests.support.providers import GOLD, golden, patch
from tests.support.reservations import PATH, available_of, expire, instance, reserve
from tests.support.rows import set_exclusive
from tests.support.service import finish_work, make_app


class AsSystemAdmin(Client):
    """A client that sends requests as an administrator of the system, unless headers say something else."""

    def ask(self, *arguments, headers=(), **options):
        return super().ask(*arguments, headers=headers or personas.headers('system_admin'), **options)


#: {kind of claim: function of a client, the number of an instance, and a free node that claims the node}.
CLAIMS = {
    'reservation of a list': lambda client, number, node: reserve(client, number, [node]),
    'reservation by request': lambda client, number, node: take(client, number),
    'instance_uuid': lambda client, number, node: client.ask(
        'PATCH', f'/v1/nodes/{node}', [{'op': 'add', 'path': '/instance_uuid', 'value': instance(number)}]
    ),
    'deploy without an instance': lambda client, number, node: client.ask(
        'PUT', f'/v1/nodes/{node}/states/provision', {'target': 'active'}
    ),
    'Placement': lambda client, number, node: claim(client, number, node, 'another'),
    'topology': lambda client, number, node: take(
        client, number, topology=[{'key': 'properties/rack', 'policy': 'affinity'}]
    ),
}


@pytest.mark.parametrize('kind', CLAIMS)
def test_a_claim_of_another_leaves_what_is_promised(client, kind):
    """The refusal says which promise it would break, and what is left. Nothing has changed by it."""
    first, last = golden(client, properties={'rack': 'r'}), golden(client, properties={'rack': 'r'})
    assert promise(client, 'a', 1).status_int == 201
    taken = CLAIMS[kind](client, 1, first)
    assert taken.status_int in (200, 201, 202, 204), taken.text
    free = [node['uuid'] for node in client.get('/v1/nodes?eligible=true&fields=uuid')['nodes']]
    assert len(free) == 1
    assert figures(client, 'a') == (0, 1, 0, 1)
    refused = CLAIMS[kind](client, 2, free[0])
    assert refused.status_int == 409
    assert 'capacity reservation a needs 1 of the 1 that match it' in refused.text
    assert figures(client, 'a') == (0, 1, 0, 1)
    assert last in (*free, first, last)


@pytest.mark.parametrize('kind', CLAIMS)
def test_the_first_claim_of_a_process(client, database_url, kind):
    """It has not read the promises yet."""
    first, _ = golden(client, properties={'rack': 'r'}), golden(client, properties={'rack': 'r'})
    assert promise(client, 'a', 2).status_int == 201
    with make_app(database_url) as other:
        assert CLAIMS[kind](Client(other), 1, first).status_int == 409
    client.ask('DELETE', f'{CAPACITY}/a')
    assert promise(client, 'a', 1).status_int == 201
    with make_app(database_url) as other:
        assert CLAIMS[kind](Client(other), 1, first).status_int in (200, 201, 202, 204)


def test_an_allocation_of_another_ends_in_error(client):
    """Its error says why."""
    golden(client)
    promise(client, 'a', 1)
    uuid = client.ask('POST', '/v1/allocations', {'resource_class': 'gold'}).json['uuid']
    assert 'capacity reservation a' in client.get(f'/v1/allocations/{uuid}')['last_error']


def test_an_allocation_with_the_name_of_a_promised_node(client):
    """The node of the name comes first only if no promise needs it."""
    named, other = golden(client, name='one'), golden(client)
    add_trait(client, named, 'CUSTOM_X')
    promise(client, 'a', 1, required=['CUSTOM_X'])
    assert client.ask('POST', '/v1/allocations', {'resource_class': 'gold', 'name': 'one'}).status_int == 201
    assert client.get('/v1/allocations/one')['node_uuid'] == other


def test_the_project_uses_it_up(client):
    """Claims of its project count automatically, and those that name it. After that, it has no right to more."""
    nodes = [golden(client, properties={'rack': 'r'}) for _ in range(3)]
    promise(client, 'a', 2)
    assert claim(client, 1, nodes[0], 'project-a').status_int == 204
    assert figures(client, 'a') == (1, 1, 0, 2)
    assert take(client, 2, capacity_reservation='a').status_int == 201
    assert figures(client, 'a') == (2, 0, 0, 1)
    for more in ({}, {'topology': [{'key': 'properties/rack', 'policy': 'affinity'}]}):
        refused = take(client, 3, capacity_reservation='a', **more)
        assert refused.json['code'] == 'baremetal.capacity_reservation.used_up'
    assert take(client, 4).status_int == 201


def test_an_instance_that_has_a_node_already(client):
    """It keeps the node only if the node counts for the capacity reservation that the request names."""
    first, _ = [golden(client, properties={'rack': 'r'}) for _ in range(2)]
    assert reserve(client, 1, [first]).status_int == 201
    promise(client, 'a', 1)
    for topology in ({}, {'topology': [{'key': 'properties/rack', 'policy': 'affinity'}]}):
        refused = take(client, 1, capacity_reservation='a', **topology)
        assert refused.status_int == 409
        assert f'node {first}, and that node does not count for the capacity reservation.' in refused.text
    for status in (201, 200):
        assert take(client, 2, capacity_reservation='a').status_int == status
    golden(client)
    promise(client, 'b', 1)
    assert take(client, 2, capacity_reservation='b').status_int == 409


def test_a_request_for_more_than_is_left(client):
    """None of its nodes is taken, although the first ones could be, and others are free."""
    for _ in range(4):
        golden(client)
    promise(client, 'a', 2)
    body = {'instance_uuids': [instance(number) for number in range(3)], 'capacity_reservation': 'a'}
    refused = client.ask('POST', PATH, body)
    assert refused.json['code'] == 'baremetal.capacity_reservation.used_up'
    assert figures(client, 'a') == (0, 2, 0, 4)
    refused = take(client, 1, capacity_reservation='a', required=['CUSTOM_X'])
    assert 'It has a right to 2 more. Free nodes that match it: 4; those that also match the rest' in refused.text
    assert 'request: 0.' in refused.text


def test_a_batch_for_more_than_is_left_beside_another_promise(client):
    """The second node would be free for everybody, but not for this capacity reservation."""
    for node in [golden(client) for _ in range(4)][:3]:
        add_trait(client, node, 'CUSTOM_X')
    promise(client, 'x', 1, required=['CUSTOM_X'])
    promise(client, 'a', 2)
    body = {'instance_uuids': [instance(1), instance(2)], 'resource_class': 'gold', 'capacity_reservation': 'x'}
    assert client.ask('POST', PATH, body).status_int == 409
    assert figures(client, 'x')[:2] == (0, 1)
    assert take(client, 1, capacity_reservation='x').status_int == 201


def test_a_node_that_matches_no_promise_any_more(client):
    """It was given back. When it is taken again, it does not count for what it counted for before."""
    node = golden(client)
    add_trait(client, node, 'CUSTOM_X')
    promise(client, 'a', 1, required=['CUSTOM_X'])
    assert claim(client, 1, node, 'project-a').status_int == 204
    assert client.placement('DELETE', f'/allocations/{instance(1)}').status_int == 204
    assert client.ask('DELETE', f'/v1/nodes/{node}/traits/CUSTOM_X').status_int == 204
    assert claim(client, 2, node, 'x').status_int == 204
    assert figures(client, 'a') == (0, 1, 1, 0)


def test_a_group_of_promised_nodes_is_left_out(client):
    """A request with a topology gets another group, also if the promised one comes first."""
    for rack in 'rrss':
        node = golden(client, properties={'rack': rack})
        add_trait(client, node, f'CUSTOM_{rack.upper()}')
    promise(client, 'a', 2, required=['CUSTOM_R'])
    body = {
        'instance_uuids': [instance(1), instance(2)],
        'topology': [{'key': 'properties/rack', 'policy': 'affinity'}],
    }
    answer = client.ask('POST', PATH, body)
    assert answer.json['topology'][0]['groups'] == [{'value': 's', 'nodes': 2}]


def test_a_capacity_reservation_limits_a_topology(client):
    """A request that names one gets a group of its nodes, also if other nodes match, too."""
    available_of(client, 'tin', properties={'rack': 'r'})
    node = golden(client, properties={'rack': 's'})
    promise(client, 'a', 1)
    body = {'instance_uuid': instance(1), 'topology': [{'key': 'properties/rack', 'policy': 'affinity'}]}
    answer = client.ask('POST', PATH, body | {'capacity_reservation': 'a'})
    assert answer.json['reservation']['node_uuid'] == node


def test_a_node_that_its_project_gives_back_is_promised_again(client):
    """It counts while something holds it, also if the reservation has become an instance."""
    node = golden(client)
    promise(client, 'a', 1)
    uuid = take(client, 1, capacity_reservation='a').json['reservation']['uuid']
    assert figures(client, 'a') == (1, 0, 0, 0)
    client.ask('PATCH', f'/v1/nodes/{node}', [{'op': 'add', 'path': '/instance_uuid', 'value': instance(1)}])
    client.ask('DELETE', f'{PATH}/{uuid}')
    assert figures(client, 'a') == (1, 0, 0, 0)
    client.ask('PATCH', f'/v1/nodes/{node}', [{'op': 'remove', 'path': '/instance_uuid'}])
    assert figures(client, 'a') == (0, 1, 0, 1)
    assert take(client, 2).status_int == 409


def test_a_reservation_that_expires_is_promised_again(app, client):
    """So is a node whose reservation has expired, without a write."""
    golden(client)
    promise(client, 'a', 1)
    take(client, 1, capacity_reservation='a', expires_in=1000)
    expire(app)
    assert figures(client, 'a') == (0, 1, 0, 1)
    assert take(client, 2).status_int == 409
    assert take(client, 3, capacity_reservation='a').status_int == 201


#: {kind of claim: function of a client, headers, the number of an instance, and a node}.
OWN = {
    'reservation': lambda client, headers, number, node: client.ask(
        'POST', PATH, {'instance_uuid': instance(number), 'node_uuid': node}, headers=headers
    ),
    'allocation': lambda client, headers, number, node: client.ask(
        'POST', '/v1/allocations', {'resource_class': 'gold', 'candidate_nodes': [node]}, headers=headers
    ),
    'instance_uuid': lambda client, headers, number, node: client.ask(
        'PATCH',
        f'/v1/nodes/{node}',
        [{'op': 'add', 'path': '/instance_uuid', 'value': instance(number)}],
        headers=headers,
    ),
}


def of_alpha(client):
    """Create a free golden node of the project alpha, which beta leases, and return its uuid."""
    node = golden(client)
    for name, project in (('owner', 'alpha'), ('lessee', 'beta')):
        patch(client, node, {'op': 'add', 'path': f'/{name}', 'value': project})
    return node


@pytest.mark.parametrize('kind', OWN)
def test_claims_of_projects(database_url, kind):
    """A claim of the project uses its promise up. Another project that may use the same node may not take it."""
    with make_app(database_url, api__auth_strategy='noauth2') as app:
        client = AsSystemAdmin(app)
        node = of_alpha(client)
        body = {'name': 'a', 'project': 'alpha', 'count': 1, 'resource_class': 'gold'}
        assert client.ask('POST', CAPACITY, body).status_int == 201
        refused = OWN[kind](
            client, personas.headers('system_admin' if kind == 'instance_uuid' else 'lessee_admin'), 1, node
        )
        assert refused.status_int == 409 or refused.json.get('state') == 'error', refused.text
        shown = 'capacity reservation a needs 1' if kind == 'instance_uuid' else 'are promised to other projects'
        assert shown in refused.text
        taken = OWN[kind](client, personas.headers('owner_admin'), 2, node)
        assert taken.status_int in (200, 201), taken.text
        assert figures(client, 'a') == (1, 0, 0, 0)


def test_who_may_name_it(database_url):
    """Members of its project, and services. For others, it does not exist."""
    with make_app(database_url, api__auth_strategy='noauth2') as app:
        client = AsSystemAdmin(app)
        for _ in range(6):
            of_alpha(client)
        body = {'name': 'a', 'project': 'alpha', 'count': 6, 'resource_class': 'gold'}
        assert client.ask('POST', CAPACITY, body).status_int == 201
        statuses = {}
        for number, persona in enumerate(personas.PERSONAS):
            body = {'instance_uuid': instance(number), 'capacity_reservation': 'a'}
            response = client.ask('POST', PATH, body, headers=personas.headers(persona))
            statuses.setdefault(response.status_int, []).append(persona)
            if response.status_int == 201:
                client.ask('DELETE', f'{PATH}/{response.json["reservation"]["uuid"]}')
        of_alpha_members = ['owner_admin', 'owner_manager', 'owner_member']
        assert statuses[201] == ['system_admin', 'system_member', 'system_service', 'service', *of_alpha_members]
        assert statuses[403] == [
            'system_reader',
            'owner_reader',
            'owner_service',
            'lessee_reader',
            'stranger_reader',
            'nobody',
        ]
        assert statuses.keys() == {201, 403, 404}


def test_a_node_that_the_consumer_may_not_see(database_url):
    """A refusal does not name it."""
    with make_app(database_url) as free, make_app(database_url, api__auth_strategy='noauth2') as app:
        client = AsSystemAdmin(app)
        of_alpha(client)
        other = golden(client)
        body = {'name': 'a', 'project': 'alpha', 'count': 1, 'resource_class': 'gold'}
        assert client.ask('POST', CAPACITY, body).status_int == 201
        assert claim(Client(free), 1, other, 'x').status_int == 204
        for persona, code in (('owner_member', 'unavailable'), ('system_admin', 'on_node')):
            body = {'instance_uuid': instance(1), 'capacity_reservation': 'a'}
            refused = client.ask('POST', PATH, body, headers=personas.headers(persona))
            assert (refused.status_int, refused.json['code']) == (409, f'baremetal.instance.{code}')
            assert (other in refused.text) is (persona == 'system_admin')


def test_an_exclusive_trait(app, client):
    """Who has promised nodes with it, has asked for it, so a request that names only the promise gets one."""
    plain, special = golden(client), golden(client)
    add_trait(client, special, 'CUSTOM_X')
    set_exclusive(app.service, ['CUSTOM_X'])
    assert promise(client, 'b', 2).status_int == 409
    promise(client, 'a', 1, required=['CUSTOM_X'])
    assert take(client, 1).json['reservation']['node_uuid'] == plain
    response = client.ask('POST', PATH, {'instance_uuid': instance(2), 'capacity_reservation': 'a'})
    assert response.json['reservation']['node_uuid'] == special


@pytest.mark.parametrize(
    'request_of',
    [
        lambda node: {'node_uuid': [node]},
        lambda node: {'resource_class': 'gold'},
        lambda node: {'topology': [{'key': 'properties/rack', 'policy': 'affinity'}]},
    ],
)
def test_a_consumer_reserves_its_own_node(client, monkeypatch, request_of):
    """Its node is not free, so no promise depends on it, not even one that cannot be kept. An estimate is enough."""
    node, reads = golden(client, properties={'rack': 'r'}), []
    assert claim(client, 1, node, 'another').status_int == 204
    broken = golden(client)
    promise(client, 'a', 1)
    client.ask('PUT', f'/v1/nodes/{broken}/maintenance', {})

    def read(*arguments, original=promised_nodes.read):
        reads.append(1)
        return original(*arguments)

    monkeypatch.setattr(promised_nodes, 'read', read)
    response = client.ask('POST', PATH, {'instance_uuid': instance(1), **request_of(node)})
    assert response.json['reservation']['node_uuid'] == node
    assert not reads
    assert figures(client, 'a') == (0, 1, 1, 0)


@pytest.mark.parametrize('path', [PATH, '/v1/allocations'])
def test_a_consumer_of_the_project_reserves_its_own_node(client, path):
    """The node still counts for the promise."""
    nodes = [golden(client) for _ in range(3)]
    promise(client, 'a', 1)
    promise(client, 'b', 1)
    bodies = {
        PATH: lambda number: {'instance_uuid': instance(number), 'node_uuid': [nodes[number]]},
        '/v1/allocations': lambda number: {'resource_class': 'gold', 'uuid': instance(number)},
    }
    for number in range(2):
        assert claim(client, number, nodes[number], 'project-a').status_int == 204
        assert client.ask('POST', path, bodies[path](number)).status_int == 201
        assert figures(client, 'a') == (1, 0, 0, 2 - number)
    assert claim(client, 2, nodes[2], 'project-a').status_int == 409


def test_a_consumer_names_a_capacity_reservation(client):
    """Its own node counts for what it was allocated for. It gets no second node, and the same answer each time."""
    nodes = [golden(client) for _ in range(4)]
    promise(client, 'a', 2)
    assert claim(client, 1, nodes[0], 'x').status_int == 204
    assert claim(client, 2, nodes[1], 'project-a').status_int == 204
    for _ in range(2):
        for request in ({}, {'node_uuid': nodes[:1]}, {'node_uuid': nodes}):
            refused = take(client, 1, capacity_reservation='a', **request)
            assert (refused.status_int, refused.json['code']) == (409, 'baremetal.instance.on_node')
            assert f'{nodes[0]}, which does not count for the capacity reservation' in refused.text
    for status in (201, 200):
        held = take(client, 2, capacity_reservation='a')
        assert (held.status_int, held.json['reservation']['node_uuid']) == (status, nodes[1])
    assert figures(client, 'a') == (1, 1, 0, 2)


def test_a_deploy_without_an_instance(database_url):
    """It uses no promise up, so it must leave the nodes of all promises, also those of its project."""
    with make_app(database_url, api__auth_strategy='noauth2') as app:
        client = AsSystemAdmin(app)
        nodes = [of_alpha(client) for _ in range(3)]
        for name, project in (('a', 'alpha'), ('b', 'gamma')):
            body = {'name': name, 'project': project, 'count': 1, 'resource_class': 'gold'}
            assert client.ask('POST', CAPACITY, body).status_int == 201
        deploy = {'target': 'active'}
        headers = personas.headers('owner_admin')
        statuses = [
            client.ask('PUT', f'/v1/nodes/{node}/states/provision', deploy, headers=headers).status_int
            for node in nodes
        ]
        assert statuses == [202, 409, 409]
        assert (figures(client, 'a'), figures(client, 'b')) == ((0, 1, 0, 2), (0, 1, 0, 2))


#: {how a node that is not free gets a holder without a claim: function of a client and the node}.
UNCHECKED = {
    'maintenance': lambda client, node: [
        client.ask('PUT', f'/v1/nodes/{node}/maintenance', {}),
        client.ask('PATCH', f'/v1/nodes/{node}', [{'op': 'add', 'path': '/instance_uuid', 'value': instance(2)}]),
    ],
    'manageable': lambda client, node: [
        client.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': 'manage'}),
        client.ask('PATCH', f'/v1/nodes/{node}', [{'op': 'add', 'path': '/instance_uuid', 'value': instance(2)}]),
    ],
    'backfill': lambda client, node: [
        client.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': 'manage'}),
        client.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': 'adopt'}),
        finish_work(client.app),
        client.ask('POST', '/v1/allocations', {'node': node, 'owner': 'x', 'uuid': instance(2)}),
    ],
}


@pytest.mark.parametrize('how', UNCHECKED)
def test_a_node_that_was_given_back(client, how):
    """It does not count again when another instance gets it while it is not free. Other nodes still count."""
    node, kept, another, other = (golden(client) for _ in range(4))
    promise(client, 'a', 3)
    for number, each in ((1, node), (4, kept), (5, another)):
        assert claim(client, number, each, 'project-a').status_int == 204
    assert client.placement('DELETE', f'/allocations/{instance(1)}').status_int == 204
    answers = UNCHECKED[how](client, node)
    assert answers[-1].status_int in (200, 201), answers[-1].text
    assert figures(client, 'a') == (2, 1, 0, 1)
    assert claim(client, 3, other, 'x').status_int == 409


@pytest.mark.parametrize('before', [None, instance(0)])
def test_a_mirrored_node_that_the_cloud_gives_to_another_instance(client, before):
    """It counts no longer: the project has given it back, or the cloud has taken it away."""
    cloud = Store(client.app.service, 'far')
    cloud.nodes({}, {'number': 1}, {'number': 2}, {'number': 3})
    promise(client, 'a', 2)
    reserved = [
        take(client, number, capacity_reservation='a', node_uuid=UUIDS[number]).json['reservation']['uuid']
        for number in (0, 1)
    ]
    cloud.nodes(
        *({'number': n, 'instance_uuid': instance(n), 'updated_at': '2026-01-03T00:00:00+00:00'} for n in (0, 1))
    )
    for uuid in reserved:
        assert client.ask('DELETE', f'{PATH}/{uuid}').status_int == 204
    assert figures(client, 'a') == (2, 0, 0, 2)
    for day, uuid in ((4, before), (5, OTHER)):
        cloud.nodes({'instance_uuid': uuid, 'updated_at': f'2026-01-0{day}T00:00:00+00:00'})
    assert figures(client, 'a') == (1, 1, 0, 2)
    assert [claim(client, 5 + number, UUIDS[number], 'x').status_int for number in (2, 3)] == [204, 409]


def test_an_import_of_an_allocation(client):
    """It is not checked. But a node that was given back does not count again when it gets the consumer of another."""
    node, kept, _ = (golden(client) for _ in range(3))
    promise(client, 'a', 2)
    for number, each in ((1, node), (2, kept)):
        assert claim(client, number, each, 'project-a').status_int == 204
    assert client.placement('DELETE', f'/allocations/{instance(1)}').status_int == 204
    consumer = Consumer(instance(7), 'x', 'user', 'INSTANCE', 1, {node: {GOLD: 1}})
    assert not imports.write(client.app.service, [], [consumer], Scope(True, True))
    assert figures(client, 'a') == (1, 1, 0, 1)
    # The same for a node whose consumer gets another project.
    moved = Consumer(instance(2), 'x', 'user', 'INSTANCE', 2, {kept: {GOLD: 1}})
    for project, expected in (('project-a', (1, 1, 0, 1)), ('x', (0, 2, 1, 1))):
        consumer = dataclasses.replace(moved, project_id=project)
        assert not imports.write(client.app.service, [], [consumer], Scope(True, True))
        assert figures(client, 'a') == expected


@pytest.mark.parametrize(('before', 'after', 'used'), [('project-a', 'x', 1), ('x', 'project-a', 2)])
def test_an_import_of_a_consumer_of_another_project(client, before, after, used):
    """Its node counts no longer, unless the promise is of the project that gets it. Other nodes still count."""
    nodes = [golden(client) for _ in range(3)]
    promise(client, 'a', 2)
    for number, project in enumerate((before, 'y')):
        taken = take(client, number, capacity_reservation='a', node_uuid=[nodes[number]])
        assert taken.status_int == 201
        assert claim(client, number, nodes[number], project).status_int == 204
    assert figures(client, 'a') == (2, 0, 0, 1)
    moved = Consumer(instance(0), after, 'user', 'INSTANCE', 2, {nodes[0]: {GOLD: 1}})
    assert not imports.write(client.app.service, [], [moved], Scope(True, True))
    assert figures(client, 'a')[0] == used


def test_a_claim_takes_no_node_from_another_promise(client):
    """Not even if a third one would get another node instead: that one could not be kept before."""
    nodes = [golden(client) for _ in range(3)]
    for node, names in zip(nodes, ('UA', 'UB', 'B'), strict=True):
        for name in names:
            add_trait(client, node, f'CUSTOM_{name}')
    for name in 'UAB':
        assert promise(client, name, 1, required=[f'CUSTOM_{name}']).status_int == 201
    client.ask('PUT', f'/v1/nodes/{nodes[2]}/maintenance', {})
    shorts = [figures(client, name)[2] for name in 'UAB']
    assert shorts == [0, 0, 1]
    refusal = claim(client, 1, nodes[0], 'project-U')
    assert refusal.status_int == 409
    assert 'capacity reservation A needs 1 of the 1' in refusal.text
    taken = take(client, 1, capacity_reservation='U')
    assert taken.json['reservation']['node_uuid'] == nodes[1]
    assert [figures(client, name)[2] for name in 'UAB'] == shorts


@pytest.mark.parametrize('holder', ['Placement', 'reservation'])
def test_a_node_that_is_held_counts_when_it_gets_its_instance(client, holder):
    """It counts for the promise of its holder, although it is not free."""
    node, _ = golden(client), golden(client)
    promise(client, 'a', 1)
    if holder == 'Placement':
        assert claim(client, 1, node, 'project-a').status_int == 204
    else:
        assert take(client, 1, capacity_reservation='a', node_uuid=node).status_int == 201
    assert CLAIMS['instance_uuid'](client, 1, node).status_int == 200
    assert figures(client, 'a') == (1, 0, 0, 1)


@pytest.mark.parametrize('holder', ['Placement', 'reservation'])
def test_an_allocation_that_is_written_again(client, holder):
    """The node has its instance, so it is not free: it counts for what it counted for before."""
    node, other, _ = (golden(client) for _ in range(3))
    promise(client, 'a', 1)
    if holder == 'Placement':
        assert claim(client, 1, node, 'project-a').status_int == 204
        assert CLAIMS['instance_uuid'](client, 1, node).status_int == 200
        assert client.placement('DELETE', f'/allocations/{instance(1)}').status_int == 204
    else:
        uuid = take(client, 1, capacity_reservation='a', node_uuid=node).json['reservation']['uuid']
        assert CLAIMS['instance_uuid'](client, 1, node).status_int == 200
        assert client.ask('DELETE', f'{PATH}/{uuid}').status_int == 204
    assert claim(client, 1, node, 'project-a').status_int == 204
    assert figures(client, 'a') == (1, 0, 0, 2)
    assert claim(client, 2, other, 'x').status_int == 204


def test_an_instance_of_another_project_that_has_its_reservation(client):
    """Its reservation names the capacity reservation. Then nova allocates the node."""
    golden(client)
    promise(client, 'a', 1)
    node = take(client, 1, capacity_reservation='a').json['reservation']['node_uuid']
    assert claim(client, 1, node, 'x').status_int == 204
    assert figures(client, 'a') == (1, 0, 0, 0)


def move(client, project):
    """Move the allocation of the first instance of project-a to the second instance, of a project."""
    generation = client.placement('GET', f'/allocations/{instance(1)}', version='1.28').json['consumer_generation']
    shown = client.placement('GET', f'/allocations/{instance(1)}', version='1.28').json['allocations']
    allocations = {node: {'resources': each['resources']} for node, each in shown.items()}
    common = {'user_id': 'user'}
    body = {
        instance(1): common | {'allocations': {}, 'project_id': 'project-a', 'consumer_generation': generation},
        instance(2): common | {'allocations': allocations, 'project_id': project, 'consumer_generation': None},
    }
    return client.placement('POST', '/allocations', body, '1.28')


def test_an_allocation_moves(client):
    """Within the project, as nova does it, the node still counts. Another project cannot get it this way."""
    nodes = [golden(client) for _ in range(3)]
    promise(client, 'a', 3)
    for number in (0, 2):
        assert claim(client, number + 1, nodes[number], 'project-a').status_int == 204
    refused = move(client, 'x')
    assert refused.status_int == 409
    assert f'Node {nodes[0]} counts for the capacity reservation a of another project.' in refused.text
    assert figures(client, 'a') == (2, 1, 0, 1)
    assert move(client, 'project-a').status_int == 204
    assert figures(client, 'a') == (2, 1, 0, 1)
    client.ask('DELETE', f'{CAPACITY}/a')
    generation = client.placement('GET', f'/allocations/{instance(2)}', version='1.28').json['consumer_generation']
    body = {
        'allocations': {nodes[0]: {'resources': {'CUSTOM_GOLD': 1}}},
        'project_id': 'x',
        'user_id': 'user',
        'consumer_generation': generation,
    }
    assert client.placement('PUT', f'/allocations/{instance(2)}', body, '1.28').status_int == 204


def test_an_allocation_moves_after_the_expiry(app, client):
    """Another project can get it: the node counts for nothing, although another promise is there."""
    node, other, _ = (golden(client) for _ in range(3))
    promise(client, 'a', 1)
    promise(client, 'b', 2)
    assert claim(client, 1, node, 'project-a').status_int == 204
    assert claim(client, 3, other, 'project-b').status_int == 204
    expire_promise(app, 'a')
    assert move(client, 'x').status_int == 204


def test_what_an_owner_sees_of_a_refusal(database_url):
    """An allocation of an administrator for a project does not name the promises of others."""
    with make_app(database_url, api__auth_strategy='noauth2') as app:
        client = AsSystemAdmin(app)
        node = golden(client)
        patch(client, node, {'op': 'add', 'path': '/owner', 'value': 'beta'})
        body = {'name': 'secret', 'project': 'alpha', 'count': 1, 'resource_class': 'gold'}
        assert client.ask('POST', CAPACITY, body).status_int == 201
        body = {'resource_class': 'gold', 'owner': 'beta'}
        uuid = client.ask('POST', '/v1/allocations', body).json['uuid']
        shown = client.ask('GET', f'/v1/allocations/{uuid}', headers=personas.headers('lessee_reader'))
        assert 'are promised to other projects' in shown.text


def test_promises_that_overlap(client):
    """Two promises can be kept together although the nodes of one all match the other; a third does not fit."""
    for _ in range(2):
        golden(client)
    special = golden(client)
    add_trait(client, special, 'CUSTOM_X')
    assert promise(client, 'any', 2).status_int == 201
    assert promise(client, 'special', 1, required=['CUSTOM_X']).status_int == 201
    refused = promise(client, 'more', 1)
    assert refused.status_int == 409
    assert 'Free nodes that match: 3. Other capacity reservations need 3 of them.' in refused.text
    # Its project may not take the node that only the other promise can have.
    assert claim(client, 1, special, 'project-any').status_int == 409
    assert take(client, 2, capacity_reservation='any').json['reservation']['node_uuid'] != special


def test_a_promise_that_cannot_be_kept(client):
    """A node that breaks makes it short. A node that comes is for it."""
    node = golden(client)
    promise(client, 'a', 1)
    client.ask('PUT', f'/v1/nodes/{node}/maintenance', {})
    assert figures(client, 'a') == (0, 1, 1, 0)
    new = golden(client)
    assert figures(client, 'a') == (0, 1, 0, 1)
    assert reserve(client, 1, [new]).status_int == 409
    client.ask('DELETE', f'/v1/nodes/{node}/maintenance')
    assert reserve(client, 1, [new]).status_int == 201


def test_expiry(client):
    """After its expiry, it does not exist any more, and others may take the nodes. Its name is free."""
    golden(client)
    end = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=1)
    assert promise(client, 'a', 1, expires_at=end.isoformat()).status_int == 201
    assert take(client, 1).status_int == 409
    while client.ask('GET', f'{CAPACITY}/a').status_int == 200:
        assert datetime.datetime.now(datetime.UTC) < end + datetime.timedelta(seconds=30)
    assert client.get(CAPACITY) == {'capacity_reservations': []}
    assert promise(client, 'a', 1).status_int == 201
    client.ask('DELETE', f'{CAPACITY}/a')
    assert take(client, 1).status_int == 201


def expire_promise(app, name):
    """Let a capacity reservation expire, whose row stays."""
    past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    with app.service.write() as connection:
        connection.execute(sa.update(tables.capacity_reservations).filter_by(name=name).values(expires_at=past))


def test_claims_after_an_expiry(app, client):
    """The newest capacity reservation does not exist any more, but its row does."""
    for _ in range(2):
        golden(client)
    promise(client, 'a', 1)
    promise(client, 'b', 1)
    expire_promise(app, 'b')
    assert take(client, 1).status_int == 201
    assert take(client, 2).status_int == 409


def test_a_new_one_comes_after_all_others(app, client):
    """It gets only what they leave, however large their ids are."""
    golden(client)
    promise(client, 'a', 1)
    with app.service.write() as connection:
        connection.execute(sa.update(tables.capacity_reservations).values(id=10**6))
    assert promise(client, 'b', 1).status_int == 409


def promise_two(client, number):
    """Create two promises of one node that do not overlap, and so many nodes for each. Return {name: [node, …]}."""
    nodes = {name: [golden(client) for _ in range(number)] for name in 'ab'}
    for name, golden_ones in nodes.items():
        for node in golden_ones:
            add_trait(client, node, f'CUSTOM_{name.upper()}')
        promise(client, name, 1, required=[f'CUSTOM_{name.upper()}'])
    return nodes


@pytest.mark.parametrize('number', [3, 40])
def test_a_request_for_nodes_of_two_that_do_not_overlap(app, client, number):
    """It takes nodes of both. The generation of each rises by at least the number of its nodes."""
    nodes = promise_two(client, number)
    for first in range(number - 1):
        body = {'instance_uuids': [instance(2 * first), instance(2 * first + 1)]}
        body['node_uuid'] = [nodes['a'][first], nodes['b'][first]]
        assert client.ask('POST', PATH, body).status_int == 201
        with app.service.read() as connection:
            generations = connection.scalars(sa.select(tables.capacity_reservations.c.generation)).all()
        assert all(each >= first + 1 for each in generations)
    last = {'instance_uuids': [instance(998), instance(999)], 'node_uuid': [nodes['a'][-1], nodes['b'][-1]]}
    assert client.ask('POST', PATH, last).status_int == 409
    assert (figures(client, 'a'), figures(client, 'b')) == ((0, 1, 0, 1), (0, 1, 0, 1))


def test_two_that_do_not_overlap(client):
    """A claim beside one of them has nothing to do with the other."""
    nodes = promise_two(client, 2)
    for number, node in enumerate([nodes['a'][0], nodes['b'][0]]):
        assert claim(client, number, node, 'x').status_int == 204
    for number, node in enumerate([nodes['a'][1], nodes['b'][1]], 2):
        assert claim(client, number, node, 'x').status_int == 409


BAD = {
    'no name': {'name': None},
    'a slash in the name': {'name': 'a/b'},
    'spaces around the project': {'project': 'p '},
    'a control character in the project': {'project': 'p\x00p'},
    'a uuid as name': {'name': 'b3a5b7f1-0000-4000-8000-000000000000'},
    'no project': {'project': None},
    'no count': {'count': None},
    'none': {'count': 0},
    'a part': {'count': 1.5},
    'yes': {'count': True},
    'text': {'count': '1'},
    'a list': {'count': [1]},
    'too many': {'count': 10**6},
    'the past': {'expires_at': '2020-01-01T00:00:00+00:00'},
    'another topology': {'topology': [{'key': 'properties/rack', 'policy': 'anti-affinity'}]},
    'a conductor': {'conductor': 'host'},
    'no trait': {'required': ['NO_SUCH']},
    'an unknown key': {'from': '2100-01-01T00:00:00+00:00'},
}


@pytest.mark.parametrize('what', BAD)
def test_bad_requests(client, what):
    """Each is refused with 400."""
    golden(client)
    body = {'name': 'a', 'project': 'p', 'count': 1, **BAD[what]}
    assert client.ask('POST', CAPACITY, body).status_int == 400
    assert client.get(CAPACITY) == {'capacity_reservations': []}


def test_names(client):
    """A name is unique. It, and the uuid, find the capacity reservation."""
    for _ in range(3):
        golden(client)
    uuid = promise(client, 'a', 1).json['uuid']
    # Whether or not there are enough nodes for another one.
    for count in (1, 3):
        refused = promise(client, 'a', count)
        assert (refused.status_int, refused.json['code']) == (409, 'baremetal.record.duplicate')
        assert 'A capacity reservation with name a already exists.' in refused.text
        assert promise(client, 'b', count, expires_at='2020-01-01T00:00:00+00:00').status_int == 400
    assert take(client, 9, capacity_reservation='').status_int == 400
    for ident in (uuid, uuid.upper(), uuid.replace('-', '')):
        assert client.get(f'{CAPACITY}/{ident}') == client.get(f'{CAPACITY}/a')
        held = take(client, 9, capacity_reservation=ident)
        assert client.ask('DELETE', f'{PATH}/{held.json["reservation"]["uuid"]}').status_int == 204
    assert client.ask('GET', f'{CAPACITY}/b').status_int == 404
    assert client.ask('DELETE', f'{CAPACITY}/b').status_int == 404
    assert take(client, 1, capacity_reservation='b').status_int == 404


def test_a_creation_locks_nodes_that_it_is_about(client):
    """They do not get another time of their last update. Those of other promises are not in the change feed."""
    golden(client)
    tin = available_of(client, 'tin')
    before = client.get('/v1/nodes/detail')
    assert promise(client, 'a', 1).status_int == 201
    token = client.get('/v1/changes')['token']
    assert promise(client, 'b', 1, resource_class='tin').status_int == 201
    assert client.get('/v1/nodes/detail') == before
    assert [each['uuid'] for each in client.get(f'/v1/changes?since={token}')['changes']] == [tin]


def test_a_claim_reads_the_promises_again_if_one_is_new(app, client):
    """The process has read that there are none, and another one creates the first one."""
    golden(client)
    promise(client, 'a', 1)
    app.service.has_promises = False
    assert take(client, 1).status_int == 409
    app.service.has_promises = False
    held = take(client, 1, capacity_reservation='a')
    assert held.status_int == 201
    client.ask('DELETE', f'{PATH}/{held.json["reservation"]["uuid"]}')
    with app.service.write() as connection:
        connection.execute(sa.delete(tables.capacity_reservations))
    assert take(client, 1).status_int == 201


@pytest.mark.parametrize('kind', ['instance_uuid', 'deploy without an instance', 'Placement'])
def test_a_claim_of_a_node_reads_the_promises_if_one_is_new(app, client, kind):
    """The process has read that there are none, and another one creates the first one."""
    node = golden(client)
    promise(client, 'a', 1)
    app.service.has_promises = False
    assert CLAIMS[kind](client, 1, node).status_int == 409


def test_free_nodes_behind_the_last_one_that_is_promised(client):
    """They can be far behind it."""
    add_trait(client, golden(client), 'CUSTOM_X')
    nodes = [golden(client) for _ in range(20)]
    promise(client, 'a', 1, required=['CUSTOM_X'])
    assert [claim(client, number, node, 'x').status_int for number, node in enumerate(nodes)] == [204] * 20
    assert figures(client, 'a') == (0, 1, 0, 1)


def test_a_free_node_behind_many_that_are_promised(client):
    """A search goes beyond the nodes that it reads first."""
    for _ in range(promised := 40):
        add_trait(client, golden(client), 'CUSTOM_X')
    plain = golden(client)
    assert promise(client, 'a', promised, required=['CUSTOM_X']).status_int == 201
    assert take(client, 1).json['reservation']['node_uuid'] == plain
