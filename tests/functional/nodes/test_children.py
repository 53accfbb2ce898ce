"""Children of nodes: in lists, in policy, in Placement, and in inventory files."""

import json

import pytest
import sqlalchemy as sa
import yaml

from ironic_traits.db import tables
from tests.support.client import message
from tests.support.inventory_files import manage
from tests.support.personas import NODE
from tests.support.reservations import available, instance, reserve
from tests.support.service import finish_work, upgraded

REFUSED = "Unable to apply the requested parent_node '{}'. Requested value was invalid."


@pytest.fixture
def parent(client):
    """The uuid of an available node of the class "gold". Its child of the same class is available, too."""
    uuid, child = available(client, name='server'), available(client, name='dpu')
    of_class = [{'op': 'add', 'path': '/resource_class', 'value': 'gold'}]
    assert client.ask('PATCH', f'/v1/nodes/{uuid}', of_class).status_int == 200
    patch = [*of_class, {'op': 'add', 'path': '/parent_node', 'value': 'server'}]
    assert client.ask('PATCH', f'/v1/nodes/{child}', patch).json['parent_node'] == uuid
    return uuid


def names(response):
    """Return the names of the nodes in a response."""
    return [node['name'] for node in response.json['nodes']]


def test_matches_leave_children_out(client, parent):
    request = {'resource_class': 'gold', 'explain': True}
    response = client.ask('POST', '/v1/matches', request)
    assert names(response) == ['server']
    assert response.json['explanation']['considered'] == 1
    assert names(client.ask('POST', '/v1/matches', request | {'include_children': True})) == ['server', 'dpu']
    assert names(client.ask('POST', '/v1/matches', request | {'include_children': False})) == ['server']
    response = client.ask('POST', '/v1/matches', request | {'parent_node': parent})
    assert names(response) == ['dpu']
    assert response.json['explanation']['considered'] == 2
    refused = client.ask('POST', '/v1/matches', {'include_children': True}, version='1.82')
    assert refused.status_int == 406


def test_reservations_leave_children_out(client, parent):
    request = {'instance_uuids': [instance(1), instance(2)], 'resource_class': 'gold'}
    refused = client.ask('POST', '/v1/reservations', request)
    assert refused.status_int == 409
    assert client.ask('POST', '/v1/reservations', request | {'include_children': True}).status_int == 201


def test_a_child_that_is_named_is_reserved(client, parent):
    assert reserve(client, 1, ['dpu']).status_int == 201
    assert names(client.ask('GET', '/v1/nodes?reserved=true&include_children=true&fields=name')) == ['dpu']


def test_allocations_leave_children_out(client, parent):
    states = []
    for _ in range(2):
        allocation = client.ask('POST', '/v1/allocations', {'resource_class': 'gold'}).json
        states.append((allocation['state'], allocation['node_uuid']))
    assert states == [('active', parent), ('error', None)]


def test_placement_does_not_schedule_to_children(client, parent):
    uuid = client.get('/v1/nodes/dpu')['uuid']

    def reserved_units(provider):
        inventories = client.placement('GET', f'/resource_providers/{provider}/inventories').json['inventories']
        return inventories['CUSTOM_GOLD']['reserved']

    def providers():
        candidates = client.placement('GET', '/allocation_candidates?resources=CUSTOM_GOLD:1').json
        return set(candidates['provider_summaries'])

    def generation():
        return client.placement('GET', f'/resource_providers/{uuid}').json['generation']

    assert (reserved_units(parent), reserved_units(uuid)) == (0, 1)
    assert providers() == {parent}
    consumer = {
        'allocations': {uuid: {'resources': {'CUSTOM_GOLD': 1}}},
        **{'project_id': 'p', 'user_id': 'u', 'consumer_generation': None, 'consumer_type': 'INSTANCE'},
    }
    assert client.placement('PUT', f'/allocations/{instance(1)}', consumer).status_int == 409
    before = generation()
    client.ask('PATCH', '/v1/nodes/dpu', [{'op': 'add', 'path': '/description', 'value': 'x'}])
    assert generation() == before
    client.ask('PATCH', '/v1/nodes/dpu', [{'op': 'remove', 'path': '/parent_node'}])
    assert generation() == before + 1
    assert reserved_units(uuid) == 0
    assert providers() == {parent, uuid}
    client.ask('PATCH', '/v1/nodes/dpu', [{'op': 'add', 'path': '/parent_node', 'value': 'server'}])
    assert generation() == before + 2


def test_a_child_is_deployed_on_its_own(app, client, parent):
    assert client.ask('PUT', '/v1/nodes/dpu/states/provision', {'target': 'active'}).status_int == 202
    finish_work(app)
    assert client.get('/v1/nodes/dpu/states')['provision_state'] == 'active'
    assert client.get('/v1/nodes/server/states')['provision_state'] == 'available'
    assert client.ask('DELETE', '/v1/nodes/server').status_int == 204
    assert client.get('/v1/nodes/dpu')['parent_node'] == parent


def test_power_off_stays_disabled_in_provisioning(app, client):
    """A node with ``disable_power_off`` stays on after undeploy and cleaning."""
    uuid = available(client)
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/disable_power_off', 'value': True}])
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/instance_name', 'value': 'web1'}])
    for verb, state in (('active', 'active'), ('deleted', 'available')):
        assert client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': verb}).status_int == 202
        finish_work(app)
        node = client.get(f'/v1/nodes/{uuid}')
        assert (node['provision_state'], node['power_state']) == (state, 'power on')
        assert node['instance_name'] == ('web1' if verb == 'active' else None)


