"""The deploy interface ramdisk: a machine boots an ISO image from a virtual CD of its BMC."""

import http.server
import json
import os

import pytest

from ironic_traits.inventory.provisioning import boot_images
from tests.support import commands, http_servers, transitions
from tests.support.bmc_nodes import MANY, available, bmc_client, work
from tests.support.bmc_server import media, serving
from tests.support.client import message
from tests.support.concurrency import wait_until
from tests.support.http_client import ask
from tests.support.peers import peer
from tests.support.redfish_trees import to
from tests.support.servers import free_port

#: What is tested is the way to the BMC, which is the same on each database.
DATABASES = ('sqlite',)
CD = '/Systems/1/VirtualMedia/Cd'
SECURE = '/Systems/1/SecureBoot'


class _Images(http.server.BaseHTTPRequestHandler):
    """Answers HEAD as the path says: /{status}/{size}."""

    def log_message(self, *arguments):
        pass

    def do_HEAD(self):
        status, size = self.path.split('/')[1:3]
        self.send_response(int(status))
        self.send_header('Content-Length', size)
        self.end_headers()


@pytest.fixture(scope='module')
def images():
    """Provide the URL of a server of images."""
    with http_servers.serving(http.server.ThreadingHTTPServer(('127.0.0.1', 0), _Images)) as server:
        yield f'http://127.0.0.1:{server.server_port}'


@pytest.fixture
def bmc():
    with serving() as server:
        server.system['VirtualMedia'] = to('/Systems/1/VirtualMedia')
        server.documents |= media('/Systems/1', Cd=['CD', 'DVD'], Usb=['Floppy', 'USBStick'])
        yield server


@pytest.fixture
def client(database_url):
    with bmc_client(database_url) as client:
        yield client


def change(client, uuid, verb, image=None, times=MANY, **more):
    """Set the image of a node, request a state, let a worker do it, and return the node."""
    if image:
        patch = [{'op': 'add', 'path': '/instance_info/boot_iso', 'value': image}]
        assert client.ask('PATCH', f'/v1/nodes/{uuid}', patch).status_int == 200
    transitions.ask(client, uuid, verb, **more)
    work(client, times)
    return client.get(f'/v1/nodes/{uuid}')


def test_life(client, bmc, images):
    """Deploy, rebuild with another image, undeploy, and deploy again."""
    uuid, one, two = available(client, bmc), f'{images}/200/1000000/one.iso', f'{images}/200/1000000/two.iso'
    for verb, image in (('active', one), ('rebuild', two), ('deleted', None), ('active', one)):
        node = change(client, uuid, verb, image)
        state, power = ('active', 'power on') if image else ('available', 'power off')
        assert (node['provision_state'], node['power_state'], node['last_error']) == (state, power, None)
        assert bmc.media == ({CD: image} if image else {})
        assert bmc.system['PowerState'] == ('On' if image else 'Off')
        assert node['instance_info'].get('boot_iso') == image
    assert bmc.boots == [one, two, one]
    assert not bmc.sessions


def test_traits_are_checked(client, bmc, images):
    uuid = available(client, bmc)
    client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_GOLD']})
    info = {'boot_iso': f'{images}/200/1000000', 'traits': ['CUSTOM_SILVER']}
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/instance_info', 'value': info}])
    response = client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'active'})
    assert response.status_int == 400
    assert 'CUSTOM_SILVER' in message(response)
    assert not [request for request in bmc.requests if request[0] == 'PATCH']


@pytest.mark.parametrize(('info', 'reason'), [
    ({}, 'boot_iso is missing'),
    ({'boot_iso': 'ftp://10.0.0.9/a.iso'}, 'boot_iso in instance_info must be a URL with http or https.'),
    ({'boot_iso': 'http:///a.iso'}, 'must be a URL'),
    ({'boot_iso': 'http://[a'}, 'must be a URL'),
    ({'boot_iso': 'http://10.0.0.9:99999/a.iso'}, 'must be a URL'),
    ({'boot_iso': 'http://10.0.0.9/a b.iso'}, 'must be a URL'),
    ({'boot_iso': 'http://10.0.0.9/a.iso\n'}, 'must be a URL'),
    ({'boot_iso': ['http://10.0.0.9/a.iso']}, 'must be a URL'),
    ({'boot_iso': 'http://10.0.0.9/a.iso', 'kernel_append_params': 'quiet'}, 'kernel_append_params'),
])  # fmt: skip
def test_refused_instances(client, bmc, info, reason):
    uuid = available(client, bmc, instance_info=info)
    shown = client.get(f'/v1/nodes/{uuid}/validate')['boot']
    assert shown['result'] is False
    assert reason in shown['reason']
    response = client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'active'})
    assert (response.status_int, shown['reason'] in message(response)) == (400, True)


def test_refused_boot_interface(client, bmc):
    uuid = available(client, bmc, boot_interface='noop')
    assert 'needs the boot interface' in client.get(f'/v1/nodes/{uuid}/validate')['deploy']['reason']


@pytest.mark.parametrize(('path', 'reason'), [
    ('/404/1000000', 'The server of the image answers 404.'),
    ('/410/1000000', 'The server of the image answers 410.'),
    ('/200/1000', 'The image has 1000 bytes, so it is no ISO image.'),
    ('/200/1000000', None),
    ('/200/0', None),
    ('/200/' + '9' * 5000, None),
    ('/403/1000', None),
    ('/405/1000', None),
    ('/500/1000', None),
])  # fmt: skip
def test_what_the_server_of_the_image_shows(client, bmc, images, path, reason):
    """A bad image is refused before the machine is touched. Some servers refuse HEAD."""
    bmc.system['PowerState'] = 'On'
    uuid = available(client, bmc)
    node = change(client, uuid, 'active', images + path)
    assert node['provision_state'] == ('deploy failed' if reason else 'active')
    assert (node['last_error'] or '').endswith(reason or '')
    if reason:
        assert bmc.system['PowerState'] == 'On'


def test_a_server_of_the_image_that_only_the_bmc_reaches(client, bmc):
    uuid = available(client, bmc)
    assert change(client, uuid, 'active', 'http://127.0.0.1:1/a.iso')['provision_state'] == 'active'


def _forgets(bmc):
    """Forget the boot source."""

    def answer(handler):
        if handler.command == 'PATCH':
            handler.answer(None, 204)
        else:
            handler.answer(bmc.system)

    bmc.answers['/Systems/1'] = answer


def _refuses_images(bmc):
    path = f'{CD}/Actions/VirtualMedia.InsertMedia'
    bmc.answers[path] = lambda handler: handler.answer({'error': {'message': 'No licence.'}}, 400)


