"""Ironic's allocations: how they begin, hold a node and end, on each database."""

import pytest
import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.db import tables
from ironic_traits.inventory.holds import allocate as allocating
from tests.support.allocations import PATH, REMOVE, events, failed, holder, request, shown, states
from tests.support.client import Client, message
from tests.support.personas import NODE
from tests.support.promises import add_trait, promise
from tests.support.providers import GOLD, allocate, free, golden, moves, patch, provision
from tests.support.reservations import expire, instance, reserve
from tests.support.service import finish_work, make_app, upgraded


@pytest.fixture
def node(client):
    """An available node of class gold."""
    return golden(client, name='rack1-1')


def test_own_nodes_beside_clouds_with_claims(app, client, node):
    """The node is held here only. The response has it, although it is read after the claims of clouds."""
    app.service.conf.set_override('claims', 'instance_uuid', group='mirror')
    allocation = request(client, name='one')
    assert (allocation['state'], allocation['node_uuid']) == ('active', node)
    assert client.get(f'{PATH}/one') == allocation


def test_active_at_once(client, node):
    """The response has the node. The node has the instance and its traits, and no other request can take it."""
    client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': ['CUSTOM_A', 'CUSTOM_B']})
    with moves(client, node, 1, reserved={GOLD: 1}):
        allocation = request(client, name='one', traits=['CUSTOM_B', 'CUSTOM_A'], extra={'a': 1})
    uuid = allocation['uuid']
    assert (allocation['state'], allocation['node_uuid'], allocation['last_error']) == ('active', node, None)
    assert (allocation['traits'], allocation['candidate_nodes']) == (['CUSTOM_B', 'CUSTOM_A'], [])
    assert client.get(f'{PATH}/one') == client.get(f'{PATH}/{uuid}') == allocation
    assert client.get(f'/v1/nodes/{node}/allocation') == client.get('/v1/nodes/rack1-1/allocation') == allocation
    assert holder(client, node) == [uuid, uuid]
    assert shown(client, node, 'instance_info') == {'traits': ['CUSTOM_B', 'CUSTOM_A']}
    assert free(client) == []
    assert client.get('/v1/nodes?eligible=true')['nodes'] == []
    assert reserve(client, 1, [node]).json['reasons'][0]['reason'] == 'instance'
    assert reserve_uuid(client, uuid, node).json['code'] == 'baremetal.instance.on_node'
    add = {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)}
    assert client.ask('PATCH', f'/v1/nodes/{node}', [add]).status_int == 409
    assert allocate(client, 1, node).status_int == 409
    assert failed(client) == (
        'No node matches (0 of 1 node); 1 is needed. "has no instance" rules out 1 node; it is the only reason. '
        'Without "has no instance", 1 node would match.'
    )


def reserve_uuid(client, uuid, node):
    """Request a reservation for an instance."""
    return client.ask('POST', '/v1/reservations', {'instance_uuid': uuid, 'node_uuid': node})


def test_reasons(client, node):
    """``last_error`` has the same reasons as the 409 of a reservation."""
    assert failed(client, resource_class='tin') == (
        'No node matches (0 of 1 node); 1 is needed. "is of the class tin" rules out 1 node; it is the only reason. '
        'Without "is of the class tin", 1 node would match.'
    )
    # The class has Ironic's name here, not Placement's.
    assert '"is of the class CUSTOM_GOLD" rules out 1 node' in failed(client, resource_class='CUSTOM_GOLD')
    assert '"has the trait CUSTOM_A" rules out 1 node' in failed(client, traits=['CUSTOM_A'])
    assert '"project is other" rules out 1 node' in failed(client, owner='other')
    client.ask('PUT', f'/v1/nodes/{node}/maintenance')
    assert failed(client, candidate_nodes=['rack1-1']) == (
        f'None of the nodes can be reserved: 1 in maintenance. {node}: It is in maintenance.'
    )
    client.ask('DELETE', f'/v1/nodes/{node}/maintenance')
    assert len(client.get(f'{PATH}?state=error')['allocations']) == 5
    for allocation in client.get(PATH)['allocations']:
        assert client.ask('DELETE', f'{PATH}/{allocation["uuid"]}').status_int == 204
    assert events(client, node) == []


