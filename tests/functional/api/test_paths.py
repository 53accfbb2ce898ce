"""Paths as Ironic 39 accepts them: without a version, and with ``.json`` at the end."""

import urllib.parse

import pytest

from ironic_traits.api.description.operations import operations
from ironic_traits.inventory.mirrored import mirror_clouds
from tests.support.client import Client
from tests.support.service import make_app

UUID = '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a001'
INSTANCE = '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a002'
#: The last version in which ``.json`` at the end of a path is a suffix.
SUFFIX = '1.90'


@pytest.fixture
def paths(client):
    """{name of the path parameter: its value}, for one record of each noun."""
    client.node(uuid=UUID, name='one')
    client.ask('PUT', '/v1/nodes/one/traits/CUSTOM_A')
    mirror_clouds.take(client.app.service, mirror_clouds.Turn('berlin', 'a', 60), 'mirror1')
    bodies = {
        'chassis': {},
        'ports': {'address': 'aa:bb:cc:00:00:02'},
        'portgroups': {'name': 'bond0'},
        'volume/connectors': {'type': 'iqn', 'connector_id': 'a'},
        'volume/targets': {'volume_type': 'iscsi', 'boot_index': 0, 'volume_id': 'a'},
        'runbooks': {'name': 'CUSTOM_A', 'steps': [{'interface': 'bios', 'step': 'reset', 'args': {}, 'order': 0}]},
        'deploy_templates': {
            'name': 'CUSTOM_A',
            'steps': [{'interface': 'bios', 'step': 'reset', 'args': {}, 'priority': 1}],
        },
        'inspection_rules': {'name': 'gold', 'actions': [{'op': 'add-trait', 'args': {'name': 'CUSTOM_A'}}]},
    }
    uuids = {}
    for noun, body in bodies.items():
        node = {} if noun in ('chassis', 'runbooks', 'deploy_templates', 'inspection_rules') else {'node_uuid': UUID}
        uuids[noun] = client.ask('POST', f'/v1/{noun}', body | node).json['uuid']
    return {
        'chassis_uuid': uuids['chassis'],
        'node_ident': 'one',
        'port_ident': uuids['ports'],
        'portgroup_ident': 'bond0',
        'connector_uuid': uuids['volume/connectors'],
        'target_uuid': uuids['volume/targets'],
        'driver_name': 'fake-hardware',
        'reservation_uuid': INSTANCE,
        'capacity_reservation_ident': 'spring',
        'allocation_ident': INSTANCE,
        'runbook_ident': uuids['runbooks'],
        'template_ident': uuids['deploy_templates'],
        'rule_ident': 'gold',
        'hostname': 'none',
        'mirror': 'berlin',
        'event_uuid': client.get('/v1/nodes/one/history')['history'][0]['uuid'],
        'setting': 'boot',
        'indicator': 'led@system',
        'indicator_name': 'led',
        'trait': 'CUSTOM_A',
    }


def reads():
    """Return all GET routes of the Bare Metal API except the root."""
    return [route for route in operations() if route.method == 'GET' and route.path.startswith('/v1')]


@pytest.mark.parametrize('version', ['1.1', SUFFIX, '1.115'])
def test_every_path_of_a_read_has_the_same_response(client, paths, version):
    for route in reads():
        path = route.path.format(**paths)
        response = client.ask('GET', path, version=version)
        if path != '/v1':
            short = client.ask('GET', path.removeprefix('/v1'), version=version)
            assert (short.status_int, short.text) == (response.status_int, response.text), path
        suffixed = client.ask('GET', f'{path}.json', version=version)
        if version == '1.115':
            # Here the suffix is part of the name or of the trait.
            # As pecan does, a resource without GET refuses what is not below it with 405.
            is_noun = '/management/' in route.path and not route.path.endswith('}')
            expected = (405,) if is_noun else (400, 404)
            assert suffixed.status_int in expected, path
            continue
        assert suffixed.status_int == response.status_int, path
        if response.status_int == 200:
            assert suffixed.json == response.json


def test_bookmark_links_work(client, paths):
    for path in ('/v1/nodes/one', f'/v1/ports/{paths["port_ident"]}', f'/v1/volume/targets/{paths["target_uuid"]}'):
        links = {link['rel']: link['href'] for link in client.get(path)['links']}
        assert '/v1/' not in links['bookmark']
        assert client.get(urllib.parse.urlsplit(links['bookmark']).path) == client.get(path)


