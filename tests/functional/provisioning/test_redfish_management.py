"""The hardware type redfish: what it does in requests, besides boot devices."""

import pytest

from tests.support.bmc_nodes import bmc_client, carry_out, manageable
from tests.support.bmc_server import media, serving, tree
from tests.support.client import message
from tests.support.redfish_trees import collection, to

#: What is tested is the way to the BMC, which is the same on each database.
DATABASES = ('sqlite',)
CHASSIS, DRIVE = '/Chassis/1', '/Systems/1/Storage/1/Drives/2'
SECURE = '/Systems/1/SecureBoot'
ISO = {'device_type': 'cdrom', 'image_url': 'https://me:wORD@images.example/a.iso'}


@pytest.fixture
def bmc():
    documents = tree(
        IndicatorLED='Off',
        SecureBoot=to(SECURE),
        Storage=to('/Systems/1/Storage'),
        VirtualMedia=to('/Systems/1/VirtualMedia'),
        Links={'Chassis': [to(CHASSIS)]},
    )
    documents |= {
        **collection('/Chassis', **{'1': {'UUID': 'c 1/2@3', 'LocationIndicatorActive': True}}),
        **collection('/Systems/1/Storage', **{'1': {'Drives': [to(DRIVE), to('/Drives/missing')]}}),
        DRIVE: {'Id': '2', 'IndicatorLED': 'Unknown'},
        SECURE: {'Id': 'SecureBoot', 'SecureBootEnable': False},
        **media('/Systems/1', cd=['CD', 'DVD'], usb=['USBStick']),
    }
    documents['/Systems/1/VirtualMedia/usb'].update(Inserted=True, Image='https://me:wORD@a/b.img')
    documents['/Systems/1']['Boot']['BootSourceOverrideMode'] = 'Legacy'
    documents['/Systems/1']['Actions']['#ComputerSystem.Reset']['ResetType@Redfish.AllowableValues'].append('Nmi')
    with serving(documents) as server:
        yield server


@pytest.fixture
def client(database_url):
    with bmc_client(database_url) as client:
        yield client


@pytest.fixture
def ask(client, bmc):
    """Function that sends a request about a node with the BMC; it returns the status, and the document or message."""
    uuid = manageable(client, bmc)

    def ask(method, path, body=None):
        response = client.ask(method, f'/v1/nodes/{uuid}{path}', body)
        return response.status_int, message(response) if response.status_int >= 400 else response.body and response.json

    return ask


def changes(bmc):
    """Return the paths of the changes that the BMC got, without those of sessions."""
    return [path for method, path in bmc.requests if method in ('POST', 'PATCH') and 'Sessions' not in path]


def test_inject_nmi(ask, bmc):
    bodies = []
    bmc.answers['/Systems/1/Actions/ComputerSystem.Reset'] = lambda handler: (
        bodies.append(handler.body),
        handler.answer(None, 204),
    )
    assert ask('PUT', '/management/inject_nmi') == (204, b'')
    assert bodies == [{'ResetType': 'Nmi'}]
    bmc.system['Actions']['#ComputerSystem.Reset']['ResetType@Redfish.AllowableValues'].remove('Nmi')
    status, text = ask('PUT', '/management/inject_nmi')
    assert (status, text.startswith('The BMC does not know Nmi. It knows: ForceOff')) == (400, True), text
    assert len(bodies) == 1
    bmc.refused = True
    refused = 'The BMC refuses the user name or the password (401).'
    assert ask('PUT', '/management/inject_nmi') == (502, refused)


def test_set_boot_mode(ask, bmc):
    assert ask('PUT', '/states/boot_mode', {'target': 'uefi'}) == (202, b'')
    assert bmc.system['Boot']['BootSourceOverrideMode'] == 'UEFI'
    assert bmc.system['Boot']['BootSourceOverrideTarget'] == 'None'
    assert ask('GET', '/states')[1]['boot_mode'] == 'uefi'
    # What is so already is not written again.
    assert ask('PUT', '/states/boot_mode', {'target': 'uefi'}) == (202, b'')
    assert len(changes(bmc)) == 1
    bmc.system['Boot']['BootSourceOverrideMode@Redfish.AllowableValues'] = ['UEFI']
    assert ask('PUT', '/states/boot_mode', {'target': 'bios'}) == (
        400,
        'The BMC cannot change the boot mode to Legacy.',
    )
    del bmc.system['Boot']['BootSourceOverrideMode']
    assert ask('PUT', '/states/boot_mode', {'target': 'uefi'})[0] == 400
    assert ask('GET', '/states')[1]['boot_mode'] == 'uefi'


