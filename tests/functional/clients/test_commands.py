"""The Python library and the commands of this service, against a running service."""

import pathlib
import sys

import openstack
import pytest
import yaml
from keystoneauth1 import noauth, session

from ironic_traits.client import Client, Failed
from tests.support.cli import BAREMETAL, OPENSTACK, rows, run
from tests.support.reservations import instance

BIN = pathlib.Path(sys.executable).parent


@pytest.mark.parametrize('prefix', [OPENSTACK, BAREMETAL], ids=['openstack', 'baremetal'])
def test_nodes_by_traits(server, prefix):
    """The formats, sorting and fields of the original command still work."""
    listed = (*prefix, 'node', 'list')
    assert run(server, *listed, '--trait', 'CUSTOM_A', 'CUSTOM_FAST', '-f', 'value', '-c', 'Name') == 'one\n'
    assert run(server, *listed, '--not-trait', 'CUSTOM_FAST', '-f', 'csv', '-c', 'name').split() == ['"name"', '"two"']
    matches = rows(server, *listed, '--trait-any', 'CUSTOM_FAST', 'CUSTOM_X', '--fields', 'name', 'traits')
    assert [node['name'] for node in matches] == ['one']
    both = run(server, *listed, '--not-trait-any', 'CUSTOM_X', '--sort', 'name:desc', '--limit', '0', '-f', 'yaml')
    assert both.index('name: two') < both.index('name: one')
    assert len(rows(server, *listed)) == 2
    assert "'x' cannot be a trait" in run(server, *listed, '--trait', 'x', code=1)


@pytest.mark.parametrize('prefix', [OPENSTACK, BAREMETAL], ids=['openstack', 'baremetal'])
def test_matches(server, prefix):
    match = (*prefix, 'match')
    matches = rows(server, *match, '--trait', 'CUSTOM_A', '--not-trait', 'CUSTOM_FAST')
    assert [(node['Name'], node['Traits']) for node in matches] == [('two', ['CUSTOM_A'])]
    options = (
        '--property',
        'trait:CUSTOM_A=required',
        '--trait-any',
        'CUSTOM_X',
        'CUSTOM_FAST',
        '--prefer',
        'CUSTOM_FAST',
    )
    assert [node['Name'] for node in rows(server, *match, *options)] == ['one']
    explanation = rows(server, *match, '--trait', 'CUSTOM_X', '--explain')
    assert {'Kind': 'rejected only', 'Clauses': ['required:CUSTOM_X'], 'Nodes': 2, 'Name': None} in explanation
    assert {'Kind': 'without', 'Clauses': ['required:CUSTOM_X'], 'Nodes': 2, 'Name': None} in explanation
    assert {row['Name'] for row in explanation if row['Kind'] == 'near miss'} == {'one', 'two'}
    assert 'is not a trait' in run(server, *match, '--trait', 'x', code=1)


def test_a_reservation_and_a_deploy(server):
    reservation = ('openstack', 'baremetal', 'reservation')
    held = rows(server, *reservation, 'create', instance(1), '--trait', 'CUSTOM_FAST', '--expires-in', '600')
    errors = run(server, *reservation, 'create', instance(2), '--node', 'one', code=1)
    assert 'None of the nodes can be reserved: 1 reserved.\none: It is reserved until' in errors
    assert 'Choose nodes with --node' in run(server, 'baremetal', 'reservation', 'create', instance(2), code=1)
    [listed] = rows(server, 'baremetal', 'reservation', 'list', '--instance', instance(1))
    assert (listed['UUID'], listed['Node UUID']) == (held['uuid'], held['node_uuid'])
    renewed = rows(server, *reservation, 'renew', held['uuid'], '--expires-in', '60')
    assert renewed['expires_at'] < held['expires_at']
    assert rows(server, 'baremetal', 'reservation', 'show', held['uuid']) == renewed
    run(server, 'openstack', 'baremetal', 'node', 'deploy', 'one', '--reservation', held['uuid'], '--wait')
    match = ('baremetal', 'match', '--instance', instance(1))
    assert [row['Satisfied'] for row in rows(server, *match, '--trait', 'CUSTOM_FAST')] == [True]
    options = ('--trait', 'CUSTOM_X', '--trait-any', 'CUSTOM_Y', 'CUSTOM_Z', '--not-trait', 'CUSTOM_A')
    assert rows(server, *match, *options) == [
        {
            'Resource Provider': held['node_uuid'],
            'Satisfied': False,
            'Missing': ['CUSTOM_X', 'CUSTOM_Y or CUSTOM_Z'],
            'Forbidden': ['CUSTOM_A'],
        }
    ]
    assert rows(server, 'baremetal', 'node', 'show', 'one')['instance_uuid'] == instance(1)
    assert rows(server, *reservation, 'list') == []
    run(server, 'baremetal', 'node', 'undeploy', 'one', '--wait')
    held = rows(server, 'baremetal', 'reservation', 'create', instance(2), '--node', 'two')
    assert f'Deleted reservation {held["uuid"]}' in run(server, *reservation, 'delete', held['uuid'])
    assert 'could not be found' in run(server, *reservation, 'delete', held['uuid'], code=1)