@pytest.mark.parametrize('path', ['allocation', 'node'])
def test_deleted(client, node, path):
    """A deleted allocation leaves the node free, without its traits."""
    patch(client, node, {'op': 'add', 'path': '/instance_info/image_source', 'value': 'http://image'})
    uuid = request(client)['uuid']
    assert shown(client, node, 'instance_info') == {'image_source': 'http://image', 'traits': []}
    paths = {'allocation': f'{PATH}/{uuid}', 'node': f'/v1/nodes/{node}/allocation'}
    with moves(client, node, 1, reserved={GOLD: 0}):
        assert client.ask('DELETE', paths[path]).status_int == 204
    assert holder(client, node) == [None, None]
    assert shown(client, node, 'instance_info') == {'image_source': 'http://image'}
    assert client.ask('DELETE', paths[path]).status_int == 404
    assert events(client, node) == [f'Allocation {uuid} holds the node.', f'Allocation {uuid} was deleted.']
    assert free(client) == [node]
    assert request(client)['node_uuid'] == node


def test_a_deploy_and_an_undeploy(app, client, node):
    """The allocation stays while the node is active, and ends with undeploy."""
    uuid = request(client, name='one')['uuid']
    response = client.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': 'active'})
    assert response.status_int == 202, response.text
    for path in f'{PATH}/one', f'/v1/nodes/{node}/allocation':
        assert client.ask('DELETE', path).json['code'] == 'baremetal.node.locked'
    finish_work(app)
    for path in f'{PATH}/one', f'/v1/nodes/{node}/allocation':
        refused = client.ask('DELETE', path)
        assert (refused.status_int, message(refused)) == (
            409,
            f'Cannot remove allocation {uuid} for node {node}, because the node is active (and maintenance mode is '
            'off)',
        )
    refused = client.ask('PATCH', f'/v1/nodes/{node}', [REMOVE])
    assert (refused.status_int, message(refused)) == (
        409,
        f'Node {node} with an allocation can not have instance_uuid removed unless it is in one of allowed (enroll, '
        "inspecting, inspect wait, manageable, available) states or in maintenance mode. Current state is 'active'.",
    )
    assert holder(client, node) == [uuid, uuid]
    provision(client, app, node, 'deleted')
    assert holder(client, node) == [None, None]
    assert states(client, uuid, 'one') == [404, 404]
    assert shown(client, node, 'instance_info') == {}
    assert events(client, node)[-1] == f'Allocation {uuid} ended, because the node was undeployed.'
    assert request(client, name='one')['node_uuid'] == node


@pytest.mark.parametrize('way', ['allocation', 'instance'])
def test_an_active_node_in_maintenance_loses_its_allocation(app, client, node, way):
    uuid = request(client)['uuid']
    provision(client, app, node, 'active')
    client.ask('PUT', f'/v1/nodes/{node}/maintenance')
    if way == 'allocation':
        assert client.ask('DELETE', f'{PATH}/{uuid}').status_int == 204
    else:
        patch(client, node, REMOVE)
    assert holder(client, node) == [None, None]
    assert states(client, uuid) == [404]


def test_the_instance_is_removed(client, node):
    """Removing the instance ends the allocation, unless it is refused. Other fields of the PATCH are kept."""
    uuid = request(client)['uuid']
    with moves(client, node, 1, reserved={GOLD: 0}):
        patch(client, node, REMOVE, {'op': 'add', 'path': '/instance_info', 'value': {'a': 1}})
    assert holder(client, node) == [None, None]
    assert shown(client, node, 'instance_info') == {'a': 1}
    assert states(client, uuid) == [404]
    assert events(client, node)[-1] == (f'Allocation {uuid} ended, because its instance was removed from the node.')