def test_set_secure_boot(ask, bmc):
    path = '/states/secure_boot'
    assert ask('PUT', path, {'target': False}) == (202, b'')
    assert ask('PUT', path, {'target': True}) == (400, 'Secure boot needs the boot mode uefi.')
    assert changes(bmc) == []
    assert ask('GET', '/states')[1]['secure_boot'] is False
    bmc.system['Boot']['BootSourceOverrideMode'] = 'UEFI'
    assert ask('PUT', path, {'target': True}) == (202, b'')
    assert bmc.documents[SECURE]['SecureBootEnable'] is True
    assert ask('GET', '/states')[1]['secure_boot'] is True
    bmc.answers[SECURE] = lambda handler: handler.answer({'error': {'message': 'It is locked'}}, 500)
    assert ask('PUT', path, {'target': False})[0] == 502
    del bmc.system['SecureBoot']
    assert ask('PUT', path, {'target': False}) == (400, 'The BMC does not know secure boot.')
    assert ask('GET', '/states')[1]['secure_boot'] is True


def test_indicators(ask, bmc):
    path, uuid = '/management/indicators', bmc.system['UUID']
    listed = ask('GET', path)[1]['indicators']
    assert {each['name']: each['states'] for each in listed} == {
        'c_1_2_3@chassis': ['off', 'on'],
        f'{uuid}@system': ['blinking', 'off', 'on'],
        '1:2@disk': ['blinking', 'off', 'on'],
    }
    assert not any(each['readonly'] for each in listed)
    assert [each['component'] for each in ask('GET', f'{path}/disk')[1]['indicators']] == ['disk']
    for place, document, before, state, written in (
        (f'{uuid}@system', '/Systems/1', 'off', 'blinking', {'IndicatorLED': 'Blinking'}),
        ('c_1_2_3@chassis', CHASSIS, 'on', 'off', {'LocationIndicatorActive': False}),
        ('1:2@disk', DRIVE, 'unknown', 'on', {'IndicatorLED': 'Lit'}),
    ):
        assert ask('GET', f'{path}/{place}') == (200, {'state': before})
        assert ask('PUT', f'{path}/{place}', {'state': state}) == (204, b'')
        assert bmc.documents[document].items() >= written.items()
        assert ask('GET', f'{path}/{place}') == (200, {'state': state})
    assert ask('PUT', f'{path}/c_1_2_3@chassis', {'state': 'blinking'}) == (
        400,
        'Invalid state blinking specified. Supported are: off, on.',
    )
    assert ask('GET', f'{path}/1:3@disk') == (400, 'Invalid indicator 1:3 specified.')
    assert ask('GET', f'{path}/1@power') == (400, 'Invalid component power specified.')


def test_indicators_with_the_same_name(ask, bmc):
    members = [to(f'/Chassis/{number}') for number in (1, 2, 3)]
    bmc.system['Links'] = {'Chassis': members}
    for number, state in ((1, 'Lit'), (2, 'Off'), (3, 'Blinking')):
        bmc.documents[f'/Chassis/{number}'] = {'UUID': 'same', 'IndicatorLED': state}
    path = '/management/indicators'
    names = [each['name'] for each in ask('GET', f'{path}/chassis')[1]['indicators']]
    assert names == ['same_1@chassis', 'same_2@chassis', 'same_3@chassis']
    assert [ask('GET', f'{path}/{name}')[1]['state'] for name in names] == ['on', 'off', 'blinking']
    assert ask('PUT', f'{path}/{names[1]}', {'state': 'on'}) == (204, b'')
    assert bmc.documents['/Chassis/2']['IndicatorLED'] == 'Lit'
    # A name never means another chassis.
    del bmc.documents['/Chassis/1']
    assert ask('GET', f'{path}/{names[1]}') == (200, {'state': 'on'})
    del bmc.documents['/Chassis/3']
    assert ask('PUT', f'{path}/{names[1]}', {'state': 'off'})[0] == 400