def test_history(server):
    """The history commands of python-ironicclient work."""
    run(server, 'baremetal', 'node', 'create', '--driver', 'fake-hardware', '--name', 'watched')
    run(server, 'baremetal', 'node', 'manage', 'watched', '--wait')
    run(server, 'baremetal', 'node', 'add', 'trait', 'watched', 'CUSTOM_A')
    listed = rows(server, 'baremetal', 'node', 'history', 'list', 'watched')
    assert [row['event'] for row in listed] == [
        'The node was created.',
        'Requested: manage. The provision state changed from "enroll" to "verifying".',
        'The provision state changed from "verifying" to "manageable". The power state changed to "power off".',
        'Source operator: added CUSTOM_A.',
    ]
    detailed = rows(server, 'baremetal', 'node', 'history', 'list', 'watched', '--long')
    assert [row['event_type'] for row in detailed] == ['node', 'provisioning', 'provisioning', 'trait']
    entry = rows(server, 'baremetal', 'node', 'history', 'get', 'watched', listed[2]['uuid'])
    assert (entry['event'], entry['event_type']) == (listed[2]['event'], 'provisioning')
    missing = 'aaaaaaaa-0000-4000-8000-000000000001'
    error = run(server, 'baremetal', 'node', 'history', 'get', 'watched', missing, code=1)
    assert f'Node history record {missing} could not be found.' in error
    run(server, 'baremetal', 'node', 'delete', 'watched')


def test_the_catalogue_of_traits(server):
    catalog, name = ('baremetal', 'trait', 'catalog'), 'CUSTOM_OLD'
    [fast] = rows(server, 'openstack', *catalog, '--starts-with', 'CUSTOM_F')
    assert (fast['Name'], fast['Nodes'], fast['Sources'], fast['Retired']) == ('CUSTOM_FAST', 1, {'operator': 1}, False)
    standard = rows(server, *catalog, '--standard', '--all')
    [shared] = [row for row in standard if row['Name'] == 'MISC_SHARES_VIA_AGGREGATE']
    assert shared['Description'].endswith('a shared storage pool.')
    assert {row['Name'] for row in rows(server, *catalog, '--standard', '--unused')} <= {r['Name'] for r in standard}
    change = ('baremetal', 'trait', 'set', name)
    assert "needs 'retired' to be true" in run(server, *change, '--replaced-by', 'CUSTOM_FAST', code=1)
    assert "at least one of 'description'" in run(server, *change, code=1)
    trait = rows(server, *change, '--description', 'Slow nodes', '--retire', '--replaced-by', 'CUSTOM_FAST')
    assert rows(server, 'openstack', 'baremetal', 'trait', 'show', name) == trait
    assert (trait['description'], trait['replaced_by'], trait['sources']) == ('Slow nodes', 'CUSTOM_FAST', {})
    assert [row['Replaced by'] for row in rows(server, *catalog, '--retired')] == ['CUSTOM_FAST']
    for client in clients(server):
        assert client.trait(name) == trait
        listed = [each['name'] for each in client.catalogue(custom=True, limit=1)]
        assert listed == sorted(listed)
        assert {name, 'CUSTOM_A', 'CUSTOM_FAST'} <= set(listed)
        with pytest.raises(Failed, match='There is no trait'):
            client.trait('CUSTOM_NOWHERE')
    trait = rows(server, *change, '--no-description', '--restore')
    assert (trait['description'], trait['retired'], trait['replaced_by']) == (None, False, None)


