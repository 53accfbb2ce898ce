"""The data of inspections in a real Ironic, which a mirror reads."""

import copy

import pytest

from tests.support.mirror import Ironic, clouds_file, follower
from tests.support.servers import free_port
from tests.support.service import peer

MAC = '52:54:00:00:00:01'
DATA = {
    'inventory': {
        'interfaces': [{'name': 'eth0', 'mac_address': MAC, 'has_carrier': True}],
        'cpu': {'architecture': 'x86_64', 'count': 8, 'flags': ['vmx', 'aes']},
        'memory': {'physical_mb': 4096},
        'disks': [],
        'bmc_address': '',
        'boot': {'current_boot_mode': 'uefi'},
        'system_vendor': {'manufacturer': 'Acme', 'product_name': 'One'},
    }
}
TRAITS = {'HW_CPU_X86_VMX', 'HW_CPU_X86_AESNI'}


@pytest.fixture(scope='module')
def real_ironic(tmp_path_factory):
    """A real Ironic, for all databases."""
    with peer('tests.support.ironic_server', tmp_path_factory.mktemp('ironic'), free_port()) as url:
        yield Ironic(url)


@pytest.fixture
def ironic(real_ironic, tmp_path, monkeypatch):
    """A real Ironic without nodes, which is the cloud "far" of clouds.yaml."""
    real_ironic.clear()
    clouds_file(tmp_path / 'clouds.yaml', far=real_ironic.url)
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(tmp_path / 'clouds.yaml'))
    return real_ironic


def _inspect(ironic, uuid, data):
    """Inspect a node there: its ramdisk sends data."""
    ironic.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'inspect'})
    _wait_for(ironic, uuid, 'inspect wait')
    ironic.ask('POST', f'/v1/continue_inspection?node_uuid={uuid}', data)
    _wait_for(ironic, uuid, 'manageable')


def _wait_for(ironic, uuid, state):
    """Wait until a node is in a state, and not locked."""
    while True:
        node = ironic.ask('GET', f'/v1/nodes/{uuid}')
        if node['provision_state'] == state and node['reservation'] is None:
            return


def _held_by_rules(client, uuid):
    detail = client.get(f'/v1/nodes/{uuid}/traits?detail=true')['traits']
    return {each['trait'] for each in detail if any(held['source'].startswith('rule:') for held in each['sources'])}


def test_rules_run_on_data_of_the_cloud(ironic, app, client):
    """Once per inspection; what is no data, and a cloud without data, do not stop the mirror."""
    uuid = ironic.node(name='one', inspect_interface='agent')
    ironic.ask('POST', '/v1/ports', {'node_uuid': uuid, 'address': MAC})
    ironic.node(name='never-inspected')
    ironic.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'manage'})
    _wait_for(ironic, uuid, 'manageable')
    _inspect(ironic, uuid, DATA)
    mirror = follower(app)
    assert mirror.catch_up()
    shown = client.get(f'/v1/nodes/{uuid}/inventory', version='1.81')
    assert shown['inventory'] == ironic.ask('GET', f'/v1/nodes/{uuid}/inventory')['inventory']
    assert _held_by_rules(client, uuid) >= TRAITS
    assert set(ironic.ask('GET', f'/v1/nodes/{uuid}/traits')['traits']) == set()

    requests = mirror.requests
    assert mirror.catch_up()
    idle = mirror.requests - requests
    without_aes = copy.deepcopy(DATA)
    without_aes['inventory']['cpu']['flags'] = ['vmx']
    _inspect(ironic, uuid, without_aes)
    requests = mirror.requests
    assert mirror.catch_up()
    assert mirror.requests - requests <= idle + 3
    assert _held_by_rules(client, uuid) & TRAITS == {'HW_CPU_X86_VMX'}

    hostile = copy.deepcopy(DATA)
    hostile['inventory']['system_vendor']['product_name'] = 'a\0b'
    _inspect(ironic, uuid, hostile)
    assert mirror.catch_up()
    assert _held_by_rules(client, uuid) & TRAITS == {'HW_CPU_X86_VMX'}
    assert client.get(f'/v1/nodes/{uuid}')['inspection_finished_at'] is not None
