"""Real clients against a running server: python-ironicclient's command line, and openstacksdk as nova uses it."""

import json
import time
import urllib.request

import openstack
import pytest

from tests.support.cli import parsing
from tests.support.service import ForkedServer

UUID = '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a001'
#: The fields that nova's virt driver requests each time it polls.
NOVA_FIELDS = (
    'uuid',
    'power_state',
    'target_power_state',
    'provision_state',
    'target_provision_state',
    'last_error',
    'maintenance',
    'properties',
    'instance_uuid',
    'traits',
    'resource_class',
)


@pytest.fixture
def server(tmp_path_factory):
    with ForkedServer(None, cwd=tmp_path_factory.mktemp('clients')) as running:
        yield running


def test_baremetal(baremetal):
    """The commands create, change, list and delete a node."""
    created = baremetal(
        'node', 'create', '--driver', 'fake-hardware', '--uuid', UUID, '--name', 'one',
        '--resource-class', 'gold', '--property', 'cpus=8', '--extra', 'rack=1', '-f', 'json',
    )  # fmt: skip
    assert created['uuid'] == UUID
    baremetal('node', 'create', '--driver', 'fake-hardware', '--name', 'two')

    baremetal('node', 'add', 'trait', 'one', 'CUSTOM_A', 'HW_CPU_X86_VMX', 'CUSTOM_B')
    assert [row['traits'] for row in baremetal('node', 'trait', 'list', 'one', '-f', 'json')] == [
        'CUSTOM_A',
        'CUSTOM_B',
        'HW_CPU_X86_VMX',
    ]
    baremetal('node', 'remove', 'trait', 'one', 'CUSTOM_B')
    listed = baremetal('node', 'list', '--fields', 'uuid', 'name', 'traits', '-f', 'json')
    assert listed[0] == {'uuid': UUID, 'name': 'one', 'traits': ['CUSTOM_A', 'HW_CPU_X86_VMX']}
    assert listed[1]['traits'] == []
    baremetal('node', 'remove', 'trait', 'one', '--all')
    assert baremetal('node', 'trait', 'list', 'one', '-f', 'json') == []
    refused = baremetal('node', 'add', 'trait', 'one', 'HW_CPU_X86_VMXX', ok=False)
    assert "Did you mean 'HW_CPU_X86_VMX'?" in refused

    baremetal('node', 'set', 'one', '--resource-class', 'silver', '--property', 'cpus=16', '--name', 'uno')
    baremetal('node', 'unset', 'uno', '--extra', 'rack')
    shown = baremetal('node', 'show', 'uno', '-f', 'json')
    assert (shown['resource_class'], shown['properties'], shown['extra']) == ('silver', {'cpus': 16}, {})
    assert baremetal('node', 'show', 'uno', '--fields', 'name', 'traits', '-f', 'json') == {'name': 'uno', 'traits': []}

    baremetal('node', 'maintenance', 'set', 'uno', '--reason', 'fans')
    assert len(baremetal('node', 'list', '--maintenance', '-f', 'json')) == 1
    baremetal('node', 'maintenance', 'unset', 'uno')
    assert len(baremetal('node', 'list', '--long', '--sort', 'name:desc', '--limit', '1', '-f', 'json')) == 1
    assert [row['name'] for row in baremetal('driver', 'list', '-f', 'json')] == ['fake-hardware']

    baremetal('node', 'delete', 'uno', 'two')
    assert baremetal('node', 'list', '-f', 'json') == []