def _keeps_images(bmc):
    bmc.documents[CD].update(Inserted=True, Image='http://old')
    bmc.answers[f'{CD}/Actions/VirtualMedia.EjectMedia'] = lambda handler: handler.answer(None, 204)


def _cannot_boot_it(bmc):
    bmc.system['Boot']['BootSourceOverrideTarget@Redfish.AllowableValues'].remove('Cd')


def _stays_on(bmc):
    bmc.system['PowerState'] = 'On'
    bmc.reset = lambda kind: None


def _has_no_media(bmc):
    del bmc.system['VirtualMedia']


@pytest.mark.parametrize(('break_it', 'reason'), [
    (_forgets, 'The BMC does not keep the boot source.'),
    (_refuses_images, 'The BMC answers 400. No licence.'),
    (_keeps_images, 'The BMC does not eject the image of a virtual medium.'),
    (_cannot_boot_it, 'The BMC cannot boot from a virtual CD.'),
    (_stays_on, 'The machine does not power off.'),
    (_has_no_media, 'The BMC has no virtual cdrom.'),
])  # fmt: skip
def test_bmcs_that_cannot_do_it(client, bmc, images, break_it, reason):
    """The error is clear, and the next attempt succeeds if the BMC can do it then."""
    system = dict(bmc.system)
    uuid, image, reset = available(client, bmc), f'{images}/200/1000000', bmc.reset
    break_it(bmc)
    node = change(client, uuid, 'active', image)
    assert node['provision_state'] == 'deploy failed'
    assert node['last_error'].endswith(f'failed: {reason}')
    assert bmc.boots == []
    bmc.answers.clear()
    bmc.reset = reset
    bmc.system.update(system)
    boot = bmc.system['Boot']
    boot['BootSourceOverrideTarget@Redfish.AllowableValues'] = ['Cd']
    assert change(client, uuid, 'active')['provision_state'] == 'active'
    assert bmc.boots == [image]


def _flaky(bmc, path, times, status=503):
    """Let a path answer an error some times."""
    left = [times]

    def answer(handler):
        if left[0]:
            left[0] -= 1
            handler.answer({'error': {'message': 'Busy.'}}, status)
        else:
            del bmc.answers[path]
            handler.serve(path)

    bmc.answers[path] = answer


@pytest.mark.parametrize('path', [
    '/Systems/1',
    '/Systems/1/Actions/ComputerSystem.Reset',
    '/Systems/1/VirtualMedia',
    CD,
    f'{CD}/Actions/VirtualMedia.InsertMedia',
    f'{CD}/Actions/VirtualMedia.EjectMedia',
])  # fmt: skip
@pytest.mark.parametrize('status', [500, 409])
def test_bmcs_that_fail_for_a_while(client, bmc, images, path, status):
    image = f'{images}/200/1000000'
    bmc.system['PowerState'] = 'On'
    bmc.documents[CD].update(Inserted=True, Image='http://old')
    uuid = available(client, bmc)
    _flaky(bmc, path, 4, status)
    assert change(client, uuid, 'active', image)['provision_state'] == 'active'
    assert bmc.boots == [image]


def test_a_refused_password_is_not_tried_again(client, bmc, images):
    uuid = available(client, bmc)
    bmc.refused, before = True, len(bmc.requests)
    node = change(client, uuid, 'active', f'{images}/200/1000000')
    assert node['last_error'].endswith('The BMC refuses the user name or the password (401).')
    assert len([each for each in bmc.requests[before:] if each[0] == 'POST']) == 1


def test_a_bmc_that_takes_a_while(client, bmc, images):
    """It shows for a while what was before: the power state, and that nothing is inserted."""
    bmc.system['PowerState'] = 'On'
    uuid, image = available(client, bmc), f'{images}/200/1000000'
    reset, later = bmc.reset, []
    bmc.reset = lambda kind: later.append(lambda: reset(kind))
    bmc.answers[f'{CD}/Actions/VirtualMedia.InsertMedia'] = lambda handler: (
        later.append(lambda: bmc.documents[CD].update(Inserted=True, Image=image)),
        handler.answer(None, 202),
    )
    change(client, uuid, 'active', image, times=0)
    for _ in range(MANY):
        work(client, 2)
        while later:
            later.pop()()
    assert client.get(f'/v1/nodes/{uuid}')['provision_state'] == 'active'
    assert bmc.boots == [image]


def _move_media(bmc):
    """Move the media to the Manager, where older BMCs have them."""
    del bmc.system['VirtualMedia']
    bmc.system['Links'] = {'ManagedBy': [to('/Managers/1')]}
    bmc.documents['/Managers/1'] = {'Id': '1', 'VirtualMedia': to('/Managers/1/VirtualMedia')}
    bmc.documents |= media('/Managers/1', Cd=['DVD'])


def test_media_of_the_manager(client, bmc, images):
    _move_media(bmc)
    uuid, image = available(client, bmc), f'{images}/200/1000000'
    assert change(client, uuid, 'active', image)['provision_state'] == 'active'
    assert bmc.media == {'/Managers/1/VirtualMedia/Cd': image}
    assert bmc.boots == [image]


@pytest.mark.parametrize('verb', ['active', 'deleted'])
def test_a_manager_that_fails_for_a_while(client, bmc, images, verb):
    _move_media(bmc)
    uuid, image = available(client, bmc), f'{images}/200/1000000'
    if verb == 'deleted':
        change(client, uuid, 'active', image)
    _flaky(bmc, '/Managers/1', 12)
    assert change(client, uuid, verb, image if verb == 'active' else None)['last_error'] is None
    assert list(bmc.media.values()) == ([image] if verb == 'active' else [])


@pytest.mark.parametrize(('servers', 'end'), [(('1', '2'), ''), (('1', '2'), '/'), (('1',), ''), ((), '')])
def test_media_of_several_machines(client, bmc, images, servers, end):
    """They may show the image of another one. The Manager, or the Systems, say that it is theirs."""
    _move_media(bmc)
    bmc.documents['/Systems']['Members'].append(to('/Systems/2'))
    bmc.documents['/Systems/2'] = dict(bmc.system)
    bmc.documents['/Managers/1']['Links'] = {'ManagerForServers': [to(f'/Systems/{each}{end}') for each in servers]}
    uuid = available(client, bmc, driver_info=bmc.driver_info | {'redfish_system_id': '/redfish/v1/Systems/1'})
    bmc.documents['/Managers/1/VirtualMedia/Cd'].update(Inserted=True, Image='http://other')
    node = change(client, uuid, 'active', f'{images}/200/1000000')
    assert node['last_error'].endswith('The virtual media of the BMC belong to several machines.')
    assert change(client, uuid, 'deleted')['provision_state'] == 'available'
    assert list(bmc.media.values()) == ['http://other']


