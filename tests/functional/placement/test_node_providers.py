"""Nodes as resource providers: /placement after each change of a node, on each database."""

import contextlib
import datetime
import random
import uuid

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.holds import reservations
from tests.support.providers import GOLD, free, golden, moves, patch, provider, provision, put_traits
from tests.support.reservations import PATH, expire, instance, reserve
from tests.support.trait_edits import edit


@pytest.fixture
def node(client):
    """An available node of class gold."""
    return golden(client)


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
def test_node_without_a_power_state(app, client, node, power_state):
    """A node without a power state can be neither reserved nor allocated."""
    with app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).values(power_state=power_state))
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


def test_traits_of_the_provider_and_of_the_node(client, node):
    """The traits that nova sets stay when the node's change. A trait of both belongs to the node."""
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


def test_traits_of_other_providers(client, node):
    """Reads and writes of a provider's traits neither show nor change those of others."""
    first, last = golden(client), golden(client)
    for other in (first, last):
        client.ask('PUT', f'/v1/nodes/{other}/traits', {'traits': ['CUSTOM_B', 'HW_CPU_X86_VMX']})
        put_traits(client, other, ['COMPUTE_NODE', 'COMPUTE_TRUSTED_CERTS'])
    theirs = ['COMPUTE_NODE', 'COMPUTE_TRUSTED_CERTS', 'CUSTOM_B', 'HW_CPU_X86_VMX']
    with moves(client, first, 0, traits=theirs), moves(client, last, 0, traits=theirs):
        with moves(client, node, 1, traits=['COMPUTE_NODE', 'HW_CPU_X86_VMX']):
            mine = put_traits(client, node, ['COMPUTE_NODE', 'HW_CPU_X86_VMX'])
            assert mine == ['COMPUTE_NODE', 'HW_CPU_X86_VMX']
        with moves(client, node, 1, traits=['HW_CPU_X86_VMX']):
            put_traits(client, node, ['HW_CPU_X86_VMX'])