def test_baremetal_records_of_a_node(baremetal):
    """The commands for ports, port groups, volumes and VIFs work."""
    chassis = baremetal('chassis', 'create', '--description', 'row 1', '-f', 'json')['uuid']
    baremetal('node', 'create', '--driver', 'fake-hardware', '--uuid', UUID, '--name', 'one', '--chassis-uuid', chassis)
    assert len(baremetal('chassis', 'list', '-f', 'json')) == 1
    assert 'one' in baremetal('node', 'list', '--chassis', chassis)

    group = baremetal('port', 'group', 'create', '--node', UUID, '--name', 'bond0', '-f', 'json')['uuid']
    port = baremetal('port', 'create', '52:54:00:CF:2D:31', '--node', UUID, '--port-group', group, '-f', 'json')
    assert (port['address'], port['portgroup_uuid']) == ('52:54:00:cf:2d:31', group)
    for arguments in (('--node', 'one'), ('--port-group', 'bond0'), ('--address', '52:54:00:cf:2d:31'), ('--long',)):
        assert len(baremetal('port', 'list', *arguments, '-f', 'json')) == 1
    assert len(baremetal('port', 'group', 'list', '--node', 'one', '-f', 'json')) == 1
    baremetal('port', 'unset', port['uuid'], '--port-group')
    baremetal('port', 'set', port['uuid'], '--extra', 'slot=1')
    assert baremetal('port', 'show', port['uuid'], '-f', 'json')['extra'] == {'slot': 1}
    baremetal('port', 'group', 'delete', 'bond0')
    baremetal('port', 'delete', port['uuid'])

    connector = ('--node', UUID, '--type', 'iqn', '--connector-id', 'iqn.one')
    baremetal('volume', 'connector', 'create', *connector)
    target = ('--node', UUID, '--type', 'iscsi', '--boot-index', '0', '--volume-id', 'v1')
    target_uuid = baremetal('volume', 'target', 'create', *target, '-f', 'json')['uuid']
    baremetal('node', 'power', 'off', 'one')
    baremetal('volume', 'target', 'set', target_uuid, '--boot-index', '1')
    assert len(baremetal('volume', 'connector', 'list', '--long', '-f', 'json')) == 1
    assert len(baremetal('volume', 'target', 'list', '--node', 'one', '-f', 'json')) == 1

    baremetal('node', 'vif', 'attach', 'one', 'left')
    assert baremetal('node', 'vif', 'list', 'one', '-f', 'json') == [{'id': 'left'}]
    baremetal('node', 'vif', 'detach', 'one', 'left')

    assert 'contains nodes' in baremetal('chassis', 'delete', chassis, ok=False)
    baremetal('node', 'unset', 'one', '--chassis-uuid')
    baremetal('chassis', 'delete', chassis)
    baremetal('node', 'delete', 'one')
    assert baremetal('volume', 'target', 'list', '-f', 'json') == []


def test_baremetal_fields_of_newer_versions(baremetal):
    """The commands support children of nodes, and the fields of versions up to 1.115."""
    baremetal('node', 'create', '--driver', 'fake-hardware', '--name', 'server', '--uuid', UUID)
    options = ('--parent-node', UUID, '--disable-power-off', '--firmware-interface', 'no-firmware')
    child = baremetal('node', 'create', '--driver', 'fake-hardware', '--name', 'dpu', *options, '-f', 'json')
    assert (child['parent_node'], child['firmware_interface']) == (UUID, 'no-firmware')
    assert (child['disable_power_off'], child['health'], child['instance_name']) == (True, None, None)
    assert [row['name'] for row in baremetal('node', 'list', '--fields', 'name', '-f', 'json')] == ['server']
    everything = baremetal('node', 'list', '--include-children', '--fields', 'name', '-f', 'json')
    assert [row['name'] for row in everything] == ['server', 'dpu']
    assert child['uuid'] in baremetal('node', 'children', 'list', UUID)
    assert 'Failed to set node power state' in baremetal('node', 'power', 'off', 'dpu', ok=False)
    baremetal('node', 'set', 'dpu', '--instance-name', 'web1', '--enable-power-off')
    baremetal('node', 'unset', 'dpu', '--parent-node')
    shown = baremetal(
        'node', 'show', 'dpu', '--fields', 'parent_node', 'disable_power_off', 'instance_name', '-f', 'json'
    )
    assert shown == {'parent_node': None, 'disable_power_off': False, 'instance_name': 'web1'}

    described = ('--name', 'nic1', '--description', 'left', '--vendor', 'ACME', '--category', 'storage')
    port = baremetal('port', 'create', 'aa:bb:cc:00:00:01', '--node', UUID, *described, '-f', 'json')
    assert (port['node_uuid'], port['name'], port['category']) == (UUID, 'nic1', 'storage')
    baremetal('port', 'set', 'nic1', '--vendor', 'other', '--name', 'nic2')
    assert baremetal('port', 'show', 'nic2', '--fields', 'vendor', '-f', 'json') == {'vendor': 'other'}
    options = ('--name', 'bond0', '--physical-network', 'red', '--category', 'storage')
    group = baremetal('port', 'group', 'create', '--node', UUID, *options, '-f', 'json')
    assert (group['physical_network'], group['category']) == ('red', 'storage')
    baremetal('port', 'group', 'set', 'bond0', '--physical-network', 'blue', '--category', 'network')
    shown = baremetal('port', 'group', 'show', 'bond0', '--fields', 'physical_network', 'category', '-f', 'json')
    assert shown == {'physical_network': 'blue', 'category': 'network'}