def test_media_without_actions(client, bmc, images):
    """Lenovo's are changed by PATCH, and only EXT1 and the like take URLs."""
    bmc.documents |= media('/Systems/1', RDOC1=['CD'], EXT1=['CD', 'USBStick'])
    bmc.system['Manufacturer'] = 'Lenovo'
    for path, document in bmc.documents.items():
        if '/VirtualMedia/' in path:
            del document['Actions']
    uuid, image = available(client, bmc), f'{images}/200/1000000'
    assert change(client, uuid, 'active', image)['provision_state'] == 'active'
    assert bmc.media == {'/Systems/1/VirtualMedia/EXT1': image}
    assert change(client, uuid, 'deleted')['provision_state'] == 'available'
    assert bmc.media == {}


def test_another_boot_source(client, bmc, images):
    """Supermicro lists Cd, and boots from UsbCd only."""
    bmc.system['Manufacturer'] = 'Supermicro'
    bmc.system['Boot']['BootSourceOverrideTarget@Redfish.AllowableValues'] = ['Cd', 'UsbCd']
    uuid = available(client, bmc)
    assert change(client, uuid, 'active', f'{images}/200/1000000')['provision_state'] == 'active'
    assert bmc.system['Boot']['BootSourceOverrideTarget'] == 'UsbCd'


def test_attributes_instead_of_a_boot_source(client, bmc, images):
    """Dell's older BMCs."""
    _move_media(bmc)
    bmc.system['Manufacturer'] = 'Dell Inc.'
    bmc.documents['/Managers/1/Attributes'] = {'Attributes': {'ServerBoot.1.BootOnce': 'Disabled'}}
    uuid = available(client, bmc)
    assert change(client, uuid, 'active', f'{images}/200/1000000')['provision_state'] == 'active'
    attributes = bmc.documents['/Managers/1/Attributes']['Attributes']
    assert attributes == {'ServerBoot.1.BootOnce': 'Enabled', 'ServerBoot.1.FirstBootDevice': 'VCD-DVD'}
    bmc.system['Boot']['BootSourceOverrideMode'] = 'Legacy'
    capabilities = [{'op': 'add', 'path': '/instance_info/capabilities', 'value': {'boot_mode': 'uefi'}}]
    assert client.ask('PATCH', f'/v1/nodes/{uuid}', capabilities).status_int == 200
    assert change(client, uuid, 'rebuild')['boot_mode'] == 'uefi'


@pytest.mark.parametrize(('instance', 'node', 'mode'), [
    (None, None, 'Legacy'),
    ({'boot_mode': 'uefi'}, None, 'UEFI'),
    ('{"boot_mode": "uefi"}', 'boot_mode:bios', 'UEFI'),
    (None, 'cpu_vt:true, boot_mode: UEFI', 'UEFI'),
    ('', 'boot_mode:uefi', 'UEFI'),
    ({}, 'boot_mode:bios', 'Legacy'),
])  # fmt: skip
def test_boot_mode(client, bmc, images, instance, node, mode):
    bmc.system['Boot']['BootSourceOverrideMode'] = 'Legacy'
    info = {'capabilities': instance} if instance is not None else {}
    uuid = available(client, bmc, instance_info=info, properties={'capabilities': node} if node else {})
    assert change(client, uuid, 'active', f'{images}/200/1000000')['provision_state'] == 'active'
    assert bmc.system['Boot']['BootSourceOverrideMode'] == mode


NO_OBJECT = 'capabilities in instance_info must be an object, or the JSON of one.'


@pytest.mark.parametrize(('capabilities', 'reason'), [
    ({'boot_mode': 'efi'}, 'The boot mode in the capabilities must be one of: uefi, bios.'),
    ('not JSON', NO_OBJECT),
    ('boot_mode:uefi,secure_boot:true', NO_OBJECT),
    ('[' * 9000, NO_OBJECT),
    (['boot_mode'], NO_OBJECT),
    ({'secure_boot': 'yes'}, 'secure_boot in the capabilities must be true or false.'),
    ({'secure_boot': 1}, 'secure_boot in the capabilities must be true or false.'),
    ({'secure_boot': ['true']}, 'secure_boot in the capabilities must be true or false.'),
    ({'secure_boot': 'true', 'boot_mode': 'bios'}, 'secure_boot in the capabilities needs the boot mode uefi.'),
])  # fmt: skip
def test_refused_capabilities(client, bmc, capabilities, reason):
    info = {'boot_iso': 'http://10.0.0.9/a.iso', 'capabilities': capabilities}
    uuid = available(client, bmc, instance_info=info)
    assert client.get(f'/v1/nodes/{uuid}/validate')['boot'] == {'result': False, 'reason': reason}


def has_secure_boot(bmc, mode='UEFI'):
    """Let a BMC know secure boot, which is off."""
    bmc.system['Boot']['BootSourceOverrideMode'] = mode
    bmc.system['SecureBoot'] = to(SECURE)
    bmc.documents[SECURE] = {'Id': 'SecureBoot', 'SecureBootEnable': False}


@pytest.mark.parametrize('capabilities', [
    {'secure_boot': 'true'},
    {'secure_boot': True, 'boot_mode': 'uefi'},
    '{"secure_boot": "True"}',
])  # fmt: skip
def test_secure_boot(client, bmc, images, capabilities):
    """It is on while the instance is on the machine."""
    has_secure_boot(bmc, 'Legacy')
    uuid = available(client, bmc, instance_info={'capabilities': capabilities})
    for verb, image, is_on in (
        ('active', f'{images}/200/1000000', True),
        ('rebuild', None, True),
        ('deleted', None, False),
    ):
        node = change(client, uuid, verb, image)
        assert node['provision_state'] == ('active' if is_on else 'available'), node['last_error']
        assert bmc.documents[SECURE]['SecureBootEnable'] is is_on
        assert (node['boot_mode'], node['secure_boot']) == ('uefi', is_on)


def test_a_node_without_secure_boot(client, bmc, images):
    """What the machine has is left alone, and shown."""
    has_secure_boot(bmc)
    bmc.documents[SECURE]['SecureBootEnable'] = True
    for capabilities in ({}, {'secure_boot': 'false'}):
        uuid = available(client, bmc, instance_info={'capabilities': capabilities})
        for verb, image in (('active', f'{images}/200/1000000'), ('deleted', None)):
            node = change(client, uuid, verb, image)
            assert (node['boot_mode'], node['secure_boot'], node['last_error']) == ('uefi', True, None)
            assert bmc.documents[SECURE]['SecureBootEnable'] is True


