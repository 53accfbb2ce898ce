"""Config drives of machines that boot an ISO image: the BMC fetches them from the API."""

import base64
import gzip
import json
import logging
import os
import pathlib
import re

import pytest
from openstack.baremetal import configdrive

from ironic_traits.redfish import config_drives
from tests.support import bmc_nodes, transitions
from tests.support.bmc_nodes import bmc_client, work
from tests.support.bmc_server import media, serving
from tests.support.boot_images import iso_files
from tests.support.client import message
from tests.support.redfish_trees import to
from tests.support.service import finish_work

API = 'https://10.0.0.1:6385/metal'
USB = '/Systems/1/VirtualMedia/Usb'
INFO = {'boot_iso': 'http://127.0.0.1:1/a.iso'}
DISK = bytes(range(256)) * 400
MOST = 64 * 2**20
#: In the URL of a drive.
TOKEN = re.compile('[0-9a-f]{64}')


def packed(disk):
    return base64.b64encode(gzip.compress(disk, mtime=0)).decode()


@pytest.fixture
def bmc():
    with serving() as server:
        server.system['VirtualMedia'] = to('/Systems/1/VirtualMedia')
        server.documents |= media('/Systems/1', Cd=['CD'], Usb=['USBStick'])
        yield server


@pytest.fixture
def client(database_url):
    with bmc_client(database_url, deploy__http_url=f'{API}/') as client:
        yield client


def available(client, bmc, **fields):
    """Create a node that is available, and return its uuid."""
    return bmc_nodes.available(client, bmc, **{'instance_info': INFO, **fields})


def change(client, uuid, verb, **more):
    """Request a state, let a worker do it, and return the node."""
    transitions.ask(client, uuid, verb, **more)
    work(client)
    return client.get(f'/v1/nodes/{uuid}')


def fetch(client, bmc, method='GET', **headers):
    """Return the response to the BMC when it fetches its config drive."""
    url = bmc.media[USB]
    assert url.startswith(f'{API}/config_drives/')
    return client.ask(method, url.removeprefix(API), version=None, headers=headers)


def deployed(client, bmc, drive, **fields):
    """Deploy a node with a config drive, and return its uuid."""
    uuid = available(client, bmc, **fields)
    node = change(client, uuid, 'active', configdrive=drive)
    assert (node['provision_state'], node['last_error']) == ('active', None)
    return uuid


def test_an_image(client, bmc):
    uuid = deployed(client, bmc, packed(DISK))
    response = fetch(client, bmc)
    assert (response.status_int, response.body, response.content_type) == (200, DISK, 'application/octet-stream')
    # A rebuild keeps it, and can replace it.
    url = bmc.media[USB]
    change(client, uuid, 'rebuild')
    assert bmc.media[USB] == url
    change(client, uuid, 'rebuild', configdrive=packed(b'other'))
    assert bmc.media[USB] != url
    assert fetch(client, bmc).body == b'other'
    assert client.ask('GET', url.removeprefix(API)).status_int == 404


def test_parts_of_an_image(client, bmc):
    deployed(client, bmc, packed(DISK))
    head = fetch(client, bmc, 'HEAD')
    assert (head.status_int, head.content_length, head.body) == (200, len(DISK), b'')
    assert head.headers['Accept-Ranges'] == 'bytes'
    part = fetch(client, bmc, Range='bytes=2048-4095')
    assert (part.status_int, part.body) == (206, DISK[2048:4096])
    assert part.headers['Content-Range'] == f'bytes 2048-4095/{len(DISK)}'
    refused = fetch(client, bmc, Range=f'bytes={len(DISK)}-')
    assert (refused.status_int, refused.headers['Content-Range']) == (416, f'bytes */{len(DISK)}')
    for asked, start in (
        ('-512', len(DISK) - 512),
        (f'-{len(DISK) + 1}', 0),
        ('512-', 512),
        (f'512-{2 * len(DISK)}', 512),
    ):
        part = fetch(client, bmc, Range=f'bytes={asked}')
        assert (part.status_int, part.body, part.content_length) == (206, DISK[start:], len(DISK) - start)
    assert fetch(client, bmc, Range='bytes=no').body == DISK