def test_baremetal_from_enroll_to_active(baremetal, server):
    """The commands take a node from enroll to active."""

    def shows(**expected):
        # Not --wait, which polls every ten seconds.
        deadline = time.monotonic() + 30
        while _get(server, '/v1/nodes/one')['target_provision_state'] and time.monotonic() < deadline:
            time.sleep(0.1)
        assert baremetal('node', 'show', 'one', '--fields', *expected, '-f', 'json') == expected

    delays = '{"deploy": 1, "clean": 1}'
    baremetal('node', 'create', '--driver', 'fake-hardware', '--name', 'one', '--driver-info', f'fake_delays={delays}')
    baremetal('node', 'manage', 'one', '--wait', '30')
    baremetal('node', 'inspect', 'one')
    shows(provision_state='manageable')
    baremetal('node', 'provide', 'one', '--wait', '30')
    shows(provision_state='available', power_state='power off')

    baremetal('node', 'set', 'one', '--instance-info', 'traits=["CUSTOM_A", "CUSTOM_A"]')
    (validation,) = [row for row in baremetal('node', 'validate', 'one', '-f', 'json') if row['Interface'] == 'deploy']
    assert validation['Result'] is False
    assert validation['Reason'].endswith('is missing traits CUSTOM_A')
    assert 'is missing traits CUSTOM_A' in baremetal('node', 'deploy', 'one', ok=False)
    baremetal('node', 'add', 'trait', 'one', 'CUSTOM_A')
    baremetal('node', 'deploy', 'one', '--wait', '30', '--config-drive', '{"meta_data": {"hostname": "web1"}}')
    instance_info = {'traits': ['CUSTOM_A', 'CUSTOM_A'], 'configdrive': '******'}
    shows(provision_state='active', power_state='power on', instance_info=instance_info)

    baremetal('node', 'power', 'off', 'one', '--power-timeout', '30')
    baremetal('node', 'reboot', 'one')
    baremetal('node', 'rebuild', 'one')
    shows(provision_state='active')
    baremetal('node', 'rescue', 'one', '--rescue-password', 'hush-hush')
    shows(provision_state='rescue')
    baremetal('node', 'unrescue', 'one')
    shows(provision_state='active')
    baremetal('node', 'undeploy', 'one')
    shows(provision_state='available', instance_info={}, power_state='power off')
    assert 'can not be performed' in baremetal('node', 'provide', 'one', ok=False)
    baremetal('node', 'set', 'one', '--driver-info', 'fake_failures=["deploy"]')
    baremetal('node', 'deploy', 'one', '--wait', '30', ok=False)
    failed = 'Deploy step deploy.deploy failed: fake-hardware is configured to fail "deploy".'
    assert baremetal('node', 'show', 'one', '--fields', 'last_error', '-f', 'json') == {'last_error': failed}
    baremetal('node', 'undeploy', 'one')
    shows(provision_state='available')
    baremetal('node', 'delete', 'one')