def test_a_bmc_that_does_not_know_secure_boot(client, bmc, images):
    """The machine is not touched. What has ended can be undeployed."""
    bmc.system['PowerState'] = 'On'
    uuid = available(client, bmc, instance_info={'capabilities': {'secure_boot': 'true'}})
    node = change(client, uuid, 'active', f'{images}/200/1000000')
    assert (node['provision_state'], node['secure_boot']) == ('deploy failed', None)
    assert node['last_error'].endswith('The BMC does not know secure boot.')
    assert bmc.system['PowerState'] == 'On'
    assert change(client, uuid, 'deleted')['provision_state'] == 'available'


def _once(path, kind, status=503):
    """Return a function that lets a BMC fail once at a change of a document."""

    def break_it(bmc):
        failures = []

        def answer(handler):
            if handler.command == 'PATCH' and kind in handler.body and not failures:
                failures.append(path)
                handler.answer({'error': {'message': 'Busy'}}, status)
            else:
                handler.serve(path)

        bmc.answers[path] = answer

    return break_it


@pytest.mark.parametrize('break_it', [_once(SECURE, 'SecureBootEnable'), _once('/Systems/1', 'Boot')])
def test_secure_boot_of_a_bmc_that_fails_once(client, bmc, images, break_it):
    has_secure_boot(bmc)
    uuid = available(client, bmc, instance_info={'capabilities': {'secure_boot': 'true'}})
    break_it(bmc)
    node = change(client, uuid, 'active', f'{images}/200/1000000')
    assert (node['provision_state'], node['secure_boot']) == ('active', True)
    assert bmc.documents[SECURE]['SecureBootEnable'] is True


def test_secure_boot_that_is_forgotten(client, bmc, images):
    has_secure_boot(bmc)
    bmc.answers[SECURE] = lambda handler: (
        handler.answer(None, 204) if handler.command == 'PATCH' else handler.answer(bmc.documents[SECURE])
    )
    uuid = available(client, bmc, instance_info={'capabilities': {'secure_boot': 'true'}})
    node = change(client, uuid, 'active', f'{images}/200/1000000')
    assert node['last_error'].endswith('The BMC does not keep the change of secure boot.')
    assert bmc.system['PowerState'] == 'Off'
    # Others change it when the machine boots.
    bmc.documents[SECURE]['@Redfish.Settings'] = {}
    assert change(client, uuid, 'active')['provision_state'] == 'active'


def test_secure_boot_with_settings_that_are_pending(client, bmc, images):
    """The BMC shows the boot mode that the machine will have in another document."""
    has_secure_boot(bmc, 'Legacy')
    later = '/Systems/1/Settings'
    bmc.system['@Redfish.Settings'] = {'SettingsObject': to(later)}
    bmc.documents[later] = {'Boot': {**bmc.system['Boot'], 'BootSourceOverrideMode': 'UEFI'}}
    uuid = available(client, bmc, instance_info={'capabilities': {'secure_boot': 'true'}})
    node = change(client, uuid, 'active', f'{images}/200/1000000')
    assert (node['provision_state'], node['secure_boot']) == ('active', True)


def test_secure_boot_that_cannot_be_ended(client, bmc, images):
    """The undeploy does not fail. The node shows that it is on."""
    has_secure_boot(bmc)
    uuid = available(client, bmc, instance_info={'capabilities': {'secure_boot': 'true'}})
    assert change(client, uuid, 'active', f'{images}/200/1000000')['provision_state'] == 'active'
    del bmc.documents[SECURE]
    node = change(client, uuid, 'deleted')
    assert (node['provision_state'], node['secure_boot'], bmc.media) == ('available', True, {})


def test_secure_boot_of_a_node_with_bios(client, bmc, images):
    """The instance counts, as in Ironic."""
    has_secure_boot(bmc, 'Legacy')
    more = {
        'instance_info': {'capabilities': {'secure_boot': 'true'}},
        'properties': {'capabilities': 'boot_mode:bios'},
    }
    node = change(client, available(client, bmc, **more), 'active', f'{images}/200/1000000')
    assert (node['provision_state'], node['boot_mode'], node['secure_boot']) == ('active', 'uefi', True)


def test_config_drive(client, bmc, images):
    uuid, image, drive = available(client, bmc), f'{images}/200/1000000', 'http://10.0.0.9/drive'
    assert change(client, uuid, 'active', image, configdrive=drive)['provision_state'] == 'active'
    assert bmc.media == {CD: image, '/Systems/1/VirtualMedia/Usb': drive}
    assert change(client, uuid, 'deleted')['provision_state'] == 'available'
    assert bmc.media == {}


def test_a_rebuild_without_the_config_drive(client, bmc, images):
    uuid, image = available(client, bmc), f'{images}/200/1000000'
    change(client, uuid, 'active', image, configdrive='http://10.0.0.9/drive')
    patch = [{'op': 'remove', 'path': '/instance_info/configdrive'}]
    assert client.ask('PATCH', f'/v1/nodes/{uuid}', patch).status_int == 200
    assert change(client, uuid, 'rebuild', image)['provision_state'] == 'active'
    assert bmc.media == {CD: image}


def test_a_medium_that_can_be_both(client, bmc, images):
    """It is left for the config drive, if another one can be the CD."""
    bmc.documents[CD]['MediaTypes'] = ['CD', 'USBStick']
    bmc.documents['/Systems/1/VirtualMedia/Usb']['MediaTypes'] = ['CD', 'DVD']
    uuid, image = available(client, bmc), f'{images}/200/1000000'
    assert change(client, uuid, 'active', image, configdrive='http://10.0.0.9/a')['provision_state'] == 'active'
    assert bmc.media == {CD: 'http://10.0.0.9/a', '/Systems/1/VirtualMedia/Usb': image}


@pytest.mark.parametrize('kinds', [[], ['CD', 'USBStick']])
def test_a_bmc_without_a_medium_for_the_config_drive(client, bmc, images, kinds):
    bmc.documents[CD]['MediaTypes'] = kinds or ['CD']
    bmc.documents['/Systems/1/VirtualMedia']['Members'].pop()
    bmc.system['PowerState'] = 'On'
    node = change(client, available(client, bmc), 'active', f'{images}/200/1000000', configdrive='http://10.0.0.9/a')
    reason = 'The BMC has only one virtual medium for cdrom and disk.' if kinds else 'The BMC has no virtual disk.'
    assert node['last_error'].endswith(reason)
    assert bmc.system['PowerState'] == 'On'


