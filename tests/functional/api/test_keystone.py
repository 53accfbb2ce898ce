"""Tokens of a real keystone: their scope, their roles, and refused ones."""

import contextlib
import datetime
import socket
import threading
import time

import pytest
from webob import Request

from ironic_traits.api.resource import DETACHED
from tests.support.client import Client
from tests.support.keystone_client import OPTIONS, SECRET, Keystone, running
from tests.support.keystone_server import PASSWORD
from tests.support.peers import peer
from tests.support.servers import free_port
from tests.support.service import make_app, upgraded


@contextlib.contextmanager
def service(directory, url, timeout=60):
    """Provide a client of a service that uses a keystone, with a timeout of some seconds."""
    (directory / 'service.conf').write_text(OPTIONS.format(url=url, timeout=timeout))
    arguments = ['--config-file', f'{directory}/service.conf']
    with make_app(upgraded(f'sqlite:///{directory}/x.sqlite'), *arguments, api__auth_strategy='keystone') as app:
        yield Client(app)


@pytest.fixture(scope='module')
def keystone(tmp_path_factory):
    """A real keystone, with the project of services."""
    with running(tmp_path_factory.mktemp('keystone')) as keystone:
        yield keystone


@pytest.fixture(scope='module')
def client(keystone, tmp_path_factory):
    """A client of a service that uses the real keystone."""
    with service(tmp_path_factory.mktemp('service'), keystone.url.removesuffix('/v3')) as client:
        yield client


def status(client, token, method='GET', path='/v1/nodes', document=None, **headers):
    """Send a request with a token, and return the status."""
    return client.ask(method, path, document, headers={'X-Auth-Token': token, **headers}).status_int


NODE = {'driver': 'fake-hardware'}


def test_scope_decides_the_owner(keystone, client):
    """The system administrator creates nodes without an owner. A project administrator creates nodes of the project."""
    system, project = keystone.login('admin', PASSWORD), keystone.token
    responses = [client.ask('POST', '/v1/nodes', NODE, headers={'X-Auth-Token': token}) for token in (system, project)]
    assert [response.status_int for response in responses] == [201, 201]
    [owned] = [each['id'] for each in keystone.ask('GET', '/projects?name=admin')['projects']]
    assert [response.json['owner'] for response in responses] == [None, owned]
    for token, seen in ((system, 2), (project, 1)):
        assert len(client.get('/v1/nodes', headers={'X-Auth-Token': token})['nodes']) == seen


def test_domain_tokens_see_no_node(keystone, client):
    """A token without a project does not match a node without an owner."""
    response = client.ask('POST', '/v1/nodes', NODE, headers={'X-Auth-Token': keystone.login('admin', PASSWORD)})
    node = response.json['uuid']
    name = 'a-domain-admin'
    keystone.user(name, 'admin', 'people')
    keystone.ask('PUT', f'/domains/default/users/{keystone.users[name]}/roles/{keystone.roles["admin"]}')
    token = keystone.login(name, SECRET, domain='default')
    for method, path, document, expected in (
        ('GET', '/v1/nodes', None, 403),
        ('GET', '/v1/nodes/detail', None, 403),
        ('GET', f'/v1/nodes/{node}', None, 404),
        ('GET', f'/v1/nodes/{node}/ports', None, 404),
        ('PUT', f'/v1/nodes/{node}/traits/CUSTOM_A', None, 404),
        ('DELETE', f'/v1/nodes/{node}', None, 404),
        ('GET', '/v1/ports', None, 403),
        ('GET', '/v1/reservations', None, 403),
        ('POST', '/v1/reservations', {'instance_uuid': node, 'node_uuid': [node]}, 403),
        ('POST', '/v1/matches', {'required': ['CUSTOM_A']}, 403),
        ('POST', '/v1/nodes', NODE, 403),
    ):
        assert status(client, token, method, path, document) == expected, (method, path)


def test_roles(keystone, client):
    reader, member = (keystone.user(f'a-{role}', role, 'people') for role in ('reader', 'member'))
    for token in (reader, member):
        assert status(client, token) == 200
        assert status(client, token, 'POST', '/v1/nodes', NODE) == 403
    nova = keystone.user('nova', 'service', 'service')
    assert status(client, nova, 'GET', '/v1/nodes') == 200
    assert (
        status(client, nova, 'GET', '/placement/resource_providers', **{'OpenStack-API-Version': 'placement 1.39'})
        == 200
    )
    assert status(client, reader, 'GET', '/placement/resource_providers') == 403
    assert status(client, reader, 'GET', '/placement/traits', **{'OpenStack-API-Version': 'placement 1.39'}) == 200


def test_application_credentials(keystone, client):
    """Application credentials have only their own roles."""
    token = keystone.user('owner', 'admin', 'racks')
    limited = keystone.credential(token, 'owner', roles=[{'name': 'reader'}])
    assert status(client, limited) == 200
    assert status(client, limited, 'POST', '/v1/nodes', NODE) == 403
    assert status(client, keystone.credential(token, 'owner'), 'POST', '/v1/nodes', NODE) == 201


def short_lived(keystone, token, user, use):
    """Return (a token of a user that expires soon, the time of that, the result of its first use).

    :param use: function of the token that returns the response to a request. The response must not be 401. On a busy
        machine, a token may expire before, so the next one lives longer.
    """
    for seconds in (5, 15, 45):
        ends = datetime.datetime.now(datetime.UTC).replace(microsecond=0) + datetime.timedelta(seconds=seconds)
        short = keystone.credential(token, user, expires_at=ends.strftime('%Y-%m-%dT%H:%M:%S'))
        response = use(short)
        if response.status_int != 401:
            break
    return short, ends, response


