"""Mirrors of a real Ironic."""

import pytest

from tests.support.mirror import Ironic, clouds_file, differences, follower
from tests.support.servers import free_port
from tests.support.service import peer

INSTANCE = 'dddddddd-0000-4000-8000-000000000001'


@pytest.fixture(scope='module')
def real_ironic(tmp_path_factory):
    """A real Ironic, for all tests of this module."""
    with peer('tests.support.ironic_server', tmp_path_factory.mktemp('ironic'), free_port()) as url:
        yield Ironic(url)


@pytest.fixture
def ironic(real_ironic, tmp_path, monkeypatch):
    """A real Ironic without nodes, which is the cloud "far" of clouds.yaml."""
    real_ironic.clear()
    clouds_file(tmp_path / 'clouds.yaml', far=real_ironic.url, other=real_ironic.url)
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(tmp_path / 'clouds.yaml'))
    return real_ironic


def test_mirror_has_all_fields(ironic, app, client):
    """Of nodes of all kinds, of ports and portgroups; after the first pass, and after all kinds of changes."""
    uuids = [ironic.node(name=f'node{number}', resource_class='gold') for number in range(25)]
    chassis = ironic.ask('POST', '/v1/chassis', {'description': 'Rack 1'})['uuid']
    first = ironic.node(
        name='rich', chassis_uuid=chassis, extra={'a': [1, True]}, properties={'cpus': 4}, description='x'
    )
    child = ironic.node(name='child', parent_node=first)
    group = ironic.ask('POST', '/v1/portgroups', {'node_uuid': first, 'name': 'bond', 'address': '52:54:00:00:00:01'})
    port = {'node_uuid': first, 'address': '52:54:00:00:00:02', 'portgroup_uuid': group['uuid']}
    port = ironic.ask('POST', '/v1/ports', port)['uuid']
    ironic.ask('PUT', f'/v1/nodes/{uuids[0]}/traits', {'traits': ['CUSTOM_A', 'HW_CPU_X86_VMX']})
    mirror = follower(app)
    assert mirror.catch_up()
    assert list(differences(client, ironic, 'far')) == []

    ironic.ask('PUT', f'/v1/nodes/{uuids[0]}/traits/CUSTOM_B')
    ironic.ask('PUT', f'/v1/nodes/{uuids[1]}/maintenance', {'reason': 'broken'})
    for verb in ('manage', 'provide'):
        ironic.ask('PUT', f'/v1/nodes/{uuids[2]}/states/provision', {'target': verb})
        _wait_for(ironic, uuids[2], 'manageable' if verb == 'manage' else 'available')
    ironic.patch(f'/v1/nodes/{uuids[2]}', instance_uuid=INSTANCE)
    ironic.patch(f'/v1/nodes/{uuids[3]}', name='passing')
    ironic.patch(f'/v1/nodes/{uuids[4]}', name='node3')
    ironic.patch(f'/v1/nodes/{uuids[3]}', name='node4')
    ironic.ask('DELETE', f'/v1/nodes/{uuids[5]}')
    ironic.ask('DELETE', f'/v1/nodes/{child}')
    ironic.patch(f'/v1/ports/{port}', pxe_enabled=False)
    new = ironic.node(name='node5')
    ironic.ask('POST', '/v1/ports', {'node_uuid': new, 'address': '52:54:00:00:00:03'})
    assert mirror.catch_up()
    assert list(differences(client, ironic, 'far')) == []


def _wait_for(ironic, uuid, state):
    while ironic.ask('GET', f'/v1/nodes/{uuid}')['provision_state'] != state:
        pass