@pytest.fixture(scope='module')
def glance(tmp_path_factory):
    """The URL of a real Glance."""
    with peer('tests.support.glance_server', tmp_path_factory.mktemp('glance'), free_port()) as url:
        yield url


def _image(glance, **properties):
    document = {'disk_format': 'raw', 'container_format': 'bare', **properties}
    return json.loads(ask(glance, 'POST', '/v2/images', document)[2])['id']


def test_images_of_glance(database_url, bmc, images, glance):
    """As in Ironic, the ISO image is a property of the image, which nova names. A rebuild looks again."""
    urls = [f'{images}/200/1000000/{name}.iso' for name in ('one', 'two')]
    one, two, none = (_image(glance, boot_iso_id=urls[0]), _image(glance, boot_iso_id=urls[1]), _image(glance))
    with bmc_client(database_url, glance__endpoint_override=glance) as client:
        uuid = available(client, bmc, instance_info={'image_source': one})
        assert client.get(f'/v1/nodes/{uuid}/validate')['boot']['result']
        assert change(client, uuid, 'active')['provision_state'] == 'active'
        set_image = [{'op': 'add', 'path': '/instance_info/image_source', 'value': two}]
        assert client.ask('PATCH', f'/v1/nodes/{uuid}', set_image).status_int == 200
        node = change(client, uuid, 'rebuild')
        assert node['instance_info'] == {'image_source': two, 'boot_iso': urls[1], 'original_image_source': two}
        assert bmc.boots == urls
        set_image[0]['value'] = none
        assert client.ask('PATCH', f'/v1/nodes/{uuid}', set_image).status_int == 200
        response = client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'rebuild'})
        assert (response.status_int, 'has no property boot_iso_id' in message(response)) == (400, True)
        # One that the instance names itself counts more.
        info = {'image_source': none, 'boot_iso': urls[0]}
        client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/instance_info', 'value': info}])
        assert change(client, uuid, 'rebuild')['provision_state'] == 'active'
        assert bmc.boots == [*urls, urls[0]]


def test_a_machine_that_must_stay_on(client, bmc, images):
    bmc.system['PowerState'] = 'On'
    uuid, image = available(client, bmc, disable_power_off=True), f'{images}/200/1000000'
    assert change(client, uuid, 'active', image)['provision_state'] == 'active'
    assert bmc.boots == [image]
    assert change(client, uuid, 'deleted')['provision_state'] == 'available'
    assert (bmc.system['PowerState'], bmc.media) == ('On', {})


def test_undeploy_of_a_node_that_is_to_be_cleaned(client, bmc, images):
    """The instance ends, but the node is not available: its disks are not erased."""
    uuid = available(client, bmc, automated_clean=True)
    change(client, uuid, 'active', f'{images}/200/1000000')
    node = change(client, uuid, 'deleted')
    assert node['provision_state'] == 'error'
    assert 'does not erase disks' in node['last_error']
    assert (bmc.system['PowerState'], bmc.media, node['power_state']) == ('Off', {}, 'power off')
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'replace', 'path': '/automated_clean', 'value': False}])
    assert change(client, uuid, 'deleted')['provision_state'] == 'available'


def test_what_a_tenant_has_attached(client, bmc, images):
    """It does not stay for the next one."""
    uuid = available(client, bmc)
    change(client, uuid, 'active', f'{images}/200/1000000')
    body = {'device_type': 'disk', 'image_url': 'http://10.0.0.9/mine'}
    assert client.ask('POST', f'/v1/nodes/{uuid}/vmedia', body, version='1.89').status_int == 204
    assert len(bmc.media) == 2
    assert change(client, uuid, 'deleted')['provision_state'] == 'available'
    assert bmc.media == {}


def test_what_the_user_of_an_adopted_node_has_attached(client, bmc):
    """It does not stay for the next one, also without the deploy interface ramdisk."""
    uuid = available(client, bmc, deploy_interface='noop', boot_interface='noop')
    for verb in ('manage', 'adopt'):
        change(client, uuid, verb)
    body = {'device_type': 'disk', 'image_url': 'http://10.0.0.9/mine'}
    assert client.ask('POST', f'/v1/nodes/{uuid}/vmedia', body, version='1.89').status_int == 204
    assert bmc.media
    assert change(client, uuid, 'deleted')['provision_state'] == 'available'
    assert bmc.media == {}


@pytest.mark.parametrize('shown', [
    'http://10.0.0.9/other.iso',
    'http://10.0.0.9/200/1000000/one.iso',
])  # fmt: skip
def test_an_image_of_others(client, bmc, images, shown):
    """An image that comes into the medium after the machine was prepared is not booted."""
    uuid, image = available(client, bmc), f'{images}/200/1000000/one.iso'
    begun = []

    def insert_first(method, path, done):
        if (
            not begun
            and path == CD
            and client.get(f'/v1/nodes/{uuid}')['deploy_step'].get('step') == 'prepare_instance_boot'
        ):
            begun.append(path)
            bmc.documents[CD].update(Inserted=True, Image=shown)

    bmc.interrupt = insert_first
    assert change(client, uuid, 'active', image)['provision_state'] == 'active'
    assert begun
    assert bmc.boots == [image]


@pytest.mark.parametrize('shown', [
    None,
    'one.iso',
    '//10.0.0.9/other',
    'http://******@127.0.0.1/200/1000000/a%20b/one',
])  # fmt: skip
def test_how_bmcs_show_images(client, bmc, shown):
    """They may leave out the password, the end of a long URL, or all of it."""
    image = 'http://me:pw@127.0.0.1:1/200/1000000/a%20b/one.iso?a=b'

    def answer(handler):
        bmc.documents[CD].update(Inserted=True, Image=shown)
        handler.answer(None, 204)

    bmc.answers[f'{CD}/Actions/VirtualMedia.InsertMedia'] = answer
    assert change(client, available(client, bmc), 'active', image)['provision_state'] == 'active'


def test_an_image_that_is_dropped(client, bmc, images):
    """A BMC that cannot read the image may show it as inserted for a moment. The machine boots nothing else."""

    def drop(method, path, done):
        if method == 'PATCH' and path == '/Systems/1':
            bmc.documents[CD].update(Inserted=False, Image=None)

    bmc.interrupt = drop
    node = change(client, available(client, bmc), 'active', f'{images}/200/1000000')
    assert node['provision_state'] == 'deploy failed'
    assert node['last_error'].endswith('The BMC has ejected an image. Perhaps it cannot read its URL.')
    assert bmc.boots == []