def _get(server, path):
    request = urllib.request.Request(server.base + path, headers={'X-OpenStack-Ironic-API-Version': 'latest'})
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def test_openstacksdk(sdk):
    """openstacksdk's calls of nova and of scripts work."""
    node = sdk.create_node(driver='fake-hardware', name='one', resource_class='gold', provision_state='enroll')
    assert node.provision_state == 'enroll'
    sdk.set_node_traits(node, ['CUSTOM_A', 'CUSTOM_B'])
    sdk.add_node_trait(node, 'CUSTOM_C')
    sdk.remove_node_trait(node, 'CUSTOM_A')
    (polled,) = sdk.nodes(fields=NOVA_FIELDS)
    assert polled.traits == ['CUSTOM_B', 'CUSTOM_C']
    assert (polled.id, polled.resource_class, polled.is_maintenance) == (node.id, 'gold', False)

    instance = 'a8b2c1c0-0000-4000-8000-000000000001'
    # Use a new resource: otherwise the SDK would send its cached traits, which no server accepts in a patch.
    node = sdk.get_node(node.id)
    node = sdk.update_node(node, instance_id=instance)
    assert [match.id for match in sdk.nodes(fields=NOVA_FIELDS, instance_id=instance)] == [node.id]
    patched = sdk.patch_node(node, [{'op': 'add', 'path': '/instance_info/traits', 'value': ['CUSTOM_B', 'CUSTOM_B']}])
    assert patched.instance_info == {'traits': ['CUSTOM_B', 'CUSTOM_B']}
    with pytest.raises(openstack.exceptions.ConflictException):
        sdk.delete_node(node)
    sdk.patch_node(node, [{'op': 'replace', 'path': '/instance_uuid', 'value': None}])
    sdk.delete_node(node)
    assert sdk.find_node('one') is None


def test_openstacksdk_deploys(sdk):
    """openstacksdk takes a node from enroll to active and back, like nova's driver."""
    node = sdk.create_node(driver='fake-hardware', name='one', driver_info={'fake_delays': {'deploy': 1}})
    node = sdk.set_node_provision_state(node, 'manage', wait=True, timeout=30)
    node = sdk.set_node_provision_state(node, 'provide', wait=True, timeout=30)
    assert (node.provision_state, node.power_state) == ('available', 'power off')

    instance = 'a8b2c1c0-0000-4000-8000-000000000001'
    sdk.patch_node(node, [{'op': 'replace', 'path': '/instance_uuid', 'value': instance}])
    sdk.attach_vif_to_node(node, 'vif-1')
    assert sdk.list_node_vifs(node) == ['vif-1']
    sdk.patch_node(node, [{'op': 'add', 'path': '/instance_info/traits', 'value': ['CUSTOM_A']}])
    assert 'missing traits CUSTOM_A' in sdk.validate_node(node, required=())['deploy'].reason
    with pytest.raises(openstack.exceptions.ValidationException):
        sdk.validate_node(node)
    with pytest.raises(openstack.exceptions.BadRequestException, match='missing traits CUSTOM_A'):
        sdk.set_node_provision_state(node, 'active')
    sdk.add_node_trait(node, 'CUSTOM_A')
    # nova builds a config drive from these fields, and reads the others for its cleanup.
    assert list(sdk.ports(details=True, node=node.id)) == list(sdk.port_groups(details=True, node=node.id)) == []
    assert list(sdk.volume_targets(details=True, node=node.id)) == []
    assert all(sdk.validate_node(node)[interface].result for interface in ('deploy', 'power', 'storage'))
    sdk.set_node_provision_state(node, 'active', config_drive={'meta_data': {'hostname': 'web1'}})
    (polled,) = sdk.nodes(fields=NOVA_FIELDS, instance_id=instance)
    # On an available node, nova considers the instance deleted.
    assert polled.provision_state in ('deploying', 'wait call-back')
    (node,) = sdk.wait_for_nodes_provision_state([node.id], 'active', timeout=30)
    assert (node.power_state, node.last_error) == ('power on', None)

    sdk.patch_node(node, [{'op': 'add', 'path': '/instance_info/traits', 'value': ['CUSTOM_A', 'CUSTOM_B']}])
    with pytest.raises(openstack.exceptions.BadRequestException, match='missing traits CUSTOM_B'):
        sdk.set_node_provision_state(node, 'rebuild')
    assert sdk.get_node(node.id).provision_state == 'active'
    sdk.set_node_power_state(node, 'power off', wait=True, timeout=30)
    assert sdk.get_node(node.id).power_state == 'power off'

    node = sdk.set_node_provision_state(node, 'deleted', wait=True, timeout=30)
    assert (node.provision_state, node.instance_id, node.instance_info) == ('available', None, {})
    # The VIF was detached with the instance. nova still sends the request.
    assert sdk.detach_vif_from_node(node, 'vif-1') is False
    assert list(sdk.nodes(instance_id=instance)) == []
    sdk.update_node(node, driver_info={'fake_failures': ['deploy']})
    sdk.set_node_provision_state(node, 'active')
    with pytest.raises(openstack.exceptions.ResourceFailure, match='configured to fail'):
        sdk.wait_for_nodes_provision_state([node.id], 'active', timeout=30)
    sdk.set_node_provision_state(node, 'deleted', wait=True, timeout=30)
    sdk.delete_node(node)