def test_the_traits_that_stay(client, node):
    """An allocation that ends removes its own traits from ``instance_info``, but not what a client has written."""
    request(client)
    other = golden(client)
    client.ask('PUT', f'/v1/nodes/{other}/traits', {'traits': ['CUSTOM_A']})
    uuid = request(client, traits=['CUSTOM_A'])['uuid']
    assert client.ask('DELETE', f'{PATH}/{uuid}').status_int == 204
    assert shown(client, other, 'instance_info') == {}
    uuid = request(client, traits=['CUSTOM_A'])['uuid']
    patch(client, other, {'op': 'add', 'path': '/instance_info/traits', 'value': ['CUSTOM_B']})
    assert client.ask('DELETE', f'{PATH}/{uuid}').status_int == 204
    assert shown(client, other, 'instance_info') == {'traits': ['CUSTOM_B']}


def test_a_node_that_waits_keeps_its_allocation(app, client, node):
    """Also without a lock, for example while it waits for its deploy to go on."""
    uuid = request(client)['uuid']
    with app.service.write() as connection:
        waits = {'provision_state': 'wait call-back', 'target_provision_state': 'active'}
        connection.execute(sa.update(tables.nodes).values(waits))
    refused = client.ask('DELETE', f'{PATH}/{uuid}')
    assert (refused.status_int, message(refused)) == (
        409,
        f'Cannot remove allocation {uuid} for node {node}, because the node is in state wait call-back where updates '
        'are not allowed (and maintenance mode is off)',
    )
    with app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).values(provision_state='deploy failed'))
    assert client.ask('DELETE', f'{PATH}/{uuid}').status_int == 204


def test_the_node_is_deleted(client, node):
    uuid = request(client)['uuid']
    assert client.ask('DELETE', f'/v1/nodes/{node}').status_int == 409
    client.ask('PUT', f'/v1/nodes/{node}/maintenance')
    assert client.ask('DELETE', f'/v1/nodes/{node}').status_int == 204
    assert states(client, uuid) == [404]


def test_the_owner_of_an_allocated_node(client, node):
    """As in Ironic, the owner of the node cannot change if a project owns the allocation."""
    change = {'op': 'add', 'path': '/owner', 'value': 'two'}
    patch(client, node, {'op': 'add', 'path': '/owner', 'value': 'one'})
    request(client, owner='one', name='one')
    other = golden(client)
    request(client, candidate_nodes=[other])
    refused = client.ask('PATCH', f'/v1/nodes/{node}', [change])
    assert (refused.status_int, refused.json['code']) == (409, 'baremetal.node.invalid_state')
    patch(client, other, change)
    client.ask('DELETE', f'{PATH}/one')
    request(client)
    patch(client, node, change)


def test_the_node_of_its_name_comes_first(client):
    nodes = [golden(client, name=f'rack1-{number}') for number in range(4)]
    assert request(client, name='rack1-2')['node_uuid'] == nodes[2]
    assert request(client, name='rack1-3', candidate_nodes=['rack1-1', 'rack1-3'])['node_uuid'] == nodes[3]
    assert request(client, name='rack9-9', candidate_nodes=['rack1-1', 'rack1-0'])['node_uuid'] == nodes[1]


def test_candidates(client, node):
    """Candidates must exist, and are shown as uuids in the order of the request."""
    other = golden(client, name='rack1-2')
    allocation = request(client, candidate_nodes=['rack1-2', node, 'rack1-2'])
    assert allocation['candidate_nodes'] == [other, node, other]
    assert allocation['node_uuid'] == other
    refused = client.ask('POST', PATH, {'resource_class': 'gold', 'candidate_nodes': ['rack1-2', 'no', 'none', 'no']})
    assert (refused.status_int, message(refused)) == (400, 'Nodes cannot be found: no, none')


def test_without_a_name(client):
    """An allocation without a name does not prefer nodes without a name."""
    nodes = [golden(client, name='rack1-1'), golden(client)]
    assert request(client)['node_uuid'] == nodes[0]