def test_several_members(client, bmc):
    """gzip joins files by joining their bytes, and pads them with zeros."""
    members = [gzip.compress(part, mtime=0) for part in (b'', DISK, DISK)]
    deployed(client, bmc, base64.b64encode(b''.join(members) + bytes(512)).decode())
    assert fetch(client, bmc).body == DISK * 2


@pytest.mark.parametrize('lines', ['\n', '\r\n'])
def test_base64_with_lines(client, bmc, lines):
    text = packed(DISK)
    deployed(client, bmc, lines.join(text[place : place + 76] for place in range(0, len(text), 76)) + lines)
    assert fetch(client, bmc).body == DISK


def test_a_document(client, bmc):
    """The drive has the files of openstacksdk, and the names of the node that Ironic adds."""
    document = {
        'meta_data': {'hostname': 'web1', 'public_keys': {'0': 'ssh-ed25519 AAAA'}},
        'network_data': {'links': []},
        'user_data': '#cloud-config\nü\n',
        'vendor_data': {'a': [1]},
    }
    uuid = deployed(client, bmc, document, name='rack9-1')
    label, found = iso_files(fetch(client, bmc).body)
    meta_data = {'uuid': uuid, 'name': 'rack9-1', **document['meta_data']}
    data = [meta_data, document['user_data'].encode()]
    more = {'network_data': document['network_data'], 'vendor_data': document['vendor_data']}
    with configdrive.populate_directory(*data, **more) as folder:
        paths = [path for path in pathlib.Path(folder).rglob('*') if path.is_file()]
        expected = {f'/{path.relative_to(folder)}': path.read_bytes() for path in paths}
    assert label == 'config-2'
    assert found.keys() == expected.keys()
    for path, content in found.items():
        if path.endswith('.json'):
            assert json.loads(content) == json.loads(expected[path])
        else:
            assert content == expected[path]


@pytest.mark.parametrize(('document', 'names'), [
    ({}, ['meta_data.json']),
    ({'meta_data': {'uuid': 'mine'}, 'user_data': {'a': 1}}, ['meta_data.json', 'user_data']),
    ({'meta_data': None, 'user_data': '', 'network_data': {}}, ['meta_data.json']),
])  # fmt: skip
def test_a_document_with_little(client, bmc, document, names):
    uuid = deployed(client, bmc, document)
    _, found = iso_files(fetch(client, bmc).body)
    assert sorted(found) == [f'/openstack/{version}/{name}' for version in ('2012-08-10', 'latest') for name in names]
    meta_data = json.loads(found['/openstack/latest/meta_data.json'])
    assert meta_data == {'uuid': (document.get('meta_data') or {}).get('uuid', uuid)}


BAD = 'The config drive must be a URL, or an image with gzip and base64.'
#: {case: (config drive, why it is refused)}.
REFUSED = {
    'cut': ('H4sIAAAA', BAD),
    'cut near its end': (packed(DISK)[:-8], BAD),
    'no base64': ('not base64', BAD),
    'no gzip': ('bm90IGd6aXA=', BAD),
    'no ASCII': ('é', BAD),
    'no text': ('', BAD),
    'no disk': (packed(b''), BAD),
    'too large': (packed(bytes(MOST + 1)), 'The config drive has more than 64 MiB.'),
    'FTP': ('ftp://10.0.0.9/drive', 'The config drive must be a URL with http or https.'),
    'junk at the end': (base64.b64encode(gzip.compress(DISK, mtime=0) + b'junk').decode(), BAD),
    'the text of a document': ('{"meta_data": {}}', BAD),
    'a brace': ('{', BAD),
    'a list of metadata': ({'meta_data': ['a']}, 'meta_data of the config drive must be an object.'),
    'a text of metadata': ({'meta_data': ''}, 'meta_data of the config drive must be an object.'),
    'a text of a network': ({'network_data': 'a'}, 'network_data of the config drive must be an object.'),
    'a number of user data': ({'user_data': 5}, 'user_data of the config drive must be a text or an object or a list.'),
}