def test_openstacksdk_children(sdk):
    """Lists leave children out."""
    parent = sdk.create_node(driver='fake-hardware', name='server', provision_state='enroll')
    child = sdk.create_node(driver='fake-hardware', name='dpu', parent_node=parent.id, provision_state='enroll')
    assert child.parent_node == parent.id
    assert [node.id for node in sdk.nodes()] == [parent.id]
    assert [node.id for node in sdk.nodes(include_children=True)] == [parent.id, child.id]
    assert [node.id for node in sdk.nodes(parent_node=parent.id)] == [child.id]
    assert sdk.get_node('dpu').firmware_interface == 'fake'
    assert sdk.get_node('dpu').health is None


def test_openstacksdk_pages(sdk):
    """The SDK follows ``next``, and stops at a limit."""
    uuids = [sdk.create_node(driver='fake-hardware').id for _ in range(5)]
    assert [node.id for node in sdk.nodes(fields=['uuid'], limit=2)] == uuids
    for uuid in uuids:
        sdk.delete_node(uuid)


def test_openstacksdk_records(sdk):
    """openstacksdk reads and writes the networks and volumes of a node like nova."""
    node = sdk.create_node(driver='fake-hardware')
    group = sdk.create_port_group(node_id=node.id, name='bond0')
    port = sdk.create_port(node_id=node.id, address='52:54:00:cf:2d:31', port_group_id=group.id)
    assert [row.id for row in sdk.ports(details=True, node=node.id)] == [port.id]
    assert [row.id for row in sdk.port_groups(details=True, node=node.id)] == [group.id]
    assert sdk.find_port('52:54:00:cf:2d:32') is None

    sdk.attach_vif_to_node(node, 'left')
    with pytest.raises(openstack.exceptions.ConflictException):
        sdk.attach_vif_to_node(node, 'left', retry_on_conflict=False)
    assert sdk.list_node_vifs(node) == ['left']
    assert sdk.detach_vif_from_node(node, 'left')
    assert not sdk.detach_vif_from_node(node, 'left')

    target = sdk.create_volume_target(node_id=node.id, volume_type='iscsi', boot_index=0, volume_id='v1')
    assert [row.id for row in sdk.volume_targets(details=True, node=node.id)] == [target.id]
    sdk.set_node_power_state(node, 'power off', wait=True)
    assert sdk.update_volume_target(target, boot_index=1).boot_index == 1
    sdk.delete_volume_target(target)
    sdk.delete_node(node)
    assert list(sdk.ports()) == list(sdk.port_groups()) == []


@pytest.fixture
def placement(server):
    """Function that runs the openstack command with osc-placement's plugin."""
    endpoint = ('--os-auth-type', 'none', '--os-endpoint', f'{server.base}/placement')
    return parsing('openstack', *endpoint, '--os-placement-api-version', '1.39')