def test_refused_tokens(keystone, client):
    """Missing, invalid, revoked and expired tokens are refused with 401 and the URL of keystone."""
    revoked = keystone.user('gone', 'reader', 'people2')
    assert status(client, revoked) == 200
    keystone.ask('DELETE', '/auth/tokens', **{'X-Subject-Token': revoked})
    token = keystone.user('short', 'reader', 'people3')
    short, ends, response = short_lived(
        keystone, token, 'short', lambda short: client.ask('GET', '/v1/nodes', headers={'X-Auth-Token': short})
    )
    assert response.status_int == 200
    while datetime.datetime.now(datetime.UTC) < ends + datetime.timedelta(seconds=1):
        time.sleep(0.1)
    for token in ('', 'nonsense', revoked, short):
        for path in ('/v1/nodes', '/placement/traits'):
            response = client.ask('GET', path, headers={'X-Auth-Token': token})
            assert response.status_int == 401, token
            assert response.headers['WWW-Authenticate'] == f'Keystone uri="{keystone.url}"'
            assert response.headers['x-openstack-request-id']
    for path in ('/', '/v1', '/v1/', '/healthcheck', '/placement/', '/placement'):
        assert client.ask('GET', path).status_int == 200


def stream(client, token, last=None):
    """Return the response to a request for a stream of changes."""
    request = Request.blank('/v1/changes', environ={DETACHED: True})
    request.headers.update({'Accept': 'text/event-stream', 'X-Auth-Token': token})
    if last:
        request.headers['Last-Event-ID'] = last
    return request.get_response(client.app)


def test_a_token_expires_during_a_stream(keystone, client):
    """The stream ends with the token. With a new token, it continues after its last change."""
    system, token = keystone.login('admin', PASSWORD), keystone.user('follower', 'service', 'service')
    node = client.ask('POST', '/v1/nodes', NODE, headers={'X-Auth-Token': system}).json['uuid']
    short, ends, response = short_lived(keystone, token, 'follower', lambda short: stream(client, short))
    pieces, has_ended = [], threading.Event()
    assert response.status_int == 200

    def follow():
        pieces.extend(response.app_iter)
        has_ended.set()

    threading.Thread(target=follow, daemon=True).start()
    number = 0
    while not has_ended.wait(0.2):
        number += 1
        assert datetime.datetime.now(datetime.UTC) < ends + datetime.timedelta(seconds=30)
        assert status(client, system, 'PUT', f'/v1/nodes/{node}/traits/CUSTOM_{number}') == 204
    response.app_iter.close()
    # The expiry of a token has a resolution of a second.
    assert datetime.datetime.now(datetime.UTC) > ends - datetime.timedelta(seconds=1)
    events = b''.join(pieces).decode()
    assert node in events
    assert 'event: end' not in events
    [*_, last] = [line.removeprefix('id: ') for line in events.splitlines() if line.startswith('id: ')]
    assert stream(client, short, last).status_int == 401
    client.ask('DELETE', f'/v1/nodes/{node}', headers={'X-Auth-Token': system})
    again = stream(client, token, last)
    assert again.status_int == 200
    for piece in again.app_iter:
        if b'"deleted":true' in piece:
            break
    again.app_iter.close()


def test_service_tokens(keystone, client):
    """If a service forwards a user's token, the user's scope and roles decide, not the service's."""
    reader = keystone.user('reader', 'reader', 'people4')
    token = keystone.user('project-admin', 'admin', 'people5')
    service_token = keystone.login('traits', SECRET, 'service')
    of_system = keystone.user('system-service', 'service')
    system = keystone.login('admin', PASSWORD)
    assert status(client, reader, **{'X-Service-Token': service_token}) == 200
    assert status(client, reader, **{'X-Service-Token': 'nonsense'}) == 401
    # A project administrator does not see other projects, even through a service with the system scope.
    for other in (service_token, of_system):
        headers = {'X-Auth-Token': token, 'X-Service-Token': other}
        assert client.get('/v1/nodes', headers=headers)['nodes'] == []
        assert status(client, system, 'POST', '/v1/chassis', {}, **{'X-Service-Token': other}) == 201
    forged = {'OpenStack-System-Scope': 'all', 'X-Roles': 'admin', 'X-Identity-Status': 'Confirmed'}
    assert status(client, reader, 'POST', '/v1/chassis', {}, **forged) == 403


def test_keystone_is_down(tmp_path):
    """The message says that keystone is down. Public routes still work."""
    (tmp_path / 'keystone').mkdir()
    port = free_port()
    with peer('tests.support.keystone_server', tmp_path / 'keystone', port) as url, service(tmp_path, url) as client:
        keystone = Keystone(url)
        keystone.user('traits', 'service', 'service')
        token = keystone.user('reader', 'reader', 'people')
        assert status(client, token) == 200
        assert client.ask('GET', '/healthcheck').status_int == 200
    with service(tmp_path, url) as client:
        assert client.ask('GET', '/healthcheck').status_int == 503
        assert status(client, token) == 503
        assert status(client, token, path='/placement/traits') == 503
        assert status(client, '') == 401
        assert client.ask('GET', '/v1').status_int == 200


def test_keystone_times_out(tmp_path):
    """If keystone does not respond, requests fail with 503, not with 500."""
    with socket.socket() as listening:
        listening.bind(('127.0.0.1', 0))
        listening.listen()
        url = f'http://127.0.0.1:{listening.getsockname()[1]}'
        with service(tmp_path, url, timeout=1) as client:
            response = client.ask('GET', '/v1/nodes', headers={'X-Auth-Token': 'x'})
            assert response.status_int == 503