def test_undeploy_of_a_machine_that_powers_on(client, bmc, images):
    """It is powered off."""
    uuid = available(client, bmc)
    change(client, uuid, 'active', f'{images}/200/1000000')
    bmc.system['PowerState'] = 'PoweringOn'
    assert change(client, uuid, 'deleted')['provision_state'] == 'available'
    assert bmc.system['PowerState'] == 'Off'


def test_media_that_are_attached_during_a_deploy(client, bmc, images):
    bmc.answers[f'{CD}/Actions/VirtualMedia.InsertMedia'] = lambda handler: handler.answer(None, 202)
    uuid = available(client, bmc)
    change(client, uuid, 'active', f'{images}/200/1000000', times=3)
    body = {'device_type': 'cdrom', 'image_url': 'http://10.0.0.9/other.iso'}
    for method in ('POST', 'DELETE'):
        response = client.ask(method, f'/v1/nodes/{uuid}/vmedia', body if method == 'POST' else None, version='1.89')
        assert (response.status_int, 'wait call-back' in message(response)) == (409, True)


def test_a_machine_that_is_powered_on_during_the_deploy(client, bmc, images):
    """It has booted something else."""
    uuid = available(client, bmc)
    step = {'interface': 'power', 'step': 'power_on', 'args': {}, 'priority': 40}
    node = change(client, uuid, 'active', f'{images}/200/1000000', deploy_steps=[step])
    assert node['provision_state'] == 'deploy failed'
    assert node['last_error'].endswith('The machine was powered on during the deploy.')


def test_a_machine_that_powers_on_slowly(client, bmc, images):
    """The boot source is not set again while the machine boots: it would boot the image twice."""
    uuid, reset, looks = available(client, bmc), bmc.reset, []

    def slow(kind):
        reset(kind)
        if kind == 'On':
            bmc.system['PowerState'] = 'PoweringOn'

    def interrupt(method, path, done):
        if method == 'GET' and path == '/Systems/1' and bmc.system['PowerState'] == 'PoweringOn':
            looks.append(path)
            if len(looks) > 20:
                bmc.system['PowerState'] = 'On'

    bmc.reset, bmc.interrupt = slow, interrupt
    assert change(client, uuid, 'active', f'{images}/200/1000000')['provision_state'] == 'active'
    assert (len(bmc.boots), bmc.system['Boot']['BootSourceOverrideEnabled']) == (1, 'Disabled')


def test_secrets_of_images_are_not_repeated(client, bmc, images):
    uuid, host = available(client, bmc), images.removeprefix('http://')
    image = f'http://me:pw-secret@{host}/200/1000000?token=tok-secret'
    text = f'Cannot fetch {image}, of me:pw-secret, with token=tok-secret.'
    path = f'{CD}/Actions/VirtualMedia.InsertMedia'
    bmc.answers[path] = lambda handler: handler.answer({'error': {'message': text}}, 400)
    node = change(client, uuid, 'active', image)
    assert node['last_error'].endswith('Cannot fetch ***, of ***, with ***.')
    response = client.ask(
        'POST', f'/v1/nodes/{uuid}/vmedia', {'device_type': 'cdrom', 'image_url': image}, version='1.89'
    )
    assert (response.status_int, 'secret' in response.text) == (502, False)
    bmc.documents[CD].update(Inserted=True, Image=f'http://me:pw%40secret@{host}/a.iso?token=tok-secret')
    answer = {'error': {'message': f'Cannot eject {bmc.documents[CD]["Image"]} of pw@secret.'}}
    bmc.answers[f'{CD}/Actions/VirtualMedia.EjectMedia'] = lambda handler: handler.answer(answer, 400)
    response = client.ask('DELETE', f'/v1/nodes/{uuid}/vmedia', version='1.89')
    assert (response.status_int, 'secret' in response.text) == (502, False)


def test_a_missing_licence_is_not_a_wrong_password(client, bmc, images):
    path = f'{CD}/Actions/VirtualMedia.InsertMedia'
    bmc.answers[path] = lambda handler: handler.answer({'error': {'message': 'Not licensed.'}}, 403)
    node = change(client, available(client, bmc), 'active', f'{images}/200/1000000')
    assert node['last_error'].endswith('The BMC answers 403. Not licensed.')


def test_a_bmc_that_refuses_to_eject(client, bmc, images):
    """The node can be undeployed without it."""
    uuid = available(client, bmc)
    change(client, uuid, 'active', f'{images}/200/1000000')
    bmc.answers['/Systems/1/VirtualMedia'] = lambda handler: handler.answer({'error': {}}, 403)
    node = change(client, uuid, 'deleted')
    assert node['provision_state'] == 'error'
    assert 'set maintenance and then deploy_interface to noop' in node['last_error']
    for patch in ('maintenance', True), ('deploy_interface', 'noop'), ('maintenance', False):
        path, value = patch
        response = client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': f'/{path}', 'value': value}])
        assert response.status_int == 200, response.text
    assert change(client, uuid, 'deleted')['provision_state'] == 'available'


def test_steps_of_others(client, bmc, images):
    uuid = available(client, bmc)
    patch = [{'op': 'add', 'path': '/instance_info/boot_iso', 'value': f'{images}/200/1000000'}]
    assert client.ask('PATCH', f'/v1/nodes/{uuid}', patch).status_int == 200
    step = {'interface': 'deploy', 'step': 'write_image', 'args': {}, 'priority': 80}
    body = {'target': 'active', 'deploy_steps': [step]}
    response = client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', body)
    assert response.status_int == 400
    assert 'node does not support this deploy step' in message(response)


def test_another_image_of_glance_in_the_meantime(database_url, bmc, images, glance, monkeypatch):
    """It is set after its ISO image was looked up, and before the deploy begins."""
    one, two = (_image(glance, boot_iso_id=f'{images}/200/1000000/{name}.iso') for name in ('one', 'two'))

    def look_up(*arguments, original=boot_images.glance.image):
        monkeypatch.undo()
        found = original(*arguments)
        set_image = [{'op': 'add', 'path': '/instance_info/image_source', 'value': two}]
        assert client.ask('PATCH', f'/v1/nodes/{uuid}', set_image).status_int == 200
        return found

    with bmc_client(database_url, glance__endpoint_override=glance) as client:
        uuid = available(client, bmc, instance_info={'image_source': one})
        monkeypatch.setattr(boot_images.glance, 'image', look_up)
        node = change(client, uuid, 'active')
        assert (node['provision_state'], bmc.boots) == ('deploy failed', [])
        assert 'image_source has changed' in node['last_error']
        assert change(client, uuid, 'active')['instance_info']['original_image_source'] == two


