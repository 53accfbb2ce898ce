"""Inspections with the real ramdisk, the real clients and the library, against a running service."""

import json

import pytest

from ironic_traits.client import Failed
from ironic_traits.matching.rules import rule_evaluation
from ironic_traits.matching.rules.inspection_rules import standard
from tests.functional.clients.test_commands import clients
from tests.support import ramdisk
from tests.support.cli import BAREMETAL, OPENSTACK, run

MACS = list(ramdisk.interfaces().values())


@pytest.mark.skipif(not MACS, reason='This machine has no network interface.')
def test_the_real_ramdisk(server, baremetal, sdk, tmp_path):
    """The real ramdisk inspects this machine. The real clients show the data, and store it for another node."""
    node = sdk.create_node(driver='fake-hardware', name='inspected', inspect_interface='agent')
    sdk.create_port(node_id=node.id, address=MACS[0])
    sdk.set_node_provision_state(node, 'manage', wait=True)
    sdk.set_node_provision_state(node, 'inspect')
    sdk.wait_for_nodes_provision_state([node], 'inspect wait')
    assert node.id in ramdisk.run(f'{server.base}/v1/continue_inspection', tmp_path)
    (node,) = sdk.wait_for_nodes_provision_state([node], 'manageable')
    assert node.last_error is None
    assert node.properties['cpu_arch'] == ramdisk.ARCHITECTURE
    assert node.properties['cpus'] > 0
    assert {port.address for port in sdk.ports(node=node.id)} <= set(MACS)
    data = sdk.get_node_inventory('inspected')
    assert data['inventory']['cpu']['model_name']
    assert data['plugin_data']['configuration']['collectors'] == ['default']
    # The standard rules set the traits of this machine's CPU.
    traits = set(sdk.get_node('inspected').traits)
    assert traits == set(rule_evaluation.evaluate(standard(), rule_evaluation.facts_of(data)).traits)
    if ramdisk.ARCHITECTURE == 'x86_64':
        assert {'HW_ARCH_X86_64', 'HW_CPU_X86_SSE2'} <= traits
    saved = tmp_path / 'saved.json'
    baremetal('node', 'inventory', 'save', 'inspected', '--file', str(saved))
    assert json.loads(saved.read_text()) == data
    sdk.create_node(driver='fake-hardware', name='copy')
    assert run(server, *BAREMETAL, 'node', 'inventory', 'set', 'copy', str(saved)) == (
        'Stored the inventory of node copy\n'
    )
    assert sdk.get_node_inventory('copy') == data
    assert set(sdk.get_node('copy').traits) == traits


def test_commands(server, baremetal, sdk, file):
    sdk.create_node(driver='fake-hardware', name='by-command')
    command = (*OPENSTACK, 'node', 'inventory', 'set', 'by-command')
    path = file('{"inventory": {"hostname": "x"}, "lldp": 1}')
    assert run(server, *command, str(path)) == 'Stored the inventory of node by-command\n'
    saved = json.loads(baremetal('node', 'inventory', 'save', 'by-command'))
    assert saved == {'inventory': {'hostname': 'x'}, 'plugin_data': {'lldp': 1}}
    for text, reason in (('{}', "'inventory' is required"), ('{', 'rack.yaml'), ('[' * 100000, 'rack.yaml')):
        assert reason in run(server, *command, str(file(text)), code=1)
    assert 'nowhere.json' in run(server, *command, 'nowhere.json', code=1)


def test_library(server):
    for client in clients(server):
        client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', 'name': 'library'})
        with pytest.raises(Failed) as raised:
            client.inventory('library')
        assert (raised.value.status, raised.value.code) == (404, 'baremetal.node.no_inventory')
        for number in (1, 2):
            data = {'inventory': {'hostname': f'host{number}'}, 'plugin_data': {}}
            assert client.set_inventory('library', data) == data
        assert client.inventory('library') == data
        assert client.inventory('library', previous=True)['inventory'] == {'hostname': 'host1'}
        client.ask('DELETE', '/v1/nodes/library')