def test_traits_of_placement(server):
    """The options of osc-placement still work."""
    listed = ('openstack', 'trait', 'list')
    assert {row['name'] for row in rows(server, *listed, '--starts-with', 'CUSTOM_', path='/placement')} >= {
        'CUSTOM_A',
        'CUSTOM_FAST',
    }
    names = 'CUSTOM_A,HW_CPU_X86_VMX,CUSTOM_NOWHERE'
    traits = rows(server, *listed, '--name-in', names, path='/placement')
    assert {row['name'] for row in traits} == {'CUSTOM_A', 'HW_CPU_X86_VMX'}
    assert len(rows(server, *listed, path='/placement')) > 300
    assert [row['name'] for row in rows(server, *listed, '--name', 'in:CUSTOM_A', path='/placement')] == ['CUSTOM_A']
    both = ('--name-in', 'A', '--starts-with', 'B')
    assert 'Use only one of --name' in run(server, *listed, *both, path='/placement', code=1)


def test_adding_and_removing_traits_of_providers(server):
    """Adding and removing traits keeps the provider's other traits."""
    path, trait = '/placement', ('openstack', 'trait')
    provider = rows(server, 'openstack', 'resource', 'provider', 'create', 'storage', path=path)['uuid']
    names = rows(server, *trait, 'add', provider, 'STORAGE_DISK_SSD', 'HW_NIC_SRIOV', path=path)
    assert names == [{'name': 'HW_NIC_SRIOV'}, {'name': 'STORAGE_DISK_SSD'}]
    assert len(rows(server, *trait, 'add', provider, 'COMPUTE_NODE', path=path)) == 3
    run(server, *trait, 'remove', provider, 'HW_NIC_SRIOV', 'COMPUTE_NODE', 'HW_CPU_X86_VMX', path=path)
    listed = rows(server, 'openstack', 'resource', 'provider', 'trait', 'list', provider, path=path)
    assert listed == [{'name': 'STORAGE_DISK_SSD'}]
    assert 'No such trait' in run(server, *trait, 'add', provider, 'CUSTOM_NOWHERE', path=path, code=1)
    node = rows(server, 'baremetal', 'node', 'create', '--driver', 'fake-hardware', '--resource-class', 'gold')['uuid']
    run(server, 'baremetal', 'node', 'add', 'trait', node, 'CUSTOM_A')
    assert len(rows(server, *trait, 'add', node, 'COMPUTE_NODE', path=path)) == 2
    errors = run(server, *trait, 'remove', node, 'CUSTOM_A', 'COMPUTE_NODE', path=path, code=1)
    assert "remove them with 'baremetal node remove trait': CUSTOM_A" in errors
    assert len(rows(server, *trait, 'add', node, 'COMPUTE_NODE', path=path)) == 2
    run(server, 'baremetal', 'node', 'delete', node)


def clients(server):
    """Generate a client on a keystoneauth session, and one on an openstacksdk connection."""
    yield Client(session.Session(noauth.NoAuth(endpoint=server.base)))
    yield Client(openstack.connect(auth_type='none', baremetal_endpoint_override=server.base, load_yaml_config=False))