def test_delete_in_the_middle(client, bmc, images):
    """A deploy that waits for its BMC can be deleted, and another one begins at the beginning."""
    bmc.answers[f'{CD}/Actions/VirtualMedia.InsertMedia'] = lambda handler: handler.answer(None, 202)
    uuid, image = available(client, bmc), f'{images}/200/1000000'
    assert change(client, uuid, 'active', image, times=3)['provision_state'] == 'wait call-back'
    bmc.answers.clear()
    assert change(client, uuid, 'deleted')['provision_state'] == 'available'
    assert change(client, uuid, 'active', image)['provision_state'] == 'active'
    assert bmc.boots == [image]


#: Changes of the BMC during a deploy: power off, eject, insert, boot source, boot source again, power on.
CHANGES = 6


@pytest.mark.parametrize('is_done', [False, True], ids=['before', 'after'])
@pytest.mark.parametrize('number', range(CHANGES))
def test_a_worker_that_is_killed(client, bmc, images, database_url, tmp_path, number, is_done):
    """Another worker continues where it was killed: before or after a change of the BMC."""
    bmc.system['PowerState'] = 'On'
    bmc.documents[CD].update(Inserted=True, Image='http://old')
    uuid, image, seen = available(client, bmc), f'{images}/200/1000000', []
    (tmp_path / 'a.conf').write_text(
        '[deploy]\nenabled_hardware_types = redfish,fake-hardware\npoll_interval = 0.01\n'
        '[redfish]\nallow_local_addresses = true\npower_sync_interval = 0\n'
    )
    arguments = ('--database', database_url, '--config-file', str(tmp_path / 'a.conf'))
    with (tmp_path / 'log').open('wb') as log:
        worker = commands.start('ironic-traits-worker', *arguments, env=os.environ, cwd=tmp_path, output=log)

    def interrupt(method, path, done):
        if method not in ('GET', 'DELETE') and 'Session' not in path and done == is_done:
            seen.append(path)
            if len(seen) == number + 1:
                worker.kill()
                worker.wait(60)

    bmc.interrupt = interrupt
    try:
        change(client, uuid, 'active', image, times=0)
        wait_until(lambda: transitions.pass_time(client.app, 15) or worker.poll() is not None)
    finally:
        worker.kill()
        worker.wait(60)
    transitions.pass_time(client.app)
    work(client)
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['provision_state'], node['power_state'], bmc.media) == ('active', 'power on', {CD: image}), node
    assert (bmc.boots, bmc.system['PowerState']) == ([image], 'On')


def fail(bmc, client, uuid, path, times, status=503, methods=('GET', 'POST', 'PATCH')):
    """Let a BMC fail some times at requests to a path while a node is in the step boot_instance."""
    left = [status] * times

    def answer(handler):
        step = client.get(f'/v1/nodes/{uuid}')['deploy_step'].get('step')
        if step == 'boot_instance' and handler.command in methods and left:
            handler.answer({'error': {'message': 'Busy.'}}, left.pop())
        else:
            handler.serve(path)

    bmc.answers[path] = answer


def slow_start(bmc):
    """Let a machine power on only when the returned list is popped and called, or stay off after "ForceOff"."""
    reset, waiting = bmc.reset, []

    def later(kind):
        if kind == 'On':
            waiting.append(lambda: reset(kind))
            return None
        waiting.clear()
        return reset(kind)

    bmc.reset = later
    return waiting


def until_it_starts(client, uuid, waiting, image):
    """Deploy a node until its machine has been told to power on."""
    change(client, uuid, 'active', image, times=0)
    for _ in range(MANY):
        work(client, 1)
        if waiting:
            return
    raise AssertionError


@pytest.mark.parametrize('path', ['/Systems/1/Actions/ComputerSystem.Reset', CD])
def test_a_restart_that_fails(client, bmc, images, path):
    """A machine that must stay on has booted the image only if it was restarted."""
    bmc.system['PowerState'] = 'On'
    uuid, one, two = available(client, bmc, disable_power_off=True), *(f'{images}/200/1000000/{n}' for n in (1, 2))
    for verb, image, boots in (('active', one, [one]), ('rebuild', two, [one, two])):
        fail(bmc, client, uuid, path, 3)
        assert change(client, uuid, verb, image)['provision_state'] == 'active'
        assert bmc.boots == boots


def test_an_undeploy_restarts_a_machine_that_must_stay_on(client, bmc, images):
    """So nothing of the instance runs any more."""
    bmc.system['PowerState'], kinds, reset = 'On', [], bmc.reset
    bmc.reset = lambda kind: (kinds.append(kind), reset(kind))
    uuid = available(client, bmc, disable_power_off=True)
    assert change(client, uuid, 'active', f'{images}/200/1000000')['provision_state'] == 'active'
    assert change(client, uuid, 'deleted')['provision_state'] == 'available'
    assert kinds == ['ForceRestart', 'ForceRestart']


def test_a_machine_that_is_powered_on_before_the_bmc_fails(client, bmc, images):
    """The deploy knows that it is on without the image, also if its first looks fail."""
    uuid = available(client, bmc)
    fail(bmc, client, uuid, '/Systems/1', 3, methods=('GET',))
    step = {'interface': 'power', 'step': 'power_on', 'args': {}, 'priority': 40}
    node = change(client, uuid, 'active', f'{images}/200/1000000', deploy_steps=[step])
    assert node['provision_state'] == 'deploy failed'
    assert node['last_error'].endswith('The machine was powered on during the deploy.')


def test_a_bmc_that_drops_the_image_when_it_gets_the_config_drive(client, bmc, images):
    """The config drive does not get the medium of the image, although each medium can have both."""
    for name in ('Cd', 'Usb'):
        bmc.documents[f'/Systems/1/VirtualMedia/{name}']['MediaTypes'] = ['CD', 'DVD', 'USBStick']
    uuid, image, drive = available(client, bmc), f'{images}/200/1000000', 'http://10.0.0.9/drive'

    def drop(method, path, done):
        if method == 'POST' and path.endswith('InsertMedia') and done and len(bmc.media) > 1:
            for document in bmc.documents.values():
                if document.get('Image') == image:
                    document.update(Image=None, Inserted=False)

    bmc.interrupt = drop
    node = change(client, uuid, 'active', image, configdrive=drive)
    assert (node['provision_state'], bmc.boots) == ('deploy failed', [])
    assert list(bmc.media.values()) == [drive]