def test_a_trait_that_becomes_the_own_one_of_a_node(client, node):
    """It does not become that of another node, whose provider has it, too."""
    other = golden(client)
    for each in (node, other):
        put_traits(client, each, ['COMPUTE_NODE', 'HW_CPU_X86_VMX'])
    path = f'/v1/nodes/{node}/traits/HW_CPU_X86_VMX'
    with moves(client, other, 0, traits=['COMPUTE_NODE', 'HW_CPU_X86_VMX']):
        with moves(client, node, 0, traits=['COMPUTE_NODE', 'HW_CPU_X86_VMX']):
            client.ask('PUT', path)
        with moves(client, node, 1, traits=['COMPUTE_NODE']):
            client.ask('DELETE', path)


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
    """A deploy increments the generation once, whether or not the node already has the instance."""
    held = reserve(client, 1, [node]).json['reservation']['uuid']
    if beforehand:
        patch(client, node, {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    with moves(client, node, 1, reserved={GOLD: 1}, used={GOLD: 0}):
        provision(client, app, node, 'active', **({} if beforehand else {'reservation_uuid': held}))


def test_a_class_with_the_same_name_in_placement(client, node):
    """The provider does not change."""
    with moves(client, node, 0, used={GOLD: 0}):
        patch(client, node, {'op': 'add', 'path': '/resource_class', 'value': 'Gold'})


def test_the_time_of_the_last_change(app, client):
    """Each write that changes providers changes their times, and those of no others."""
    nodes = [golden(client) for _ in range(5)]
    for node in nodes[:2]:
        with touches(app, client, [node]):
            client.ask('PUT', f'/v1/nodes/{node}/traits/CUSTOM_A')
    with touches(app, client, nodes[:2]):
        edit(client, add=['CUSTOM_B'], where={'traits': ['CUSTOM_A']})
    with touches(app, client, nodes[2:3]):
        assert reserve(client, 1, nodes[2:3], expires_in=60).status_int == 201
    body = {'instance_uuids': [instance(2), instance(3)], 'node_uuid': nodes[3:], 'expires_in': 60}
    with touches(app, client, nodes[3:]):
        assert client.ask('POST', PATH, body).status_int == 201
    expire(app)
    with touches(app, client, nodes[2:]):
        assert reservations.purge(app.service) == 3
    with touches(app, client, []):
        assert client.ask('DELETE', f'/v1/nodes/{nodes.pop()}').status_int == 204


@contextlib.contextmanager
def touches(app, client, nodes):
    """Assert that the block changes the time of the last change of the providers of these nodes, and of no others."""
    past = datetime.datetime.fromisoformat('2026-01-01')
    with app.service.write() as connection:
        connection.execute(sa.update(tables.resource_providers).values(updated_at=past))
    yield
    listed = client.placement('GET', '/resource_providers').json['resource_providers']
    responses = {each['uuid']: client.placement('GET', f'/resource_providers/{each["uuid"]}') for each in listed}
    times = {each: response.last_modified.replace(tzinfo=None) for each, response in responses.items()}
    assert {each for each, moment in times.items() if moment > past} == set(nodes)


def test_change_of_the_resource_class(app, client, node):
    with moves(client, node, 1, used={'CUSTOM_SILVER_2': 0}):
        patch(client, node, {'op': 'add', 'path': '/resource_class', 'value': 'silver 2'})
    refused = [{'op': 'add', 'path': '/resource_class', 'value': 'gold'}]
    held = reserve(client, 1, [node]).json['reservation']['uuid']
    response = client.ask('PATCH', f'/v1/nodes/{node}', refused)
    assert (response.status_int, response.json['code']) == (409, 'baremetal.node.reserved')
    client.ask('DELETE', f'/v1/reservations/{held}')
    patch(client, node, {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    response = client.ask('PATCH', f'/v1/nodes/{node}', refused)
    assert (response.status_int, response.json['code']) == (409, 'baremetal.node.associated')
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


def test_existing_provider(client):
    """A provider that nova has created becomes the node's provider, and keeps nova's traits."""
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


def test_conflicting_provider(client):
    """A provider conflicts with a node if its name is the node's uuid, or it is part of a tree."""
    node, parent = str(uuid.uuid4()), str(uuid.uuid4())
    fields = {'driver': 'fake-hardware', 'uuid': node, 'resource_class': 'gold'}
    client.placement('POST', '/resource_providers', {'name': node, 'uuid': parent})
    response = client.ask('POST', '/v1/nodes', fields)
    assert (response.status_int, response.json['code']) == (409, 'baremetal.node.provider_taken')
    client.placement('PUT', f'/resource_providers/{parent}', {'name': 'parent'})
    client.placement('POST', '/resource_providers', {'name': 'x', 'uuid': node, 'parent_provider_uuid': parent})
    assert client.ask('POST', '/v1/nodes', fields).status_int == 409
    assert client.ask('GET', f'/v1/nodes/{node}').status_int == 404


def test_nodes_from_placement_pass_the_deploy_check(app, client):
    """A node that Placement returns for required traits can be deployed with the same traits."""
    chosen = random.Random(1)
    names = ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C', 'HW_CPU_X86_VMX']
    for _ in range(40):
        node = golden(client)
        client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': chosen.sample(names, chosen.randrange(5))})
        if chosen.random() < 0.5:
            put_traits(client, node, ['COMPUTE_NODE'])
    for required, forbidden in (['CUSTOM_A'], ['CUSTOM_B']), (['CUSTOM_A', 'HW_CPU_X86_VMX'], ['CUSTOM_C']):
        candidates = free(client, ','.join([*required, *(f'!{name}' for name in forbidden)]))
        assert candidates
        for node in candidates:
            patch(client, node, {'op': 'add', 'path': '/instance_info/traits', 'value': required})
            provision(client, app, node, 'active')
            assert client.get(f'/v1/nodes/{node}')['provision_state'] == 'active'
