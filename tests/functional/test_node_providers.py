"""Nodes as resource providers: what /placement shows right after each change of a node, on each database."""

import contextlib
import datetime
import random
import uuid

import hypothesis
import pytest
import sqlalchemy as sa
from hypothesis import stateful
from hypothesis import strategies as st

from ironic_traits.db import migrations
from ironic_traits.db.engine import Database
from ironic_traits.db.models import node_traits, nodes, traits
from ironic_traits.placement import standard
from tests.client import Client
from tests.conftest import empty
from tests.functional.test_races import at_once, clients  # noqa: F401 (a fixture)
from tests.functional.test_reservations import available, expire, instance, reserve
from tests.service import finish_work, make_app, make_conf

GOLD = 'CUSTOM_GOLD'


@pytest.fixture
def node(client):
    """An available node of class gold."""
    return golden(client)


def golden(client, **fields):
    """Make an available node of class gold and give its uuid."""
    node = available(client, **fields)
    patch(client, node, {'op': 'add', 'path': '/resource_class', 'value': 'gold'})
    return node


def provider(client, node):
    """Give all that is shown of a node's provider: its generation, and what it should move with."""
    path = f'/resource_providers/{node}'
    shown = client.placement('GET', path)
    if shown.status_int == 404:
        return None, None
    parts = {part: client.placement('GET', f'{path}/{part}').json for part in ('inventories', 'traits', 'usages')}
    generations = {document.pop('resource_provider_generation') for document in parts.values()}
    assert generations == {shown.json['generation']}
    return shown.json['generation'], parts


@contextlib.contextmanager
def moves(client, node, by, **parts):
    """See that a provider's generation moves by so much, and that it then shows these parts."""
    before, _ = provider(client, node)
    yield
    after, shown = provider(client, node)
    assert after - before == by
    for name, expected in parts.items():
        key = {'reserved': 'inventories', 'used': 'usages'}.get(name, name)
        document = shown[key][key]
        if name == 'reserved':
            assert {class_: inventory['reserved'] for class_, inventory in document.items()} == expected
        else:
            assert document == expected


def patch(client, node, *operations):
    answer = client.ask('PATCH', f'/v1/nodes/{node}', list(operations))
    assert answer.status_int == 200, answer.text


def provision(client, app, node, target, **more):
    answer = client.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': target, **more})
    assert answer.status_int == 202, answer.text
    finish_work(app)


def free(client, required=''):
    """List the nodes that one unit of gold could be had of."""
    query = f'/resource_providers?resources={GOLD}:1' + (f'&required={required}' if required else '')
    answer = client.placement('GET', query)
    assert answer.status_int == 200, answer.text
    return [row['uuid'] for row in answer.json['resource_providers']]


def test_from_enroll_to_active_and_back(app, client):
    node = client.node(resource_class='gold')['uuid']
    with moves(client, node, 0, reserved={GOLD: 1}, used={GOLD: 0}):
        provision(client, app, node, 'manage')
    with moves(client, node, 1, reserved={GOLD: 0}):
        provision(client, app, node, 'provide')
    assert free(client) == [node]
    with moves(client, node, 1, reserved={GOLD: 1}, used={GOLD: 0}):
        provision(client, app, node, 'active')
    assert free(client) == []
    with moves(client, node, 1, reserved={GOLD: 0}):
        provision(client, app, node, 'deleted')
    assert free(client) == [node]


def test_maintenance_and_instances(client, node):
    for operations in (
        ({'op': 'add', 'path': '/maintenance', 'value': True}, {'op': 'add', 'path': '/maintenance', 'value': False}),
        ({'op': 'add', 'path': '/instance_uuid', 'value': instance(1)}, {'op': 'remove', 'path': '/instance_uuid'}),
    ):
        with moves(client, node, 1, reserved={GOLD: 1}):
            patch(client, node, operations[0])
        assert free(client) == []
        with moves(client, node, 0):
            patch(client, node, operations[0])
        with moves(client, node, 1, reserved={GOLD: 0}):
            patch(client, node, operations[1])
        assert free(client) == [node]
    path = f'/v1/nodes/{node}/maintenance'
    with moves(client, node, 1, reserved={GOLD: 1}):
        client.ask('PUT', path)
    with moves(client, node, 1, reserved={GOLD: 0}):
        client.ask('DELETE', path)
    with moves(client, node, 0):
        patch(client, node, {'op': 'add', 'path': '/extra/rack', 'value': 1})


