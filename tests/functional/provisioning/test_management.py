"""What drivers do in requests: boot devices and modes, secure boot, indicators, interrupts and virtual media."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.deploy import base
from ironic_traits.deploy.simulated_hardware import INTERFACES
from tests.support.client import Client, message
from tests.support.mirrored_nodes import UUIDS, Store
from tests.support.service import make_app

PATH = '/v1/nodes/{}/management/boot_device'
PXE = {'boot_device': 'pxe', 'persistent': False}
LED = '/v1/nodes/{}/management/indicators/led@system'
NMI = '/v1/nodes/{}/management/inject_nmi'
STATES, MEDIA = '/v1/nodes/{}/states', '/v1/nodes/{}/vmedia'
IMAGE = {'device_type': 'cdrom', 'image_url': 'https://images.example/a.iso'}
#: Requests that read what a worker may be changing.
EXCLUSIVE = (('GET', PATH, None), ('GET', LED, None))
#: Requests that read what no worker changes.
READS = (
    ('GET', f'{PATH}/supported', None),
    ('GET', '/v1/nodes/{}/management/indicators', None),
    ('GET', MEDIA, None),
)
WRITES = (
    ('PUT', PATH, {'boot_device': 'pxe'}),
    ('PUT', LED, {'state': 'off'}),
    ('PUT', NMI, None),
    ('PUT', f'{STATES}/boot_mode', {'target': 'uefi'}),
    ('PUT', f'{STATES}/secure_boot', {'target': True}),
    ('POST', MEDIA, IMAGE),
    ('DELETE', MEDIA, None),
)


class Bench(base.Driver):
    """A driver whose BMC has failed. It has another device for each node, and records its calls."""

    interfaces = {'management': ('bench',), 'power': ('bench',), 'boot': ('bench',), 'deploy': ('bench',)}

    def __init__(self, conf):
        super().__init__(conf)
        self.calls = []

    def work(self, task):
        return base.Done(power_state='power off')

    def boot_devices(self, node):
        return [node['driver_info']['device']]

    def boot_device(self, node):
        raise base.WorkFailed('The BMC does not respond.')

    def set_boot_device(self, node, device, persistent):
        self.calls.append((node['name'], device, persistent))
        with self.service.write() as connection:
            # On SQLite this would wait for ever if the request had a transaction that writes.
            connection.execute(sa.update(tables.nodes).values(description='called'))


class Bare(base.Driver):
    """A driver without boot devices."""

    interfaces = Bench.interfaces

    def work(self, task):
        return base.Done(power_state='power off')


@pytest.fixture
def bench(app):
    """A driver in the service."""
    driver = app.service.drivers['bench'] = Bench(app.service.conf)
    driver.service = app.service
    app.service.drivers['bare'] = Bare(app.service.conf)
    return driver


def test_the_boot_device_that_was_set_is_read_back(client):
    client.node(name='one')
    path = PATH.format('one')
    assert client.get(f'{path}/supported') == {'supported_boot_devices': ['pxe']}
    assert client.get(path) == PXE
    for body, persistent in (
        ({'boot_device': 'pxe', 'persistent': True}, True),
        ({'boot_device': 'pxe'}, False),
        ({'boot_device': 'pxe', 'persistent': 'true'}, True),
        ({'boot_device': 'pxe', 'persistent': None}, False),
    ):
        assert client.ask('PUT', path, body, version='1.5').status_int == 204
        assert client.get(path) == {'boot_device': 'pxe', 'persistent': persistent}
    assert client.get('/v1/nodes/one')['driver_internal_info']['boot_device'] == PXE
    # As in Ironic, the node may be at the end.
    assert client.get('/v1/nodes/management/boot_device/one') == PXE


@pytest.mark.parametrize(
    ('body', 'text'),
    [
        ({'boot_device': 'disk'}, 'Invalid boot device disk specified. Supported are: pxe.'),
        ({}, 'Missing mandatory parameter: boot_device'),
        (None, 'Missing mandatory parameter: boot_device'),
        ({'boot_device': None}, 'Missing mandatory parameter: boot_device'),
        ({'boot_device': 3}, 'boot_device'),
        ({'boot_device': 'pxe', 'persistent': 'perhaps'}, 'persistent'),
        ({'boot_device': 'pxe', 'persistant': True}, 'persistant'),
    ],
)
def test_bodies_that_are_refused(client, body, text):
    client.node(name='one')
    response = client.ask('PUT', PATH.format('one'), body)
    assert response.status_int == 400
    assert text in message(response)
    assert client.get(PATH.format('one')) == PXE


@pytest.mark.parametrize('driver', INTERFACES)
def test_simulated_hardware_has_the_devices_of_ironic(database_url, driver):
    with make_app(database_url, deploy__simulated_hardware_types=list(INTERFACES)) as app:
        client = Client(app)
        for number, interface in enumerate(INTERFACES[driver]['management']):
            client.node(name=f'n{number}', driver=driver, management_interface=interface)
            path = PATH.format(f'n{number}')
            devices = client.get(f'{path}/supported')['supported_boot_devices']
            assert devices[0] == 'pxe'
            assert ('disk' in devices) == (interface != 'fake')
            for device in devices:
                assert client.ask('PUT', path, {'boot_device': device, 'persistent': True}).status_int == 204
                assert client.get(path) == {'boot_device': device, 'persistent': True}


def test_a_driver_is_called_outside_of_transactions(client, bench):
    client.node(name='one', driver='bench', driver_info={'device': 'tape'})
    assert client.get(f'{PATH.format("one")}/supported') == {'supported_boot_devices': ['tape']}
    response = client.ask('PUT', PATH.format('one'), {'boot_device': 'tape', 'persistent': True})
    assert response.status_int == 204, response.text
    assert bench.calls == [('one', 'tape', True)]
    node = client.get('/v1/nodes/one')
    assert (node['description'], node['driver_internal_info']) == ('called', {})


def test_failures_of_hardware(client, bench):
    client.node(name='one', driver='bench', driver_info={'device': 'tape'})
    failed = client.ask('GET', PATH.format('one'))
    assert (failed.status_int, message(failed)) == (502, 'The BMC does not respond.')


@pytest.mark.parametrize(('name', 'request_'), [
    ('get_boot_device', EXCLUSIVE[0]),
    ('get_indicator_state', EXCLUSIVE[1]),
    *zip(('get_supported_boot_devices', 'get_supported_indicators', 'get_virtual_media'), READS, strict=True),
    ('get_supported_boot_devices', WRITES[0]),
    *zip(('set_indicator_state', 'inject_nmi', 'set_boot_mode', 'set_secure_boot_state', 'attach_virtual_media',
          'detach_virtual_media'), WRITES[1:], strict=True),
])  # fmt: skip
def test_what_a_driver_does_not_support(client, bench, name, request_):
    client.node(name='two', driver='bare')
    method, path, body = request_
    refused = client.ask(method, path.format('two'), body)
    text = f'Driver bare does not support {name} (disabled or not implemented).'
    assert (refused.status_int, message(refused)) == (400, text)
    assert client.get(STATES.format('two'))['boot_mode'] is None


def test_a_driver_that_is_not_enabled(client, bench):
    client.node(name='one', driver='bare')
    del client.app.service.drivers['bare']
    response = client.ask('GET', PATH.format('one'))
    assert response.status_int == 404
    assert 'No conductor service registered which supports driver bare' in message(response)


def test_locked_nodes(database_url):
    """As in Ironic, what a driver can do needs no lock."""
    with make_app(database_url, deploy__node_locked_retry_attempts=0) as app:
        client = Client(app)
        client.node(name='one')
        with app.service.write() as connection:
            connection.execute(sa.update(tables.nodes).values(reservation='worker1'))
        for method, path, body in (*EXCLUSIVE, *WRITES):
            response = client.ask(method, path.format('one'), body)
            assert (response.status_int, 'is locked by host worker1' in message(response)) == (409, True), path
        for _, path, _ in READS:
            client.get(path.format('one'))


def test_mirrored_nodes_are_refused(app, client):
    Store(app.service, 'far').nodes({})
    for method, path, body in (*EXCLUSIVE, *READS, *WRITES):
        response = client.ask(method, path.format(UUIDS[0]), body)
        assert (response.status_int, 'is managed by the Ironic of cloud' in message(response)) == (409, True), path


@pytest.mark.parametrize(('method', 'path', 'body'), WRITES)
def test_if_match_is_refused(client, method, path, body):
    client.node(name='one')
    response = client.ask(method, path.format('one'), body, headers={'If-Match': '"a"'})
    assert response.status_int == 400
    assert 'does not support If-Match' in message(response)


@pytest.mark.parametrize(('column', 'values'), [('boot_mode', ['uefi', 'bios']), ('secure_boot', [True, False, 'on'])])
def test_boot_mode_and_secure_boot(client, column, values):
    client.node(name='one')
    for value in values:
        response = client.ask('PUT', f'{STATES.format("one")}/{column}', {'target': value}, version='1.76')
        assert (response.status_int, response.body) == (202, b'')
        assert response.headers['Location'].endswith('/v1/nodes/one/states')
        expected = True if value == 'on' else value
        assert client.get(STATES.format('one'))[column] == client.get('/v1/nodes/one')[column] == expected


@pytest.mark.parametrize(('column', 'body', 'text'), [
    ('boot_mode', {'target': 'efi'}, 'Invalid boot mode efi requested for node. Allowed boot modes are: bios, uefi'),
    ('boot_mode', {'target': None}, 'Invalid boot mode None requested for node.'),
    ('boot_mode', {'target': 3}, 'target'),
    ('secure_boot', {'target': 'perhaps'}, 'target'),
    ('secure_boot', {'target': None}, 'Invalid secure_boot None requested for node.'),
    *((column, body, 'Missing mandatory parameter: target')
      for column in ('boot_mode', 'secure_boot') for body in ({}, None)),
    ('secure_boot', {'enabled': True}, 'enabled'),
])  # fmt: skip
def test_targets_that_are_refused(client, column, body, text):
    client.node(name='one')
    response = client.ask('PUT', f'{STATES.format("one")}/{column}', body)
    assert (response.status_int, text in message(response)) == (400, True), message(response)
    # At an earlier version, the body is not even read.
    assert client.ask('PUT', f'{STATES.format("one")}/{column}', body, version='1.75').status_int == 404


def test_the_boot_mode_of_a_changing_node(client):
    client.node(name='one')
    with client.app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).values(provision_state='clean wait'))
    for column, target in (('boot_mode', 'bios'), ('secure_boot', False)):
        response = client.ask('PUT', f'{STATES.format("one")}/{column}', {'target': target})
        assert (response.status_int, 'is in the state "clean wait"' in message(response)) == (409, True)
        assert client.get(STATES.format('one'))[column] is None


def test_indicators(client):
    client.node(name='one')
    path = '/v1/nodes/one/management/indicators'
    listed = client.get(path)['indicators']
    assert [(each['name'], each['component'], each['readonly'], each['states']) for each in listed] == [
        ('led-0@chassis', 'chassis', True, ['off', 'on']),
        ('led@system', 'system', False, ['blinking', 'off', 'on']),
    ]
    links = {each['rel']: each['href'] for each in listed[1]['links']}
    assert links['self'].endswith(f'{path}/led@system')
    assert links['bookmark'].endswith(f'{path.removeprefix("/v1")}/led@system')
    assert client.get(f'{path}/system') == {'indicators': listed[1:]}
    # As in Ironic, name@component. In its documentation, component/name.
    for name in ('led@system', 'system/led'):
        for state in ('off', 'blinking', 'on'):
            assert client.ask('PUT', f'{path}/{name}', {'state': state}, version='1.5').status_int == 204
            assert client.get(f'{path}/led@system') == client.get(f'{path}/system/led') == {'state': state}
    assert client.get(f'{path}/led-0@chassis') == {'state': 'on'}


@pytest.mark.parametrize(('place', 'body', 'text'), [
    ('led-0@chassis', {'state': 'on'}, 'The indicator led-0@chassis can only be read.'),
    ('led@system', {'state': 'red'}, 'Invalid state red specified. Supported are: blinking, off, on.'),
    ('led@system', {'state': ''}, 'Missing mandatory parameter: state'),
    ('led@system', {}, 'Missing mandatory parameter: state'),
    ('led@system', None, 'Missing mandatory parameter: state'),
    ('led@system', {'state': 1}, 'state'),
    ('led@system', {'status': 'on'}, 'status'),
    ('led', {'state': 'on'}, 'Malformed indicator name "led"'),
    ('led@moon', {'state': 'on'}, 'Invalid component moon specified.'),
    ('moon@system', {'state': 'on'}, 'Invalid indicator moon specified.'),
    ('system/moon', {'state': 'on'}, 'Invalid indicator moon specified.'),
])  # fmt: skip
def test_indicators_that_are_refused(client, place, body, text):
    client.node(name='one')
    path = '/v1/nodes/one/management/indicators'
    response = client.ask('PUT', f'{path}/{place}', body)
    assert (response.status_int, text in message(response)) == (400, True), message(response)
    if 'moon' in place:
        response = client.ask('GET', f'{path}/{place}')
        assert (response.status_int, message(response)) == (400, text)
    assert client.get(f'{path}/led@system') == {'state': 'on'}
    assert client.ask('GET', f'{path}/moon').status_int == 400


def test_inject_nmi(client):
    node = client.node(name='one')
    assert client.ask('PUT', NMI.format('one'), version='1.29').status_int == 204
    assert client.ask('PUT', NMI.format('one'), {}, version='1.28').status_int == 404
    assert client.ask('PUT', NMI.format('one'), {'a': 1}).status_int == 400
    assert client.get('/v1/nodes/one')['driver_internal_info'] == node['driver_internal_info']


def test_virtual_media(client):
    client.node(name='one')
    path = MEDIA.format('one')

    def images():
        return {tuple(each['media_types']): each['image'] for each in client.get(path, version='1.93')}

    empty = {('USBStick',): None, ('CD', 'DVD'): None, ('Floppy',): None}
    assert images() == empty
    for device in ('cdrom', 'disk', 'floppy'):
        body = IMAGE | {'device_type': device, 'image_download_source': 'http'}
        assert client.ask('POST', path, body, version='1.89').status_int == 204
    assert images() == dict.fromkeys(empty, IMAGE['image_url'])
    assert all(each['inserted'] for each in client.get(path))
    assert client.ask('DELETE', f'{path}?device_types=', version='1.89').status_int == 204
    assert images() == dict.fromkeys(empty, IMAGE['image_url'])
    assert client.ask('DELETE', f'{path}?device_types=cdrom,floppy', version='1.89').status_int == 204
    assert images() == empty | {('USBStick',): IMAGE['image_url']}
    assert client.ask('DELETE', path, {'device_types': 'floppy'}).status_int == 204
    assert images() == empty | {('USBStick',): IMAGE['image_url']}
    assert client.ask('DELETE', path, {}).status_int == 204
    assert images() == empty
    assert client.get('/v1/nodes/one')['driver_internal_info'] == {}
    for method, version in (('POST', '1.88'), ('DELETE', '1.88'), ('GET', '1.92')):
        assert client.ask(method, path, IMAGE if method == 'POST' else None, version=version).status_int == 404
    assert client.ask('PUT', path, IMAGE).status_int == 405


@pytest.mark.parametrize(('method', 'query', 'body', 'text'), [
    ('POST', '', {'image_url': 'http://a/b'}, "'device_type' is a required property"),
    ('POST', '', {'device_type': 'cdrom'}, "'image_url' is a required property"),
    ('POST', '', IMAGE | {'device_type': 'tape'}, 'device_type'),
    ('POST', '', IMAGE | {'image_download_source': 'ftp'}, 'image_download_source'),
    ('POST', '', IMAGE | {'username': 'me'}, 'username'),
    ('POST', '', IMAGE | {'image_url': 3}, 'image_url'),
    ('POST', '', IMAGE | {'image_url': 'file:///etc/passwd'}, 'Unsupported or missing URL scheme: file'),
    ('POST', '', IMAGE | {'image_url': 'a.iso'}, 'Unsupported or missing URL scheme: '),
    ('POST', '', IMAGE | {'image_url': 'http://[a'}, 'Invalid image_url'),
    ('POST', '', None, 'The request needs a body'),
    ('DELETE', '?device_types=cdrom,tape', None,
     'Invalid device type(s) tape (valid are disk, cdrom, floppy)'),
    ('DELETE', '', {'device_types': ['tape']}, 'Invalid device type(s) tape'),
    ('DELETE', '', {'devices': ['cdrom']}, 'devices'),
    ('DELETE', '?device=cdrom', None, 'device'),
])  # fmt: skip
def test_media_that_are_refused(client, method, query, body, text):
    client.node(name='one')
    client.ask('POST', MEDIA.format('one'), IMAGE)
    before = client.get('/v1/nodes/one')['driver_internal_info']
    response = client.ask(method, MEDIA.format('one') + query, body)
    assert (response.status_int, text in message(response)) == (400, True), message(response)
    assert client.get('/v1/nodes/one')['driver_internal_info'] == before


def test_secrets_in_the_url_of_an_image_are_not_shown(client):
    client.node(name='one')
    url = 'https://me:wORD@images.example:8443/a.iso?token=kEY#fRAG'
    assert client.ask('POST', MEDIA.format('one'), IMAGE | {'image_url': url}).status_int == 204
    shown = [each['image'] for each in client.get(MEDIA.format('one')) if each['inserted']]
    assert shown == ['https://******@images.example:8443/a.iso?******#******']
    text = client.ask('GET', '/v1/nodes/one').text
    assert not any(secret in text for secret in ('wORD', 'kEY', 'fRAG'))