def test_candidates_of_a_project(ask):
    """A project names the nodes that it owns or leases. Others do not exist for it."""
    ask.prepare('POST /v1/allocations')
    client = Client(ask.app)
    other = client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware'}, headers=ask.headers('system_admin'))
    for ident, found in (NODE, {'owner', 'lessee'}), (other.json['uuid'], set()):
        for whose in ('owner', 'lessee', 'stranger'):
            body = {'resource_class': 'none', 'candidate_nodes': [ident]}
            response = client.ask('POST', PATH, body, headers=ask.headers(f'{whose}_member'))
            assert response.status_int == (201 if whose in found else 400), whose


def test_the_first_candidates_that_cannot_be_held(client):
    """``last_error`` names five of them at most."""
    nodes = [client.node()['uuid'] for _ in range(6)]
    error = failed(client, candidate_nodes=nodes)
    assert [node in error for node in nodes] == [True] * 5 + [False]


def free_after_the_search(client, node, monkeypatch):
    """Set a node into maintenance until a search has failed."""
    client.ask('PUT', f'/v1/nodes/{node}/maintenance')

    def last_error(*arguments, original=allocating._last_error):
        client.ask('DELETE', f'/v1/nodes/{node}/maintenance')
        return original(*arguments)

    monkeypatch.setattr(allocating, '_last_error', last_error)


def test_a_node_becomes_free_after_the_search(app, client, node, monkeypatch):
    """The search is repeated if there is a node when its failure is to be stored. Other instances do not matter."""
    expired, reserved, used = (golden(client) for _ in range(3))
    assert reserve(client, 1, [expired], expires_in=100).status_int == 201
    expire(app)
    client.ask('PUT', f'/v1/nodes/{expired}/maintenance')
    assert reserve(client, 2, [reserved]).status_int == 201
    patch(client, used, {'op': 'add', 'path': '/instance_uuid', 'value': instance(3)})
    free_after_the_search(client, node, monkeypatch)
    assert request(client, uuid=instance(1))['node_uuid'] == node


def test_a_node_becomes_free_beside_a_promise(client, node, monkeypatch):
    """The estimate of the promises does not show that the node can be taken, but another search does."""
    promised = golden(client)
    add_trait(client, promised, 'CUSTOM_X')
    assert promise(client, 'a', 1, required=['CUSTOM_X']).status_int == 201
    client.ask('PUT', f'/v1/nodes/{promised}/maintenance')
    free_after_the_search(client, node, monkeypatch)
    assert request(client)['node_uuid'] == node


def test_a_failure_is_stored_after_one_search(client, node, monkeypatch):
    """There is no node, or the instance has one already, and nothing changes."""
    searches = []

    def search(*arguments, original=allocating.free_nodes.search, **options):
        searches.append(1)
        return original(*arguments, **options)

    monkeypatch.setattr(allocating.free_nodes, 'search', search)
    assert reserve(client, 1, [golden(client)]).status_int == 201
    assert 'already has a reservation' in failed(client, uuid=instance(1))
    client.ask('PUT', f'/v1/nodes/{node}/maintenance')
    assert '"is not in maintenance" rules out' in failed(client)
    # Reservations search with the same function.
    assert len(searches) == 3


def test_a_search_that_never_finds_the_node_ends(client, node, monkeypatch):
    """Ten searches are enough to believe that there is none."""
    searches = []

    def search(attempt, hold):
        searches.append(attempt)
        assert len(searches) <= 10
        raise failures.NothingToReserve(1, [])

    monkeypatch.setattr(allocating.free_nodes, 'search', search)
    assert 'None of the nodes can be reserved' in failed(client)
    assert len(searches) == 10


