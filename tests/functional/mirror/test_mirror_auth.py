"""Mirrors of a real Ironic with authentication: http_basic, and a real keystone."""

import base64
import pathlib

import bcrypt
import pytest
import yaml

from tests.support.client import Client
from tests.support.keystone_client import OPTIONS, SECRET, running
from tests.support.keystone_server import PASSWORD
from tests.support.mirror import Ironic, differences, follower, make_available, write_all, writer
from tests.support.peers import peer
from tests.support.servers import free_port
from tests.support.service import ForkedServer, make_app, upgraded

_POLICY = pathlib.Path(__file__).parents[3] / 'doc' / 'source' / 'examples' / 'ironic-mirror-policy.yaml'
_INSTANCE = 'dddddddd-0000-4000-8000-000000000001'


@pytest.fixture
def new_app(tmp_path):
    """The application on SQLite, because these tests do not test SQL."""
    url = upgraded(f'sqlite:///{tmp_path}/mirror.sqlite')
    with make_app(url, mirror__claims='instance_uuid') as application:
        yield application


@pytest.fixture
def far(tmp_path, monkeypatch):
    """A function that writes the cloud "far" of clouds.yaml."""
    path = tmp_path / 'clouds.yaml'
    monkeypatch.setenv('OS_CLIENT_CONFIG_FILE', str(path))
    return lambda auth_type, **auth: path.write_text(
        yaml.safe_dump({'clouds': {'far': {'auth_type': auth_type, 'auth': auth}}})
    )


@pytest.fixture(scope='module')
def keystone(tmp_path_factory):
    """A real keystone."""
    with running(tmp_path_factory.mktemp('keystone')) as keystone:
        yield keystone


@pytest.fixture(scope='module')
def ironic(keystone, tmp_path_factory):
    """An administrator's client of a real Ironic with that keystone, and the guide's policy for "mirror"."""
    keystone.user('reader', 'reader', 'mirror')
    keystone.user('writer', 'member', 'mirror')
    directory, port = tmp_path_factory.mktemp('ironic'), free_port()
    policy = _POLICY.read_text().replace('1' * 32, keystone.projects['mirror'])
    (directory / 'policy.yaml').write_text(policy)
    # Without a cache, each request would need another one to keystone.
    options = OPTIONS.format(url=keystone.url.removesuffix('/v3'), timeout=60).replace('token_cache_time = -1\n', '')
    text = f'[DEFAULT]\nauth_strategy = keystone\n[oslo_policy]\npolicy_file = {directory}/policy.yaml\n{options}'
    (directory / 'more.conf').write_text(text)
    keystone.serve('baremetal', f'http://127.0.0.1:{port}')
    with peer('tests.support.ironic_server', directory, port) as url:
        ironic = Ironic(url, **{'X-Auth-Token': keystone.login('admin', PASSWORD)})
        chassis = ironic.ask('POST', '/v1/chassis', {'description': 'Rack 1'})['uuid']
        node = ironic.node(name='node1', resource_class='gold', chassis_uuid=chassis, driver_info={'a': 'b'})
        ironic.ask('POST', '/v1/ports', {'node_uuid': node, 'address': '52:54:00:00:00:01'})
        make_available(directory)
        yield ironic


def _credential(keystone, far, user, project, **fields):
    """Let the mirror use a new application credential of a user, and return its path in keystone."""
    token = keystone.login(user, SECRET, project)
    path = f'/users/{keystone.users[user]}/application_credentials'
    credential = keystone.ask('POST', path, {'application_credential': {'name': user, **fields}}, token)
    credential = credential['application_credential']
    names = {f'application_credential_{name}': credential[name] for name in ('id', 'secret')}
    far('v3applicationcredential', auth_url=keystone.url, **names)
    return f'{path}/{credential["id"]}'


def _error(client):
    """Return why the cloud cannot be read; None if it can. Check that it is one line without the password."""
    error = client.get('/v1/mirrors/far')['last_error']
    assert error is None or ('\n' not in error and SECRET not in error)
    return error


def _allow(directory, password):
    """Let the user "mirror" of an Ironic with http_basic have a password, and no other one."""
    hashed = bcrypt.hashpw(password.encode(), bcrypt.gensalt(4)).decode()
    (directory / 'htpasswd').write_text(f'mirror:{hashed}\n')