@pytest.mark.parametrize(('mode', 'secure', 'shown'), [
    ('UEFI', True, ('uefi', True)),
    ('Legacy', False, ('bios', False)),
    ('Other', 'yes', (None, None)),
    (None, None, (None, None)),
])  # fmt: skip
def test_what_a_bmc_shows_of_the_boot(client, bmc, mode, secure, shown):
    bmc.system['Boot']['BootSourceOverrideMode'] = mode
    bmc.documents[SECURE]['SecureBootEnable'] = secure
    node = client.get(f'/v1/nodes/{manageable(client, bmc)}/states')
    assert (node['boot_mode'], node['secure_boot']) == shown


def test_secure_boot_that_is_not_implemented(ask, client, bmc):
    """Some BMCs link to a document that they do not have."""
    bmc.system['Boot']['BootSourceOverrideMode'] = 'UEFI'
    bmc.answers[SECURE] = lambda handler: handler.answer({'error': {'message': 'Not implemented'}}, 501)
    assert ask('PUT', '/states/secure_boot', {'target': True}) == (400, 'The BMC does not know secure boot.')
    assert client.get(f'/v1/nodes/{manageable(client, bmc)}/states')['secure_boot'] is None


def test_secure_boot_that_cannot_be_read(client, bmc):
    """What is known of it stays, and the node can be managed."""
    bmc.documents[SECURE]['SecureBootEnable'] = True
    uuid = manageable(client, bmc)
    bmc.answers[SECURE] = lambda handler: handler.answer({'error': {'message': 'Busy'}}, 503)
    bmc.system['Boot']['BootSourceOverrideMode'] = 'UEFI'
    for verb in ('provide', 'manage'):
        carry_out(client, uuid, verb)
    assert carry_out(client, uuid, 'adopt')['provision_state'] == 'active'
    node = client.get(f'/v1/nodes/{uuid}/states')
    assert (node['boot_mode'], node['secure_boot']) == ('uefi', True)


@pytest.mark.parametrize('boot', [[], 'On', 7])
def test_a_boot_that_is_no_object(ask, bmc, boot):
    bmc.system['Boot'] = boot
    for method, path, body in (
        ('GET', '/management/boot_device/supported', None),
        ('PUT', '/management/boot_device', {'boot_device': 'pxe'}),
        ('PUT', '/states/boot_mode', {'target': 'uefi'}),
    ):
        status, text = ask(method, path, body)
        assert status in (400, 502)
        assert text.startswith('The BMC '), text
        assert 'indices' not in text
        assert 'NoneType' not in text


def test_a_machine_without_indicators(ask, bmc):
    for document in (bmc.system, bmc.documents[CHASSIS], bmc.documents[DRIVE]):
        for name in ('IndicatorLED', 'LocationIndicatorActive'):
            document.pop(name, None)
    assert ask('GET', '/management/indicators') == (200, {'indicators': []})
    del bmc.documents['/Systems/1/Storage']
    assert ask('GET', '/management/indicators') == (200, {'indicators': []})


def test_an_etag_is_sent_back(ask, bmc):
    tags = []

    def answer(handler):
        if handler.command == 'PATCH':
            tags.append(handler.headers['If-Match'])
        handler.answer(bmc.documents[CHASSIS], ETag='"7"')

    bmc.answers[CHASSIS] = answer
    assert ask('PUT', '/management/indicators/c_1_2_3@chassis', {'state': 'on'})[0] == 204
    assert tags == ['"7"']