@pytest.mark.parametrize('case', REFUSED)
def test_refused_drives(client, bmc, case):
    drive, reason = REFUSED[case]
    uuid = available(client, bmc)
    response = client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'active', 'configdrive': drive})
    assert (response.status_int, reason in message(response)) == (400, True)
    assert transitions.state(client, uuid) == 'available'


def test_the_largest_drive(client, bmc):
    deployed(client, bmc, packed(bytes(MOST)))
    assert len(fetch(client, bmc).body) == MOST


def test_a_drive_that_is_too_large_for_the_database(database_kind, database_url, bmc):
    """MariaDB has a limit of 16 MiB. It is no outage, and the node can be deployed with another drive."""
    with bmc_client(database_url, deploy__http_url=API, api__max_request_body_size=MOST) as client:
        uuid = available(client, bmc)
        drive = os.urandom(13 * 2**20)
        path, body = f'/v1/nodes/{uuid}/states/provision', {'target': 'active', 'configdrive': packed(drive)}
        response = client.ask('PUT', path, body)
        if database_kind == 'mariadb':
            assert (response.status_int, response.json['code']) == (413, 'baremetal.too_large_for_database')
            assert 'max_allowed_packet' in message(response)
            response = client.ask('PUT', path, body | {'configdrive': packed(drive := DISK)})
        assert response.status_int == 202
        work(client)
        assert fetch(client, bmc).body == drive


@pytest.mark.parametrize(('options', 'base'), [
    ({'api__public_endpoint': 'http://10.0.0.2/metal/'}, 'http://10.0.0.2/metal'),
    ({'api__public_endpoint': 'http://10.0.0.2', 'deploy__http_url': 'http://10.0.0.3:6385'}, 'http://10.0.0.3:6385'),
])  # fmt: skip
def test_the_url_of_the_service(database_url, bmc, options, base):
    with bmc_client(database_url, **options) as client:
        uuid = available(client, bmc)
        assert change(client, uuid, 'active', configdrive=packed(DISK))['provision_state'] == 'active'
        assert bmc.media[USB].startswith(f'{base}/config_drives/{uuid}/')


def test_a_service_without_a_url(database_url, bmc):
    with bmc_client(database_url) as client:
        uuid = available(client, bmc)
        body = {'target': 'active', 'configdrive': packed(DISK)}
        response = client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', body)
        assert (response.status_int, 'Set [deploy] http_url.' in message(response)) == (400, True)
        assert change(client, uuid, 'active', configdrive='http://10.0.0.9/a')['provision_state'] == 'active'


@pytest.mark.parametrize('change_it', [
    lambda path: path.replace('.img', ''),
    lambda path: path.replace('.img', '.iso'),
    lambda path: path[:-5] + ('0' if path[-5] != '0' else '1') + '.img',
    lambda path: path.rpartition('/')[0],
    lambda path: path + '/',
    lambda path: path.replace(path.split('/')[2], 'rack9'),
    lambda path: path.replace(path.split('/')[2], '%C3%A9'),
    lambda path: path.replace('/config_drives', '/placement/config_drives'),
    lambda path: path.replace('config-2-', ''),
])  # fmt: skip
def test_other_paths(client, bmc, change_it):
    deployed(client, bmc, packed(DISK), name='rack9')
    path = change_it(bmc.media[USB].removeprefix(API))
    response = client.ask('GET', path, version=None)
    assert response.status_int == 404
    assert DISK not in response.body


@pytest.mark.parametrize('drive', ['hello', 'http://10.0.0.9/a'])
def test_a_node_whose_drive_is_elsewhere(client, drive, caplog):
    uuid = client.node(automated_clean=False)['uuid']
    for verb, more in (('manage', {}), ('provide', {}), ('active', {'configdrive': drive})):
        transitions.ask(client, uuid, verb, **more)
        finish_work(client.app)
    assert client.ask('GET', config_drives.path(uuid, drive), version=None).status_int == 404
    assert 'Traceback' not in caplog.text