def test_http_basic(far, new_app, tmp_path_factory):
    """The mirror reads and writes. It uses a new password of clouds.yaml when the old one is refused."""
    directory, client = tmp_path_factory.mktemp('ironic'), Client(new_app)
    _allow(directory, SECRET)
    text = f'[DEFAULT]\nauth_strategy = http_basic\nhttp_basic_auth_user_file = {directory}/htpasswd\n'
    (directory / 'more.conf').write_text(text)
    credentials = base64.b64encode(f'mirror:{SECRET}'.encode()).decode()
    with peer('tests.support.ironic_server', directory, free_port()) as url:
        ironic = Ironic(url, Authorization=f'Basic {credentials}')
        node = ironic.node(name='node1', resource_class='gold')
        make_available(directory)
        mirror = follower(new_app)
        far('http_basic', endpoint=url, username='mirror', password='wrong')
        assert not mirror.catch_up()
        assert _error(client) == 'The response to GET /chassis/detail is 401: Incorrect username or password'
        # The URL has the version, or not.
        for endpoint in (url, f'{url}/v1'):
            far('http_basic', endpoint=endpoint, username='mirror', password=SECRET)
            mirror = writer(new_app)
            assert mirror.catch_up()
            assert list(differences(client, ironic, 'far')) == []
        assert client.get('/v1/mirrors/far')['endpoint'] == f'{url}/v1'
        for password in (SECRET, 'another'):
            _allow(directory, password)
            far('http_basic', endpoint=url, username='mirror', password=password)
            trait = f'CUSTOM_{password.upper()[:1]}'
            client.ask('PUT', f'/v1/nodes/{node}/traits/{trait}')
            # The first request is refused, because it has the old password.
            mirror.catch_up()
            write_all(mirror)
            body = {'instance_uuid': _INSTANCE, 'node_uuid': node}
            held = client.ask('POST', '/v1/reservations', body)
            assert held.status_int == 201, held.text
            _allow(directory, SECRET)
            shown = ironic.ask('GET', f'/v1/nodes/{node}')
            assert (shown['instance_uuid'], trait in shown['traits']) == (_INSTANCE, True)
            _allow(directory, password)
            uuid = held.json['reservation']['uuid']
            assert client.ask('DELETE', f'/v1/reservations/{uuid}').status_int == 204
        assert _error(client) is None


@pytest.mark.parametrize('path', ['', '/v3'])
def test_keystone_that_is_down(far, tmp_path, path):
    """One line in the log says so, at the first attempt: keystoneauth adds none."""
    url = f'http://127.0.0.1:{free_port()}{path}'
    user = {'username': 'mirror', 'user_domain_name': 'Default', 'system_scope': 'all'}
    far('password', auth_url=url, password=SECRET, **user)
    (tmp_path / 'mirror.conf').write_text('[mirror]\nclouds = far\n')
    with ForkedServer(f'sqlite:///{tmp_path}/x.sqlite', '--config-file', str(tmp_path / 'mirror.conf')) as server:
        server.wait_until(lambda: 'cannot be read' in server.output)
        lines = [line for line in server.output.splitlines() if ' ERROR ' in line or ' WARNING ' in line]
    assert len(lines) == 1
    assert 'WARNING ironic_traits.mirror.follower' in lines[0]
    assert url in lines[0]


def test_reader_of_the_system(keystone, ironic, far, new_app):
    """A reader of the system mirrors everything that Ironic shows, including chassis."""
    client, mirror = Client(new_app), follower(new_app)
    keystone.user('system', 'reader')
    user = {'auth_url': keystone.url, 'username': 'system', 'user_domain_name': 'Default', 'system_scope': 'all'}
    far('password', password='wrong', **user)
    assert not mirror.catch_up()
    assert _error(client).startswith('The request you have made requires authentication. (HTTP 401)')
    far('password', password=SECRET, **user)
    assert mirror.catch_up()
    assert _error(client) is None
    assert list(differences(client, ironic, 'far')) == []
    assert [each['description'] for each in client.get('/v1/chassis/detail')['chassis']] == ['Rack 1']


def test_application_credentials(keystone, ironic, far, new_app):
    """A reader reads, and a refused write is reported. A revoked credential is an error. A member writes."""
    client, mirror = Client(new_app), writer(new_app)
    path = _credential(keystone, far, 'reader', 'mirror', roles=[{'name': 'reader'}])
    assert mirror.catch_up()
    assert list(differences(client, ironic, 'far')) == []
    # The mirror has the uuid of the node's chassis, but not its fields.
    assert [each['description'] for each in client.get('/v1/chassis/detail')['chassis']] == [None]

    node = next(iter(ironic.all('nodes')))
    assert client.ask('PUT', f'/v1/nodes/{node}/traits/CUSTOM_A').status_int == 204
    assert mirror.catch_up()
    assert 'baremetal:node:traits:set' in client.get('/v1/mirrors/far')['write_error']
    assert _error(client) is None
    body = {'instance_uuid': _INSTANCE, 'resource_class': 'CUSTOM_GOLD'}
    response = client.ask('POST', '/v1/reservations', body)
    assert response.status_int == 409
    (reason,) = client.ask('POST', '/v1/reservations', {**body, 'node_uuid': node}).json['reasons']
    assert reason['message'].startswith('Its cloud far refuses to hold nodes: ')
    assert 'baremetal:node:update:instance_uuid' in reason['message']

    keystone.ask('DELETE', path, token=keystone.login('reader', SECRET, 'mirror'))
    mirror = writer(new_app)
    assert not mirror.catch_up()
    assert _error(client).startswith('Could not find Application Credential')
    _credential(keystone, far, 'writer', 'mirror', roles=[{'name': 'member'}])
    write_all(mirror)
    assert ironic.traits(node) == {'CUSTOM_A'}
    assert client.ask('POST', '/v1/reservations', body).status_int == 201
    assert ironic.ask('GET', f'/v1/nodes/{node}')['instance_uuid'] == _INSTANCE


def test_credential_of_another_project(keystone, ironic, far, new_app):
    """A credential of another project mirrors only the nodes of that project."""
    keystone.user('other', 'reader', 'racks')
    node = ironic.node(name='node2', owner=keystone.projects['racks'])
    _credential(keystone, far, 'other', 'racks')
    assert follower(new_app).catch_up()
    assert [each['uuid'] for each in Client(new_app).get('/v1/nodes')['nodes']] == [node]