def test_virtual_media(ask, bmc):
    def insert(handler):
        bmc.documents['/Systems/1/VirtualMedia/cd'] |= {'Inserted': True, 'Image': handler.body['Image']}
        handler.answer(None, 204)

    def eject(handler):
        bmc.documents['/Systems/1/VirtualMedia/cd'] |= {'Inserted': False, 'Image': None}
        handler.answer(None, 204)

    actions = '/Systems/1/VirtualMedia/cd/Actions/VirtualMedia'
    bmc.answers |= {f'{actions}.InsertMedia': insert, f'{actions}.EjectMedia': eject}
    usb = {'media_types': ['USBStick'], 'inserted': True, 'image': 'https://******@a/b.img'}
    cd = {'media_types': ['CD', 'DVD'], 'inserted': False, 'image': None}
    assert ask('GET', '/vmedia') == (200, [cd, usb])
    assert ask('POST', '/vmedia', ISO) == (204, b'')
    # The BMC got the whole URL.
    assert bmc.documents['/Systems/1/VirtualMedia/cd']['Image'] == ISO['image_url']
    image = 'https://******@images.example/a.iso'
    assert ask('GET', '/vmedia') == (200, [cd | {'inserted': True, 'image': image}, usb])
    assert ask('DELETE', '/vmedia?device_types=') == (204, b'')
    assert ask('DELETE', '/vmedia?device_types=cdrom') == (204, b'')
    assert ask('GET', '/vmedia') == (200, [cd, usb])
    status, text = ask('POST', '/vmedia', ISO | {'device_type': 'floppy'})
    assert (status, text) == (400, 'The BMC has no virtual floppy.')


@pytest.mark.parametrize(
    ('scheme', 'protocols'),
    [('http', [None, 'HTTP']), ('https', [None, 'HTTPS']), ('nfs', ['NFS']), ('cifs', ['CIFS']), ('smb', ['CIFS'])],
)
def test_a_bmc_that_wants_the_protocol_of_an_image(ask, bmc, scheme, protocols):
    message = {'MessageArgs': ['TransferProtocolType']}
    refusal = {'code': 'Base.1.18.ActionParameterMissing', 'message': 'no', '@Message.ExtendedInfo': [message]}
    bodies = []

    def insert(handler):
        bodies.append(handler.body)
        if 'TransferProtocolType' in handler.body:
            handler.answer(None, 204)
        else:
            handler.answer({'error': refusal}, 400)

    bmc.answers['/Systems/1/VirtualMedia/cd/Actions/VirtualMedia.InsertMedia'] = insert
    assert ask('POST', '/vmedia', ISO | {'image_url': f'{scheme}://images.example/a.iso'}) == (204, b'')
    assert [body.get('TransferProtocolType') for body in bodies] == protocols


def test_media_that_are_not_ejected(ask, bmc):
    """sushy says nothing of it."""
    path = '/Systems/1/VirtualMedia/cd'
    bmc.documents[path] |= {'Inserted': True, 'Image': 'http://a/b.iso'}
    refusal = {'error': {'message': 'Not now'}}
    bmc.answers[f'{path}/Actions/VirtualMedia.EjectMedia'] = lambda handler: handler.answer(refusal, 409)
    assert ask('DELETE', '/vmedia') == (502, 'The BMC does not eject the image of a virtual medium.')


@pytest.mark.parametrize(('properties', 'shown'), [
    ({'Image': 'http://a/\ud800b'}, 'http://a/b'),
    ({'Image': 'http://a/\x00b'}, 'http://a/b'),
    ({'Image': 'N/A', 'ImageName': 'b.iso'}, 'b.iso'),
    ({'Image': ['a'], 'ImageName': 'b.iso'}, 'b.iso'),
    ({'Image': 'http://a/' + 'b' * 5000}, 'http://a/' + 'b' * 4087),
    ({'MediaTypes': ['CD', '\ud800'], 'Image': 'http://a/b'}, 'http://a/b'),
])  # fmt: skip
def test_odd_images(ask, bmc, properties, shown):
    bmc.documents['/Systems/1/VirtualMedia/cd'] |= {'Inserted': True, **properties}
    status, media = ask('GET', '/vmedia')
    assert (status, media[0]['image']) == (200, shown)