@pytest.mark.parametrize('power_state', [None, 'error'])
def test_a_power_state_that_is_none(app, client, node, power_state):
    """Nobody may have such a node, by any door."""
    with app.service.write() as connection:
        connection.execute(sa.update(nodes).values(power_state=power_state))
    assert provider(client, node)[1]['inventories']['inventories'][GOLD]['reserved'] == 1
    assert free(client) == []
    assert reserve(client, 1, [node]).json['reasons'][0]['reason'] == 'power state'


def test_traits(client, node):
    path = f'/v1/nodes/{node}/traits'
    with moves(client, node, 1, traits=['CUSTOM_A', 'CUSTOM_B']):
        client.ask('PUT', path, {'traits': ['CUSTOM_A', 'CUSTOM_B']})
    with moves(client, node, 0):
        client.ask('PUT', path, {'traits': ['CUSTOM_B', 'CUSTOM_A']})
        client.ask('PUT', f'{path}/CUSTOM_A')
    with moves(client, node, 1, traits=['CUSTOM_B']):
        client.ask('DELETE', f'{path}/CUSTOM_A')
    with moves(client, node, 1, traits=['CUSTOM_B', 'HW_CPU_X86_VMX']):
        client.ask('PUT', f'{path}/HW_CPU_X86_VMX')
    with moves(client, node, 1, traits=[]):
        client.ask('DELETE', path)
    with moves(client, node, 0):
        client.ask('DELETE', path)


def put_traits(client, node, names):
    """Give a node's provider traits, as nova does."""
    generation, _ = provider(client, node)
    body = {'traits': names, 'resource_provider_generation': generation}
    answer = client.placement('PUT', f'/resource_providers/{node}/traits', body)
    assert answer.status_int == 200, answer.text
    return answer.json['traits']


def test_traits_of_others(client, node):
    """nova's stay when the node's change; what becomes the node's own is the node's."""
    path = f'/v1/nodes/{node}/traits'
    client.ask('PUT', path, {'traits': ['CUSTOM_A']})
    with moves(client, node, 1, traits=['COMPUTE_NODE', 'CUSTOM_A', 'HW_CPU_X86_VMX']):
        assert put_traits(client, node, ['COMPUTE_NODE', 'HW_CPU_X86_VMX']) == [
            'COMPUTE_NODE', 'CUSTOM_A', 'HW_CPU_X86_VMX',
        ]  # fmt: skip
    with moves(client, node, 1, traits=['COMPUTE_NODE', 'HW_CPU_X86_VMX']):
        client.ask('DELETE', path)
    with moves(client, node, 0):
        client.ask('PUT', f'{path}/HW_CPU_X86_VMX')
    with moves(client, node, 1, traits=['COMPUTE_NODE']):
        client.ask('DELETE', f'{path}/HW_CPU_X86_VMX')
    assert client.get(path) == {'traits': []}
    with moves(client, node, 1, traits=[]):
        client.placement('DELETE', f'/resource_providers/{node}/traits')


def test_reservations(app, client, node):
    with moves(client, node, 1, reserved={GOLD: 0}, used={GOLD: 1}):
        held = reserve(client, 1, [node], expires_in=60).json['reservation']['uuid']
    assert free(client) == []
    with moves(client, node, 0):
        reserve(client, 1, [node])
        client.ask('PATCH', f'/v1/reservations/{held}', {'expires_in': 90})
    with moves(client, node, 1, used={GOLD: 0}):
        client.ask('DELETE', f'/v1/reservations/{held}')
    assert free(client) == [node]
    reserve(client, 2, [node], expires_in=60)
    expire(app)
    assert provider(client, node)[1]['usages'] == {'usages': {GOLD: 0}}
    assert free(client) == [node]