def test_names_and_uuids_are_unique(client, node):
    uuid = request(client, name='one')['uuid']
    for body, key in ({'name': 'one'}, 'name one'), ({'uuid': uuid}, f'UUID {uuid}'):
        refused = client.ask('POST', PATH, {'resource_class': 'gold', **body})
        assert (refused.status_int, message(refused)) == (409, f'An allocation with {key} already exists.')
    other = golden(client)
    for body in {'name': 'one'}, {'uuid': uuid}:
        request(client, 409, **body)
    assert holder(client, other) == [None, None]
    two = request(client, name='two')['uuid']
    change = [{'op': 'replace', 'path': '/name', 'value': 'one'}]
    refused = client.ask('PATCH', f'{PATH}/two', change)
    assert (refused.status_int, message(refused)) == (409, 'An allocation with name one already exists.')
    assert client.ask('PATCH', f'{PATH}/{two}', [{'op': 'remove', 'path': '/name'}]).json['name'] is None
    assert client.ask('PATCH', f'{PATH}/{two}', [{'op': 'add', 'path': '/extra', 'value': {'b': 2}}]).json['extra'] == {
        'b': 2
    }


def test_the_instance_is_held_already(client, node):
    """An allocation fails if its uuid is that of an instance with a node or a reservation."""
    other = golden(client)
    patch(client, node, {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    assert 'is already associated with a node' in failed(client, uuid=instance(1))
    patch(client, node, REMOVE)
    assert reserve(client, 2, [other]).status_int == 201
    assert f'already has a reservation of node {other}' in failed(client, uuid=instance(2))
    assert holder(client, node) == holder(client, other) == [None, None]
    # An allocation in the state "error" holds nothing, not even its uuid.
    patch(client, node, {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    assert client.ask('DELETE', f'{PATH}/{instance(1)}').status_int == 204
    assert holder(client, node) == [instance(1), None]


def test_a_reservation_that_has_expired(app, client, node):
    assert reserve(client, 1, [node], expires_in=100).status_int == 201
    assert '"is not reserved" rules out' in failed(client)
    expire(app)
    assert request(client, uuid=instance(1))['node_uuid'] == node


def test_a_consumer_of_placement(client, node):
    """A node that is allocated in Placement is only for that consumer."""
    other = golden(client)
    assert allocate(client, 1, other).status_int == 204
    assert request(client, uuid=instance(1))['node_uuid'] == other
    assert allocate(client, 2, node).status_int == 204
    assert '"is not allocated" rules out 2 nodes' in failed(client)


def test_the_row_of_an_allocation_that_an_earlier_release_left_behind(app, client, node):
    """A node that a worker of an older release has undeployed can be allocated again."""
    uuid = request(client, name='one')['uuid']
    with app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).values(instance_uuid=None))
    again = request(client)
    assert again['node_uuid'] == node
    assert states(client, uuid) == [404]
    with app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).values(instance_uuid=None))
    patch(client, node, {'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    assert holder(client, node) == [instance(1), None]
    assert states(client, again['uuid']) == [404]


def test_the_answer_of_ironic(tmp_path):
    """[api] allocations_answer = allocating: the response is that of Ironic, and the next one has the decision."""
    url = upgraded(f'sqlite:///{tmp_path}/allocating.sqlite')
    with make_app(url, api__allocations_answer='allocating') as app:
        client = Client(app)
        uuid = golden(client)
        for body, state, node in (
            ({'resource_class': 'gold'}, 'active', uuid),
            ({'resource_class': 'none'}, 'error', None),
        ):
            response = client.ask('POST', PATH, body)
            names = ('state', 'node_uuid', 'last_error', 'updated_at')
            assert [response.json[name] for name in names] == ['allocating', None, None, None]
            allocation = client.get(f'{PATH}/{response.json["uuid"]}')
            assert (allocation['state'], allocation['node_uuid']) == (state, node)
            assert allocation['updated_at'] is not None


def test_the_allocation_of_a_node_that_does_not_exist(client):
    response = client.ask('GET', '/v1/nodes/none/allocation')
    assert (response.status_int, message(response)) == (400, 'Node none could not be found.')
    assert client.ask('DELETE', '/v1/nodes/none/allocation').status_int == 404