def test_openstack_placement(baremetal, placement):
    """The commands for traits and resource providers work, also for the provider of a node."""
    baremetal('node', 'create', '--driver', 'fake-hardware', '--uuid', UUID, '--resource-class', 'gold')
    baremetal('node', 'add', 'trait', UUID, 'CUSTOM_A')
    node = placement('resource', 'provider', 'show', UUID, '-f', 'json')
    assert (node['name'], node['root_provider_uuid']) == (UUID, UUID)
    assert placement('resource', 'provider', 'trait', 'list', UUID, '-f', 'json') == [{'name': 'CUSTOM_A'}]
    (inventory,) = placement('resource', 'provider', 'inventory', 'list', UUID, '-f', 'json')
    assert (inventory['resource_class'], inventory['total'], inventory['reserved']) == ('CUSTOM_GOLD', 1, 1)

    provider = placement('resource', 'provider', 'create', 'rack', '-f', 'json')['uuid']
    placement(
        'resource', 'provider', 'inventory', 'set', provider, '--resource', 'VCPU=8', '--resource', 'VCPU:reserved=1'
    )
    placement('trait', 'create', 'CUSTOM_B')
    placement('resource', 'provider', 'trait', 'set', provider, '--trait', 'CUSTOM_B', '--trait', 'HW_CPU_X86_VMX')
    listed = placement(
        'resource', 'provider', 'list', '--required', 'CUSTOM_B', '--forbidden', 'CUSTOM_A', '-f', 'json'
    )
    assert [row['uuid'] for row in listed] == [provider]
    either = placement('resource', 'provider', 'list', '--required', 'CUSTOM_A,CUSTOM_B', '-f', 'json')
    assert {row['uuid'] for row in either} == {provider, UUID}
    assert {'name': 'CUSTOM_B'} in placement('trait', 'list', '--associated', '-f', 'json')
    assert placement('trait', 'list', '--name', 'startswith:CUSTOM_', '-f', 'json') == [
        {'name': 'CUSTOM_A'},
        {'name': 'CUSTOM_B'},
    ]
    aggregate = 'b0a1d1c0-0000-4000-8000-000000000001'
    generation = str(placement('resource', 'provider', 'show', provider, '-f', 'json')['generation'])
    placement(
        'resource', 'provider', 'aggregate', 'set', provider, '--aggregate', aggregate, '--generation', generation
    )
    assert placement('resource', 'provider', 'aggregate', 'list', provider, '-f', 'json') == [{'uuid': aggregate}]
    (used,) = placement('resource', 'provider', 'usage', 'show', provider, '-f', 'json')
    assert (used['resource_class'], used['usage']) == ('VCPU', 0)
    placement('resource', 'class', 'create', 'CUSTOM_TOKENS')
    placement('resource', 'class', 'show', 'CUSTOM_TOKENS')
    placement('resource', 'class', 'delete', 'CUSTOM_TOKENS')
    (candidate,) = placement('allocation', 'candidate', 'list', '--resource', 'VCPU=2', '--limit', '5', '-f', 'json')
    assert (candidate['resource provider'], candidate['allocation']) == (provider, 'VCPU=2')
    consumer = 'c0ffee00-0000-4000-8000-000000000001'
    owners = ('--project-id', 'p', '--user-id', 'u', '--consumer-type', 'INSTANCE')
    placement('resource', 'provider', 'allocation', 'set', consumer, '--allocation', f'rp={provider},VCPU=2', *owners)
    (shown,) = placement('resource', 'provider', 'allocation', 'show', consumer, '-f', 'json')
    assert (shown['resource_provider'], shown['resources']) == (provider, {'VCPU': 2})
    (used,) = placement('resource', 'provider', 'usage', 'show', provider, '-f', 'json')
    assert used['usage'] == 2
    assert placement('resource', 'usage', 'show', 'p', '-f', 'json')[0]['usage'] == {'consumer_count': 1, 'VCPU': 2}
    placement('resource', 'provider', 'allocation', 'unset', consumer, '--provider', provider)
    placement('resource', 'provider', 'allocation', 'set', consumer, '--allocation', f'rp={provider},VCPU=2', *owners)
    placement('resource', 'provider', 'allocation', 'delete', consumer)
    assert 'in use' in placement('trait', 'delete', 'CUSTOM_B', ok=False)
    placement('resource', 'provider', 'trait', 'delete', provider)
    placement('trait', 'delete', 'CUSTOM_B')
    placement('resource', 'provider', 'delete', provider)
    assert 'it is a node' in placement('resource', 'provider', 'delete', UUID, ok=False)
    baremetal('node', 'delete', UUID)
    assert placement('resource', 'provider', 'list', '-f', 'json') == []
