"""What python-ironicclient and openstacksdk do with the boot, the indicators and the virtual media of a node."""

import openstack.exceptions
import pytest

from tests.support.service import ForkedServer

UUID = '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a002'


@pytest.fixture
def server(tmp_path_factory):
    with ForkedServer(None, cwd=tmp_path_factory.mktemp('clients')) as running:
        yield running


@pytest.fixture
def node(sdk):
    return sdk.create_node(driver='fake-hardware', name='one', uuid=UUID, provision_state='enroll')


def test_boot_device(node, baremetal, sdk):
    show = ('node', 'boot', 'device', 'show', 'one', '-f', 'json')
    baremetal('node', 'boot', 'device', 'set', 'one', 'pxe', '--persistent')
    assert baremetal(*show) == {'boot_device': 'pxe', 'persistent': True}
    assert baremetal(*show, '--supported') == {'supported_boot_devices': 'pxe'}
    assert 'Invalid boot device disk specified.' in baremetal('node', 'boot', 'device', 'set', 'one', 'disk', ok=False)
    sdk.set_node_boot_device(UUID, 'pxe')
    assert sdk.get_node_boot_device(UUID) == {'boot_device': 'pxe', 'persistent': False}
    assert sdk.get_node_supported_boot_devices(UUID) == {'supported_boot_devices': ['pxe']}


def test_boot_mode_and_secure_boot(node, baremetal, sdk):
    def states():
        row = baremetal('node', 'show', 'one', '--fields', 'boot_mode', 'secure_boot', '-f', 'json')
        return row['boot_mode'], row['secure_boot']

    baremetal('node', 'boot', 'mode', 'set', 'one', 'uefi')
    baremetal('node', 'secure', 'boot', 'on', 'one')
    assert states() == ('uefi', True)
    baremetal('node', 'secure', 'boot', 'off', 'one')
    sdk.set_node_boot_mode(UUID, 'bios')
    assert states() == ('bios', False)
    sdk.set_node_secure_boot(UUID, True)
    assert states() == ('bios', True)


def test_inject_nmi(node, baremetal, sdk):
    baremetal('node', 'inject', 'nmi', 'one')
    sdk.inject_nmi_to_node(UUID)
    assert 'Node two could not be found.' in baremetal('node', 'inject', 'nmi', 'two', ok=False)


def test_virtual_media(node, sdk):
    def attached():
        media = sdk.get(f'/nodes/{UUID}/vmedia', microversion='1.93').json()
        return [each['media_types'][0] for each in media if each['inserted']]

    for device in ('disk', 'cdrom', 'floppy'):
        sdk.attach_vmedia_to_node(UUID, device, 'https://images.example/a.img', image_download_source='http')
    assert attached() == ['USBStick', 'CD', 'Floppy']
    sdk.detach_vmedia_from_node(UUID, ['cdrom', 'floppy'])
    assert attached() == ['USBStick']
    sdk.detach_vmedia_from_node(UUID)
    assert attached() == []
    with pytest.raises(openstack.exceptions.BadRequestException, match='Unsupported or missing URL scheme: file'):
        sdk.attach_vmedia_to_node(UUID, 'disk', 'file:///a.img')