def test_a_step_that_powers_off(app, client):
    """The step fails on a node with ``disable_power_off``."""
    uuid = client.node(disable_power_off=True)['uuid']
    client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'manage'})
    finish_work(app)
    steps = [{'interface': 'power', 'step': 'power_off'}]
    request = {'target': 'clean', 'clean_steps': steps}
    assert client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', request).status_int == 202
    finish_work(app)
    node = client.get(f'/v1/nodes/{uuid}')
    assert node['provision_state'] == 'clean failed'
    assert 'Failed to set node power state to power off.' in node['last_error']


def test_a_node_from_before_firmware_interfaces(app, client):
    """A node without a firmware interface gets the default with its next change, in any state."""
    uuid = available(client)
    with app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).values(firmware_interface=None, provision_state='active'))
    assert client.get(f'/v1/nodes/{uuid}')['firmware_interface'] is None
    response = client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/extra/a', 'value': 1}])
    assert response.json['firmware_interface'] == 'fake'
    refused = client.ask(
        'PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/firmware_interface', 'value': 'no-firmware'}]
    )
    assert refused.status_int == 409


def test_files_have_children(client, app, tmp_path, new_database, parent):
    """An export has children, and an import creates parents first, in any order of the file."""
    client.ask('PATCH', '/v1/nodes/dpu', [{'op': 'add', 'path': '/disable_power_off', 'value': True}])
    part = {'name': 'part', 'driver': 'fake-hardware', 'parent_node': 'dpu', 'instance_name': 'x'}
    client.node(**part)
    url = app.service.database.url.render_as_string(hide_password=False)
    document = yaml.safe_load(manage(url, 'export', '-'))
    assert [node['name'] for node in document['nodes']] == ['server', 'dpu', 'part']
    document['nodes'].reverse()
    document['nodes'][1]['parent_node'] = 'server'
    file = tmp_path / 'inventory.json'
    file.write_text(json.dumps(document))
    other = upgraded(new_database())
    assert 'nodes: 3 created' in manage(other, 'import', str(file))
    again = yaml.safe_load(manage(other, 'export', '-'))
    fields = ('name', 'parent_node', 'disable_power_off', 'instance_name')
    assert {tuple(node[name] for name in fields) for node in again['nodes']} == {
        ('server', None, False, None),
        ('dpu', parent, True, None),
        ('part', again['nodes'][1]['uuid'], False, 'x'),
    }
    assert 'nodes: 3 same' in manage(other, 'import', str(file))


def test_children_of_children_of_themselves_in_a_file(tmp_path, new_database):
    """A file with a circle of parents is refused, without an endless loop."""
    nodes = [
        {'name': name, 'driver': 'fake-hardware', 'parent_node': parent}
        for name, parent in (('a', 'b'), ('b', 'c'), ('c', 'a'), ('d', 'd'))
    ]
    file = tmp_path / 'inventory.json'
    file.write_text(json.dumps({'nodes': nodes}))
    assert "Unable to apply the requested parent_node 'b'" in manage(
        upgraded(new_database()), 'import', str(file), code=1
    )


def test_a_parent_must_be_visible_and_of_the_same_owner(ask):
    """All refusals have the same message, which does not disclose whether the node exists."""
    own = {'driver': 'fake-hardware', 'parent_node': NODE}
    assert ask('owner_admin', 'POST /v1/nodes', own).json['parent_node'] == NODE
    for persona in ('stranger_admin', 'lessee_admin'):
        response = ask(persona, 'POST /v1/nodes', own)
        assert (response.status_int, message(response)) == (400, REFUSED.format(NODE)), persona
    missing = {'driver': 'fake-hardware', 'parent_node': 'nothing'}
    assert message(ask('stranger_admin', 'POST /v1/nodes', missing)) == REFUSED.format('nothing')


@pytest.mark.parametrize(
    ('persona', 'field', 'status'),
    [
        ('system_admin', 'parent_node', 200),
        ('system_member', 'parent_node', 200),
        ('owner_admin', 'parent_node', 403),
        ('lessee_admin', 'parent_node', 403),
        ('system_admin', 'disable_power_off', 200),
        ('system_member', 'disable_power_off', 403),
        ('owner_admin', 'disable_power_off', 403),
        ('owner_member', 'instance_name', 200),
        ('lessee_admin', 'instance_name', 200),
        ('lessee_member', 'instance_name', 403),
    ],
)
def test_who_changes_the_fields(ask, persona, field, status):
    patch = [{'op': 'remove', 'path': f'/{field}'}]
    assert ask(persona, 'PATCH /v1/nodes/{node_ident}', patch).status_int == status


def test_children_of_other_projects_are_not_listed(ask):
    assert ask('owner_admin', 'POST /v1/nodes', {'driver': 'fake-hardware', 'parent_node': NODE}).status_int == 201
    counts = {
        persona: len(ask(persona, 'GET /v1/nodes/{node_ident}/children').json['children'])
        for persona in ('system_reader', 'owner_reader', 'lessee_reader')
    }
    assert counts == {'system_reader': 1, 'owner_reader': 1, 'lessee_reader': 0}