def test_a_write_without_a_version_in_its_path(client):
    response = client.ask('POST', '/nodes', {'driver': 'fake-hardware', 'name': 'one'})
    assert response.status_int == 201
    assert '/v1/nodes/' in response.headers['Location']
    assert client.ask('PUT', '/nodes/one/traits/CUSTOM_A.json', version=SUFFIX).status_int == 204
    assert client.get('/v1/nodes/one/traits') == {'traits': ['CUSTOM_A']}
    assert client.ask('DELETE', '/nodes/one').status_int == 204


def test_names_that_end_in_json(client):
    """The suffix is dropped only if no node has the full name."""
    for name in ('my', 'my.json', 'other'):
        client.node(name=name)
    for path, name in (('my', 'my'), ('my.json', 'my.json'), ('my.json.json', 'my.json'), ('other.json', 'other')):
        assert client.get(f'/v1/nodes/{path}', version=SUFFIX)['name'] == name
    assert client.ask('GET', '/v1/nodes/none.json', version=SUFFIX).status_int == 404
    assert client.get('/v1/nodes/my.json', version='1.91')['name'] == 'my.json'
    assert client.ask('GET', '/v1/nodes/other.json', version='1.91').status_int == 404
    # In the middle of a path, ``.json`` is part of the name.
    assert client.ask('GET', '/v1/nodes/my.json/traits').status_int == 200
    assert client.ask('GET', '/v1/nodes/other.json/traits').status_int == 404


def test_writes_by_names_that_end_in_json(client):
    for name in ('my', 'my.json', 'other'):
        client.node(name=name)
    patch = [{'op': 'add', 'path': '/extra/a', 'value': 1}]
    assert client.ask('PATCH', '/v1/nodes/my.json', patch, version=SUFFIX).json['name'] == 'my.json'
    assert client.ask('PATCH', '/v1/nodes/other.json', patch, version=SUFFIX).json['name'] == 'other'
    assert client.get('/v1/nodes/my?fields=extra') == {'extra': {}}
    # If a write to the node with the full name is refused, it is not tried on the other node.
    refused = [{'op': 'add', 'path': '/name', 'value': 'other'}]
    assert client.ask('PATCH', '/v1/nodes/my.json', refused, version=SUFFIX).status_int == 409
    assert client.get('/v1/nodes/my')['name'] == 'my'


def test_a_deletion_that_is_sent_twice(client):
    uuids = {name: client.node(name=name)['uuid'] for name in ('my', 'my.json')}
    for status in (204, 404):
        assert client.ask('DELETE', '/v1/nodes/my.json', version=SUFFIX).status_int == status
    assert [node['name'] for node in client.get('/v1/nodes?fields=name')['nodes']] == ['my']
    assert client.ask('DELETE', f'/v1/nodes/{uuids["my"]}.json', version=SUFFIX).status_int == 204


def test_a_vif_may_have_any_name(client):
    client.node(name='one')
    for vif in (INSTANCE, 'right.json'):
        client.ask('POST', '/v1/nodes/one/vifs', {'id': vif})
    for vif in ('right.json', f'{INSTANCE}.json'):
        assert client.ask('DELETE', f'/v1/nodes/one/vifs/{vif}', version=SUFFIX).status_int == 204
    assert client.get('/v1/nodes/one/vifs') == {'vifs': []}


@pytest.mark.parametrize('path', ['/nothing', '/v2/nodes', '/v1/v1/nodes', '/v1v1/nodes', '/.json', '/v1/nodes/.json'])
def test_unknown_paths(client, path):
    assert client.ask('GET', path).status_int == 404


def test_placement_has_its_own_paths(app, client, database_url):
    assert client.placement('GET', '/traits').status_int == 200
    for path in ('/traits.json', '.json'):
        assert client.placement('GET', path).status_int == 404
    assert client.ask('GET', '/usages').status_int == 404
    with make_app(database_url, api__serve='placement') as alone:
        client = Client(alone)
        assert client.ask('GET', '/traits', version=None).status_int == 404
        headers = {'OpenStack-API-Version': 'placement 1.39'}
        assert client.ask('GET', '/traits', version=None, headers=headers).status_int == 200
        for path in ('/nodes', '/v1/nodes', '/v1/traits', '/traits.json'):
            assert client.ask('GET', path, version=None, headers=headers).status_int == 404