def test_a_token_is_for_one_node_and_one_instance(client, bmc):
    uuid = deployed(client, bmc, packed(DISK))
    path = bmc.media[USB].removeprefix(API)
    with serving() as second:
        second.system['VirtualMedia'] = to('/Systems/1/VirtualMedia')
        second.documents |= media('/Systems/1', Cd=['CD'], Usb=['USBStick'])
        other = deployed(client, second, packed(DISK))
        assert client.ask('GET', path.replace(uuid, other)).status_int == 404
        assert fetch(client, second).body == DISK
    change(client, uuid, 'deleted')
    assert client.ask('GET', path).status_int == 404
    assert bmc.media == {}


@pytest.mark.parametrize('method', ['POST', 'PUT', 'PATCH', 'DELETE'])
def test_methods(client, bmc, method):
    deployed(client, bmc, packed(DISK))
    assert fetch(client, bmc, method).status_int == 404
    assert fetch(client, bmc).body == DISK


def test_a_bmc_has_no_token_of_keystone(database_url, bmc):
    admin = {'X-Auth-Token': 'a:b', 'X-Roles': 'admin,member,reader', 'OpenStack-System-Scope': 'all'}
    options = {'api__auth_strategy': 'noauth2', 'deploy__http_url': API}
    with bmc_client(database_url, **options) as client:
        plain = client.ask
        client.ask = lambda *arguments, headers=(), **more: plain(*arguments, headers=admin | dict(headers), **more)
        deployed(client, bmc, packed(DISK))
        client.ask = plain
        assert client.ask('GET', '/v1/nodes').status_int == 401
        assert fetch(client, bmc).body == DISK


def test_tokens_are_not_shown(database_url, bmc, caplog):
    with bmc_client(database_url, deploy__http_url=API, api__access_log=True) as client, caplog.at_level(logging.INFO):
        uuid = deployed(client, bmc, packed(DISK))
        token = TOKEN.search(bmc.media[USB])[0]
        shown = client.get(f'/v1/nodes/{uuid}/vmedia')
        assert [each['image'] for each in shown if 'USBStick' in each['media_types']] == [
            f'{API}/config_drives/{uuid}/config-2-******.img'
        ]
        assert token not in json.dumps(client.get(f'/v1/nodes/{uuid}'))
        fetch(client, bmc)
        assert f'GET /config_drives/{uuid}/config-2-******.img 200' in caplog.text
        assert token not in caplog.text


@pytest.mark.parametrize('action', ['InsertMedia', 'EjectMedia'])
def test_the_error_of_a_bmc_does_not_repeat_the_token(client, bmc, caplog, action):
    urls = []

    def refuse(handler):
        urls.append(handler.body.get('Image') or urls[-1])
        name = urls[-1].rpartition('/')[2]
        words = ' '.join((urls[-1], urls[-1].removeprefix(API), name, name.removesuffix('.img'), name.upper()))
        handler.answer({'error': {'message': f'Cannot use {words}'}}, 400)

    bmc.answers[f'{USB}/Actions/VirtualMedia.{action}'] = refuse
    uuid = available(client, bmc)
    node = change(client, uuid, 'active', configdrive=packed(DISK))
    if action == 'EjectMedia':
        urls.append(bmc.media[USB])
        node = change(client, uuid, 'deleted')
        body = {'device_types': ['disk']}
        assert 'Cannot use' in client.ask('DELETE', f'/v1/nodes/{uuid}/vmedia', body).text
    assert 'The BMC answers 400. Cannot use ' in node['last_error']
    assert 'config-2-******' in node['last_error']
    token = TOKEN.search(urls[0])[0]
    history = client.get(f'/v1/nodes/{uuid}/history?detail=True')
    assert token not in json.dumps([node, history]).lower()
    assert token not in caplog.text.lower()