@pytest.mark.parametrize('status', [403, 500])
def test_a_bmc_that_does_not_switch_secure_boot_off(client, bmc, images, status):
    """The undeploy does not fail because of it."""
    has_secure_boot(bmc)
    bmc.documents[SECURE]['SecureBootEnable'] = True
    refusal = {'error': {'message': 'No privilege.'}}
    bmc.answers[SECURE] = lambda handler: (
        handler.answer(refusal, status) if handler.command == 'PATCH' else handler.serve(SECURE)
    )
    uuid = available(client, bmc, instance_info={'capabilities': {'secure_boot': 'true'}})
    assert change(client, uuid, 'active', f'{images}/200/1000000')['provision_state'] == 'active'
    node = change(client, uuid, 'deleted')
    assert (node['provision_state'], node['secure_boot']) == ('available', True)


def test_a_boot_mode_that_is_shown_late(client, bmc, images):
    """Secure boot is tried again when the BMC shows the mode uefi."""
    has_secure_boot(bmc, 'Legacy')
    modes = []

    def answer(handler):
        if handler.command == 'PATCH' and (mode := handler.body.get('Boot', {}).pop('BootSourceOverrideMode', None)):
            modes.append(mode)
        handler.serve('/Systems/1')

    def show(method, path, done):
        if method == 'DELETE' and modes:
            bmc.system['Boot']['BootSourceOverrideMode'] = modes.pop()

    bmc.answers['/Systems/1'], bmc.interrupt = answer, show
    uuid = available(client, bmc, instance_info={'capabilities': {'secure_boot': 'true'}})
    node = change(client, uuid, 'active', f'{images}/200/1000000')
    assert (node['provision_state'], bmc.documents[SECURE]['SecureBootEnable']) == ('active', True)


def test_an_undeploy_before_the_bmc_shows_that_the_machine_is_on(client, bmc, images):
    uuid, waiting = available(client, bmc), slow_start(bmc)
    until_it_starts(client, uuid, waiting, f'{images}/200/1000000')
    assert change(client, uuid, 'deleted')['provision_state'] == 'available'
    assert not waiting


def test_a_boot_device_in_the_middle_of_a_deploy(client, bmc, images):
    """It would replace the one of the deploy."""
    uuid, waiting = available(client, bmc), slow_start(bmc)
    until_it_starts(client, uuid, waiting, f'{images}/200/1000000')
    path = f'/v1/nodes/{uuid}/management/boot_device'
    assert client.ask('PUT', path, {'boot_device': 'pxe', 'persistent': False}).status_int == 409
    waiting.pop()()
    work(client)
    assert bmc.boots == [f'{images}/200/1000000']


def test_media_of_a_deploy_that_is_held(client, bmc, images):
    """They cannot be detached."""
    uuid, image = available(client, bmc), f'{images}/200/1000000'
    step = {'interface': 'deploy', 'step': 'hold', 'args': {}, 'priority': 40}
    assert change(client, uuid, 'active', image, deploy_steps=[step])['provision_state'] == 'deploy hold'
    assert client.ask('DELETE', f'/v1/nodes/{uuid}/vmedia', version='1.89').status_int == 409
    assert bmc.media == {CD: image}


def test_a_bmc_that_is_gone(client, bmc, images):
    """What last_error says helps."""
    uuid = available(client, bmc)
    change(client, uuid, 'active', f'{images}/200/1000000')

    def patch(**values):
        for name, value in values.items():
            body = [{'op': 'add', 'path': f'/{name.replace("__", "/")}', 'value': value}]
            assert client.ask('PATCH', f'/v1/nodes/{uuid}', body).status_int == 200

    patch(driver_info__redfish_address=f'http://127.0.0.1:{free_port()}')
    node = change(client, uuid, 'deleted')
    assert node['provision_state'] == 'error'
    assert node['last_error'].endswith('If it does not answer at all, set disable_power_off to true, too.')
    patch(maintenance=True, deploy_interface='noop', disable_power_off=True)
    patch(maintenance=False)
    assert change(client, uuid, 'deleted')['provision_state'] == 'available'


def test_a_config_drive_in_instance_info(client, bmc, images):
    """It is used like one in the request for the deploy, and can be removed again."""
    uuid, drive = (
        available(client, bmc, instance_info={'configdrive': 'http://10.0.0.9/drive'}),
        'http://10.0.0.9/other',
    )

    def patch(op, value=None):
        body = [{'op': op, 'path': '/instance_info/configdrive', 'value': value}]
        assert client.ask('PATCH', f'/v1/nodes/{uuid}', body).status_int == 200

    change(client, uuid, 'active', f'{images}/200/1000000')
    assert 'http://10.0.0.9/drive' in bmc.media.values()
    assert client.get(f'/v1/nodes/{uuid}')['instance_info']['configdrive'] == '******'
    change(client, uuid, 'rebuild')
    assert 'http://10.0.0.9/drive' in bmc.media.values()
    patch('replace', drive)
    change(client, uuid, 'rebuild')
    assert bmc.media == {CD: f'{images}/200/1000000', '/Systems/1/VirtualMedia/Usb': drive}
    patch('remove')
    assert change(client, uuid, 'rebuild')['provision_state'] == 'active'
    assert 'configdrive' not in client.get(f'/v1/nodes/{uuid}')['instance_info']
    patch('add', 5)
    assert client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'rebuild'}).status_int == 400


def test_a_config_drive_that_the_bmc_cannot_have(client, bmc, images):
    """The deploy succeeds when it is removed from instance_info."""
    bmc.documents['/Systems/1/VirtualMedia']['Members'].pop()
    uuid = available(client, bmc)
    node = change(client, uuid, 'active', f'{images}/200/1000000', configdrive='http://10.0.0.9/a')
    assert node['provision_state'] == 'deploy failed'
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'remove', 'path': '/instance_info/configdrive'}])
    assert change(client, uuid, 'active')['provision_state'] == 'active'


@pytest.mark.parametrize('path', ['/Systems/1/Actions/ComputerSystem.Reset', '/Systems/1'])
def test_a_bmc_that_names_the_image_in_another_answer(client, bmc, images, path):
    """The password and the token of its URL are masked."""
    uuid, host = available(client, bmc), images.removeprefix('http://')
    image = f'http://me:pw-secret@{host}/200/1000000?token=tok-secret'
    refusal = {'error': {'message': f'Cannot boot {image}'}}
    bmc.answers[path] = lambda handler: (
        handler.serve(path) if handler.command == 'GET' else handler.answer(refusal, 400)
    )
    node = change(client, uuid, 'active', image)
    assert 'Cannot boot' in node['last_error']
    assert 'secret' not in node['last_error']