def test_the_library(server):
    for client in clients(server):
        assert [node['name'] for node in client.nodes(traits=['CUSTOM_FAST'], fields=['name', 'uuid'])] == ['one']
        assert [node['name'] for node in client.nodes(not_traits=['CUSTOM_FAST'], limit=1)] == ['two']
        assert len(list(client.nodes(traits_any=['CUSTOM_A'], not_traits_any=['CUSTOM_X'], limit=1))) == 2
        assert client.match(required=['CUSTOM_FAST'])['nodes'][0]['name'] == 'one'
        held = client.reserve_all([instance(1), instance(2)], required=['CUSTOM_A'])
        assert [row['instance_uuid'] for row in held] == [instance(1), instance(2)]
        assert {row['uuid'] for row in client.reservations(limit=1)} == {row['uuid'] for row in held}
        with pytest.raises(Failed) as refused:
            client.reserve(instance(3), required=['CUSTOM_A'])
        assert (refused.value.status, refused.value.code) == (409, 'baremetal.reservation.no_match')
        assert refused.value.explanation['considered'] == 2
        assert '"is not reserved" rules out 2 nodes' in str(refused.value)
        with pytest.raises(Failed) as refused:
            client.reserve(instance(3), ['one'])
        assert refused.value.reasons[0]['reason'] == 'reserved'
        assert client.match(instance_uuid=instance(1), required=['CUSTOM_A'])['satisfied']
        assert client.renew(held[0]['uuid'], expires_in=60)['expires_at']
        assert client.reservation(held[0]['uuid'])['uuid'] == held[0]['uuid']
        for row in held:
            client.release(row['uuid'])
        with pytest.raises(Failed, match='could not be found'):
            client.release(held[0]['uuid'])
        held = client.reserve(instance(1), ['two'])
        client.deploy('two', held['uuid'])
        run(server, 'baremetal', 'node', 'undeploy', 'two', '--wait')


def test_an_inventory(server, tmp_path):
    """Exports and imports work with commands and with the library."""
    inventory, file = ('openstack', 'baremetal', 'inventory'), tmp_path / 'rack.yaml'
    file.write_text(
        'nodes: [{name: new, driver: fake-hardware, traits: [CUSTOM_X], ports: [{address: 52:54:00:0:0:1}]}]'
    )
    errors = run(server, *inventory, 'import', file, code=1)
    assert 'new cannot be imported (0 of 1 are imported): ' in errors
    file.write_text(file.read_text().replace('52:54:00:0:0:1', '52:54:00:00:00:01'))
    # The failed command has created the node.
    assert rows(server, *inventory, 'import', file) == [
        {'What': 'nodes', 'Done': 'same', 'Number': 1},
        {'What': 'ports', 'Done': 'created', 'Number': 1},
    ]
    assert 'The file exists' in run(server, 'baremetal', 'inventory', 'export', file, code=1)
    run(server, 'baremetal', 'inventory', 'export', '--force', file)
    document = yaml.safe_load(file.read_text())
    [new] = [node for node in document['nodes'] if node['name'] == 'new']
    assert new['ports'][0]['address'] == '52:54:00:00:00:01'
    for client in clients(server):
        assert client.export_inventory() == document
        for trait, done in (('CUSTOM_X', 'same'), ('CUSTOM_Y', 'changed'), ('CUSTOM_X', 'changed')):
            *_, counts = client.import_inventory({'nodes': [{'name': 'new', 'traits': [trait]}]})
            assert counts == {('nodes', done): 1}
    run(server, 'baremetal', 'node', 'set', 'new', '--driver-info', 'password=hush-hush')
    run(server, 'baremetal', 'inventory', 'export', '--force', file)
    assert 'has ****** instead of a secret' in run(server, *inventory, 'import', file, code=1)
    run(server, 'baremetal', 'node', 'delete', 'new')


def test_a_protected_node_is_imported_where_it_cannot_be_active(server, tmp_path):
    """A second import changes nothing. The maintenance reason is imported, too."""
    file = tmp_path / 'rack.yaml'
    node = {'name': 'new', 'driver': 'fake-hardware', 'provision_state': 'active', 'protected': True}
    node |= {'maintenance': True, 'maintenance_reason': 'fan'}
    file.write_text(yaml.safe_dump({'nodes': [node]}))
    for done in ('created', 'same'):
        [counts] = rows(server, 'baremetal', 'inventory', 'import', file)
        assert counts == {'What': 'nodes', 'Done': done, 'Number': 1}
    shown = rows(server, 'baremetal', 'node', 'show', 'new')
    assert (shown['provision_state'], shown['protected'], shown['maintenance_reason']) == ('enroll', False, 'fan')
    run(server, 'baremetal', 'node', 'delete', 'new')