@pytest.mark.parametrize('beforehand', [True, False])
def test_a_deploy_of_a_reserved_node(app, client, node, beforehand):
    """One move, whether the instance stood there before or comes with the reservation."""
    held = reserve(client, 1, [node]).json['reservation']['uuid']
    if beforehand:
        patch(client, node, {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    with moves(client, node, 1, reserved={GOLD: 1}, used={GOLD: 0}):
        provision(client, app, node, 'active', **({} if beforehand else {'reservation_uuid': held}))


def test_another_class(app, client, node):
    with moves(client, node, 1, used={'CUSTOM_SILVER_2': 0}):
        patch(client, node, {'op': 'add', 'path': '/resource_class', 'value': 'silver 2'})
    refused = [{'op': 'add', 'path': '/resource_class', 'value': 'gold'}]
    held = reserve(client, 1, [node]).json['reservation']['uuid']
    answer = client.ask('PATCH', f'/v1/nodes/{node}', refused)
    assert (answer.status_int, answer.json['code']) == (409, 'baremetal.node.reserved')
    client.ask('DELETE', f'/v1/reservations/{held}')
    patch(client, node, {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    answer = client.ask('PATCH', f'/v1/nodes/{node}', refused)
    assert (answer.status_int, answer.json['code']) == (409, 'baremetal.node.associated')
    patch(client, node, {'op': 'remove', 'path': '/instance_uuid'})
    patch(client, node, *refused)
    patch(client, node, {'op': 'remove', 'path': '/resource_class'})
    assert provider(client, node) == (None, None)
    assert client.ask('DELETE', f'/v1/nodes/{node}').status_int == 204


def test_a_deleted_node(client, node):
    client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': ['CUSTOM_A']})
    put_traits(client, node, ['COMPUTE_NODE'])
    assert client.ask('DELETE', f'/v1/nodes/{node}').status_int == 204
    assert provider(client, node) == (None, None)
    assert client.placement('DELETE', '/traits/CUSTOM_A').status_int == 204


def test_a_provider_that_was_there_before(client):
    """nova made it while the node was not here yet: it is the node's from now on, and what nova gave it stays."""
    node = str(uuid.uuid4())
    client.placement('POST', '/resource_providers', {'name': 'of nova', 'uuid': node})
    for name in ('CUSTOM_X', 'CUSTOM_Y'):
        client.placement('PUT', f'/traits/{name}')
    body = {'traits': ['CUSTOM_X', 'COMPUTE_NODE'], 'resource_provider_generation': 0}
    client.placement('PUT', f'/resource_providers/{node}/traits', body)
    body = {'resource_class': 'VCPU', 'total': 4}
    assert client.placement('POST', f'/resource_providers/{node}/inventories', body).status_int == 201
    assert golden(client, uuid=node) == node
    generation, shown = provider(client, node)
    assert generation == 3
    assert shown['traits']['traits'] == ['COMPUTE_NODE']
    assert list(shown['inventories']['inventories']) == [GOLD]
    assert client.placement('GET', f'/resource_providers/{node}').json['name'] == node


def test_a_provider_that_is_in_the_way(client):
    """It has the node's uuid for a name, or a place in a tree."""
    node, parent = str(uuid.uuid4()), str(uuid.uuid4())
    fields = {'driver': 'fake-hardware', 'uuid': node, 'resource_class': 'gold'}
    client.placement('POST', '/resource_providers', {'name': node, 'uuid': parent})
    answer = client.ask('POST', '/v1/nodes', fields)
    assert (answer.status_int, answer.json['code']) == (409, 'baremetal.node.provider_taken')
    client.placement('PUT', f'/resource_providers/{parent}', {'name': 'parent'})
    client.placement('POST', '/resource_providers', {'name': 'x', 'uuid': node, 'parent_provider_uuid': parent})
    assert client.ask('POST', '/v1/nodes', fields).status_int == 409
    assert client.ask('GET', f'/v1/nodes/{node}').status_int == 404


def allocate(client, number, node, used=1, version='1.28'):
    """Ask for a node for a consumer, as nova does, whatever the consumer has; give the answer."""
    uuid = instance(number)
    known = client.placement('GET', f'/allocations/{uuid}', version='1.28').json
    body = {
        'allocations': {node: {'resources': {GOLD: used}}} if used else {},
        'project_id': 'project',
        'user_id': 'user',
        'consumer_generation': known.get('consumer_generation'),
    }
    return client.placement('PUT', f'/allocations/{uuid}', body, version)


def test_allocations(app, client, node):
    """An allocation and a reservation exclude each other, but for one and the same instance."""
    with moves(client, node, 1, used={GOLD: 1}, reserved={GOLD: 0}):
        assert allocate(client, 1, node).status_int == 204
    assert free(client) == []
    assert client.get('/v1/nodes?eligible=true')['nodes'] == []
    refused = allocate(client, 2, node)
    assert refused.status_int == 409
    assert 'would exceed the capacity' in refused.json['errors'][0]['detail']
    answer = reserve(client, 2, [node])
    assert [reason['reason'] for reason in answer.json['reasons']] == ['allocated']
    for number, status in (2, 409), (1, 200):
        operation = {'op': 'add', 'path': '/instance_uuid', 'value': instance(number)}
        assert client.ask('PATCH', f'/v1/nodes/{node}', [operation]).status_int == status
    patch(client, node, {'op': 'remove', 'path': '/instance_uuid'})
    with moves(client, node, 0):
        assert allocate(client, 1, node).status_int == 204
        assert reserve(client, 1, [node]).status_int == 201
    assert allocate(client, 2, node).status_int == 409
    with moves(client, node, 0):
        client.ask('DELETE', f'/v1/reservations/{client.get("/v1/reservations")["reservations"][0]["uuid"]}')
    with moves(client, node, 1, used={GOLD: 0}):
        assert client.placement('DELETE', f'/allocations/{instance(1)}').status_int == 204
    assert free(client) == [node]


def test_an_allocation_of_a_reserved_node(app, client, node):
    """Nobody's but the reservation's own instance's."""
    reserve(client, 1, [node], expires_in=60)
    assert allocate(client, 2, node).status_int == 409
    with moves(client, node, 0, used={GOLD: 1}):
        assert allocate(client, 1, node).status_int == 204
    with moves(client, node, 1, used={GOLD: 0}):
        client.ask('DELETE', f'/v1/reservations/{client.get("/v1/reservations")["reservations"][0]["uuid"]}')
        assert allocate(client, 1, node, used=0).status_int == 204
    reserve(client, 1, [node], expires_in=60)
    expire(app)
    assert allocate(client, 2, node).status_int == 204


def test_an_allocated_node_stays_what_it_is(client, node):
    assert allocate(client, 1, node).status_int == 204
    reclass = [{'op': 'add', 'path': '/resource_class', 'value': 'silver'}]
    for method, path, body in (
        ('DELETE', '', None),
        ('PATCH', '', reclass),
        ('PATCH', '', [{'op': 'remove', 'path': '/resource_class'}]),
        ('PUT', '/states/provision', {'target': 'active'}),
    ):
        answer = client.ask(method, f'/v1/nodes/{node}{path}', body)
        assert (answer.status_int, answer.json['code']) == (409, 'baremetal.node.allocated'), method


def test_nobody_takes_over_a_deployed_node(app, client, node):
    """Not even in one request with who lets it go: the node is its instance's."""
    assert allocate(client, 1, node).status_int == 204
    patch(client, node, {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    provision(client, app, node, 'active')
    owner = {'project_id': 'project', 'user_id': 'user', 'consumer_type': 'INSTANCE'}
    body = {
        instance(1): {'allocations': {}, 'consumer_generation': 1, **owner},
        instance(2): {'allocations': {node: {'resources': {GOLD: 1}}}, 'consumer_generation': None, **owner},
    }
    assert client.placement('POST', '/allocations', body).status_int == 409
    reshape = {
        'inventories': {node: {'resource_provider_generation': provider(client, node)[0], 'inventories': {}}},
        'allocations': body,
    }
    assert client.placement('POST', '/reshaper', reshape).status_int == 409
    assert list(client.placement('GET', f'/resource_providers/{node}/allocations').json['allocations']) == [instance(1)]


def test_as_nova_does(app, client, node):
    """Candidates, a claim, the instance, the deploy; the same claim again when the node is deployed; and back."""
    found = client.placement('GET', f'/allocation_candidates?resources={GOLD}:1&limit=5').json
    (candidate,) = found['allocation_requests']
    assert list(candidate['allocations']) == [node]
    assert found['provider_summaries'][node]['resources'] == {GOLD: {'capacity': 1, 'used': 0}}
    assert allocate(client, 1, node).status_int == 204
    assert client.placement('GET', f'/allocation_candidates?resources={GOLD}:1').json['allocation_requests'] == []
    patch(client, node, {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    provision(client, app, node, 'active')
    assert allocate(client, 1, node).status_int == 204
    provision(client, app, node, 'deleted')
    assert free(client) == []
    assert client.placement('DELETE', f'/allocations/{instance(1)}').status_int == 204
    assert free(client) == [node]


def test_a_consumer_moves(client):
    """From one node to another in one request, and both generations move."""
    first, second = golden(client), golden(client)
    allocate(client, 1, first)
    with moves(client, first, 1, used={GOLD: 0}), moves(client, second, 1, used={GOLD: 1}):
        assert allocate(client, 1, second).status_int == 204


def test_a_reshape_leaves_a_node_alone(client, node):
    """Its inventory is derived; what is allocated moves all the same."""
    generation, _ = provider(client, node)
    body = {
        'inventories': {
            node: {'resource_provider_generation': generation, 'inventories': {'VCPU': {'total': 8}}},
        },
        'allocations': {
            instance(1): {
                'allocations': {node: {'resources': {GOLD: 1}}},
                'project_id': 'project',
                'user_id': 'user',
                'consumer_generation': None,
                'consumer_type': 'INSTANCE',
            }
        },
    }
    with moves(client, node, 1, used={GOLD: 1}, reserved={GOLD: 0}):
        assert client.placement('POST', '/reshaper', body).status_int == 204


def test_a_provider_that_is_taken_from(client):
    """Somebody has something of it: it cannot become a node's."""
    node = str(uuid.uuid4())
    client.placement('POST', '/resource_providers', {'name': 'of nova', 'uuid': node})
    client.placement('PUT', f'/resource_classes/{GOLD}')
    client.placement('POST', f'/resource_providers/{node}/inventories', {'resource_class': GOLD, 'total': 2})
    assert allocate(client, 1, node).status_int == 204
    answer = client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', 'uuid': node, 'resource_class': 'gold'})
    assert (answer.status_int, answer.json['code']) == (409, 'baremetal.node.provider_taken')


def test_what_schedules_also_deploys(app, client):
    """A node that Placement finds by traits passes the deploy's own check of the same traits."""
    chosen = random.Random(1)
    names = ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C', 'HW_CPU_X86_VMX']
    for _ in range(40):
        node = golden(client)
        client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': chosen.sample(names, chosen.randrange(5))})
        if chosen.random() < 0.5:
            put_traits(client, node, ['COMPUTE_NODE'])
    for required, forbidden in (['CUSTOM_A'], ['CUSTOM_B']), (['CUSTOM_A', 'HW_CPU_X86_VMX'], ['CUSTOM_C']):
        found = free(client, ','.join([*required, *(f'!{name}' for name in forbidden)]))
        assert found
        for node in found:
            patch(client, node, {'op': 'add', 'path': '/instance_info/traits', 'value': required})
            provision(client, app, node, 'active')
            assert client.get(f'/v1/nodes/{node}')['provision_state'] == 'active'


def test_nodes_that_were_there_before(new_database):
    """The migration makes providers of them, and traits of what they have."""
    database = Database(make_conf(new_database()))
    migrations.upgrade(database, '0004')
    documents = ('properties', 'driver_info', 'driver_internal_info', 'instance_info', 'extra', 'clean_step')
    fixed = {
        **{'driver': 'fake-hardware', 'maintenance': False, 'console_enabled': False, 'provision_state': 'available'},
        **dict.fromkeys((*documents, 'raid_config', 'target_raid_config'), '{}'),
        'power_state': 'power off',
        'created_at': datetime.datetime.fromisoformat('2026-01-01'),
    }
    classes = ['gold', 'Gold!', None, 'silver', '']
    with database.write() as connection:
        old = sa.MetaData()
        old.reflect(connection)
        rows = [
            fixed | {'id': i + 1, 'uuid': f'aaaaaaaa-0000-4000-8000-{i:012}', 'resource_class': class_}
            for i, class_ in enumerate(classes)
        ]
        connection.execute(sa.insert(old.tables['nodes']), rows)
        carried = [(1, 'CUSTOM_A'), (1, 'HW_CPU_X86_VMX'), (3, 'CUSTOM_A'), (4, 'GONE_FROM_OS_TRAITS')]
        connection.execute(sa.insert(old.tables['node_traits']).values(carried))
    migrations.upgrade(database)
    database.close()
    with make_app(database.url.render_as_string(hide_password=False)) as app:
        client = Client(app)
        shown = [provider(client, row['uuid'])[1] for row in rows]
        assert [part and list(part['usages']['usages']) for part in shown] == [
            ['CUSTOM_GOLD'], ['CUSTOM_GOLD_'], None, ['CUSTOM_SILVER'], None,
        ]  # fmt: skip
        assert shown[0]['traits']['traits'] == ['CUSTOM_A', 'HW_CPU_X86_VMX']
        assert shown[0]['inventories']['inventories']['CUSTOM_GOLD']['reserved'] == 0
        assert shown[3]['traits']['traits'] == ['GONE_FROM_OS_TRAITS']
        assert client.get('/v1/nodes/' + rows[2]['uuid'] + '/traits') == {'traits': ['CUSTOM_A']}
        with app.service.read() as connection:
            assert connection.scalar(sa.select(sa.func.count()).select_from(node_traits)) == len(carried)


def test_a_standard_trait_before_a_sync(app, client, node):
    """os-traits is newer than the table: a node's use of the name adds it, and a sync adds the others, once."""
    with app.service.write() as connection:
        standard_names = traits.c.name.in_(['HW_CPU_X86_VMX', 'HW_CPU_X86_AVX'])
        assert connection.execute(sa.delete(traits).where(standard_names)).rowcount == 2
    assert client.placement('GET', '/traits/HW_CPU_X86_VMX').status_int == 404
    client.ask('PUT', f'/v1/nodes/{node}/traits/HW_CPU_X86_VMX')
    assert client.placement('GET', '/traits/HW_CPU_X86_VMX').status_int == 204
    assert standard.sync(app.service) == 1
    assert standard.sync(app.service) == 0
    assert client.placement('GET', '/traits/HW_CPU_X86_AVX').status_int == 204


def test_a_sync_takes_nothing_away(app, client, caplog):
    with app.service.write() as connection:
        moment = datetime.datetime.fromisoformat('2026-01-01')
        connection.execute(sa.insert(traits).values(name='GONE_FROM_OS_TRAITS', created_at=moment))
    assert standard.sync(app.service) == 0
    assert 'GONE_FROM_OS_TRAITS' in caplog.text
    with app.service.write() as connection:
        assert connection.execute(sa.delete(traits).where(traits.c.name == 'GONE_FROM_OS_TRAITS')).rowcount == 1


def test_syncs_at_once(app, clients):  # noqa: F811
    with app.service.write() as connection:
        connection.execute(sa.delete(traits))
    inserted = at_once(clients[:8], lambda client, number: standard.sync(client.app.service))
    with app.service.read() as connection:
        assert sum(inserted) == connection.scalar(sa.select(sa.func.count()).select_from(traits))


def test_one_writer_wins_each_generation(clients):  # noqa: F811
    """16 at once write a provider's traits: one of them for each generation, the others learn that they lost."""
    made = clients[0].placement('POST', '/resource_providers', {'name': 'contended'}).json
    path = f'/resource_providers/{made["uuid"]}/traits'
    for number in range(16):
        clients[0].placement('PUT', f'/traits/CUSTOM_{number}')
    for generation in range(5):

        def write(client, number, generation=generation):
            names = [f'CUSTOM_{number}', f'CUSTOM_{(number + generation + 1) % 16}']
            return client.placement('PUT', path, {'traits': names, 'resource_provider_generation': generation})

        answers = at_once(clients, write)
        assert sorted(answer.status_int for answer in answers) == [200] + [409] * 15
        assert {a.json['errors'][0]['code'] for a in answers if a.status_int == 409} == {'placement.concurrent_update'}
        (won,) = [answer.json for answer in answers if answer.status_int == 200]
        assert won == clients[0].placement('GET', path).json
        assert won['resource_provider_generation'] == generation + 1


def test_a_node_and_its_provider_are_written_at_once(clients):  # noqa: F811
    """The node's traits, and those that others give it: nothing of either is lost, and no 5xx."""
    node = golden(clients[0])

    def write(client, number):
        if number % 2:
            return client.ask('PUT', f'/v1/nodes/{node}/traits/CUSTOM_{number}').status_int
        names = ['COMPUTE_NODE', 'OWNER_NOVA', 'HW_CPU_X86_VMX'][: number % 3 + 1]
        generation, _ = client.placement('GET', f'/resource_providers/{node}').json['generation'], None
        body = {'traits': names, 'resource_provider_generation': generation}
        return client.placement('PUT', f'/resource_providers/{node}/traits', body).status_int

    statuses = at_once(clients, write)
    assert set(statuses) <= {200, 204, 409}
    own = clients[0].get(f'/v1/nodes/{node}/traits')['traits']
    assert own == sorted(f'CUSTOM_{number}' for number in range(1, 16, 2))
    assert set(own) <= set(provider(clients[0], node)[1]['traits']['traits'])


def test_a_trait_is_deleted_while_it_is_given(clients):  # noqa: F811
    """Either the trait is there with all who have it, or it is gone and nobody has it."""
    node = golden(clients[0])
    for _ in range(5):
        clients[0].placement('PUT', '/traits/CUSTOM_FLEETING')
        clients[0].ask('DELETE', f'/v1/nodes/{node}/traits')

        def work(client, number):
            if number % 2:
                return client.placement('DELETE', '/traits/CUSTOM_FLEETING').status_int
            return client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': ['CUSTOM_FLEETING']}).status_int

        statuses = at_once(clients, work)
        assert set(statuses[::2]) == {200}
        assert set(statuses[1::2]) <= {204, 404, 409}
        assert clients[0].get(f'/v1/nodes/{node}/traits') == {'traits': ['CUSTOM_FLEETING']}
        assert clients[0].placement('GET', '/traits/CUSTOM_FLEETING').status_int == 204


def test_trees_are_moved_at_once(clients):  # noqa: F811
    """Each below the other: one of the two moves is refused, and no circle comes to be."""
    for round_ in range(5):
        made = [clients[0].placement('POST', '/resource_providers', {'name': f'{round_}-{i}'}).json for i in range(4)]
        uuids = [each['uuid'] for each in made]

        def move(client, number, uuids=uuids, round_=round_):
            child, parent = number % 4, (number + 1) % 4
            body = {'name': f'{round_}-{child}', 'parent_provider_uuid': uuids[parent]}
            return client.placement('PUT', f'/resource_providers/{uuids[child]}', body).status_int

        assert set(at_once(clients, move)) <= {200, 400, 409}
        shown = [clients[0].placement('GET', f'/resource_providers/{each}').json for each in uuids]
        above = {each['uuid']: each['parent_provider_uuid'] for each in shown}
        for each in shown:
            root, steps = each['uuid'], 0
            while above[root]:
                root, steps = above[root], steps + 1
                assert steps < 4
            assert each['root_provider_uuid'] == root


TRAITS = ['CUSTOM_A', 'CUSTOM_B', 'COMPUTE_NODE', 'HW_CPU_X86_VMX']


class Following(stateful.RuleBasedStateMachine):
    """Whatever happens to a node: its generation as a provider moves exactly when something of it shows otherwise.

    :cvar app: the application.
    """

    app = None

    def __init__(self):
        super().__init__()
        self.client = Client(self.app)
        self.node = golden(self.client)
        self.own, self.foreign = set(), set()
        self.seen = provider(self.client, self.node)

    def ask(self, method, path, document=None):
        return self.client.ask(method, f'/v1/nodes/{self.node}{path}', document)

    @stateful.rule(names=st.sets(st.sampled_from(TRAITS)))
    def own_traits(self, names):
        assert self.ask('PUT', '/traits', {'traits': sorted(names)}).status_int == 200
        self.own = names
        self.foreign -= names

    @stateful.rule(names=st.sets(st.sampled_from(TRAITS)))
    def traits_of_others(self, names):
        known = {'CUSTOM_A', 'CUSTOM_B'} & names
        for name in known:
            self.client.placement('PUT', f'/traits/{name}')
        put_traits(self.client, self.node, sorted(names))
        self.foreign = {name for name in names - self.own if not name.startswith('CUSTOM_')}

    @stateful.rule(number=st.integers(0, 1))
    def hold(self, number):
        reserve(self.client, number, [self.node])

    @stateful.rule()
    def let_go(self):
        for held in self.client.get('/v1/reservations')['reservations']:
            self.client.ask('DELETE', f'/v1/reservations/{held["uuid"]}')

    @stateful.rule(verb=st.sampled_from(['active', 'deleted', 'manage', 'provide', 'rebuild']), use=st.booleans())
    def provision(self, verb, use):
        held = self.client.get('/v1/reservations')['reservations']
        body = {'target': verb} | ({'reservation_uuid': held[0]['uuid']} if held and use else {})
        self.ask('PUT', '/states/provision', body)
        self.look()
        finish_work(self.app)

    @stateful.rule(number=st.integers(0, 1), used=st.integers(0, 1))
    def allocate(self, number, used):
        class_ = next(iter(self.seen[1]['inventories']['inventories']))
        if class_ == GOLD:
            allocate(self.client, number, self.node, used)

    @stateful.rule(maintenance=st.booleans())
    def maintain(self, maintenance):
        self.ask('PUT' if maintenance else 'DELETE', '/maintenance')

    @stateful.rule(number=st.one_of(st.none(), st.integers(0, 1)))
    def instance(self, number):
        value = {'op': 'add', 'value': instance(number)} if number is not None else {'op': 'remove'}
        self.ask('PATCH', '', [{'path': '/instance_uuid', **value}])

    @stateful.rule(name=st.sampled_from(['gold', 'silver', 'Silver']))
    def reclass(self, name):
        self.ask('PATCH', '', [{'op': 'add', 'path': '/resource_class', 'value': name}])

    @stateful.invariant()
    def look(self):
        before, self.seen = self.seen, provider(self.client, self.node)
        assert self.seen[1]['traits']['traits'] == sorted(self.own | self.foreign)
        if before[1] == self.seen[1]:
            # A deploy, and its work, may change something and change it back, each in its own transaction.
            assert self.seen[0] == before[0]
        else:
            assert self.seen[0] == before[0] + 1

    def teardown(self):
        url = self.app.service.database.url.render_as_string(hide_password=False)
        empty(url)


def test_generations_move_when_they_must(app):
    """The model above."""

    class OnThisDatabase(Following):
        pass

    OnThisDatabase.app = app
    settings = hypothesis.settings(max_examples=15, stateful_step_count=25, deadline=None, derandomize=True)
    stateful.run_state_machine_as_test(OnThisDatabase, settings=settings)
