"""Images by id: looked up in a real Glance, and in stubs that fail."""

import contextlib
import json
import threading
import urllib.request
from wsgiref import simple_server

import pytest

from tests.support.client import Client, message
from tests.support.peers import peer
from tests.support.reservations import available, instance
from tests.support.servers import free_port
from tests.support.service import make_app, upgraded

IMAGE = 'dddddddd-0000-4000-8000-000000000001'


@contextlib.contextmanager
def service(tmp_path, endpoint, **options):
    """Provide a client of a service that looks up images."""
    with make_app(upgraded(f'sqlite:///{tmp_path}/x.sqlite'), glance__endpoint_override=endpoint, **options) as app:
        yield Client(app)


def match(client, image, **more):
    """Request matches for an image."""
    return client.ask('POST', '/v1/matches', {'image': image}, **more)


@pytest.fixture(scope='module')
def glance(tmp_path_factory):
    """The URL of a real Glance."""
    with peer('tests.support.glance_server', tmp_path_factory.mktemp('glance'), free_port()) as url:
        yield url


def tell(method, url, document, content_type='application/json'):
    """Send a document to Glance, and return the response."""
    headers = {'Content-Type': content_type}
    request = urllib.request.Request(url, json.dumps(document).encode(), headers, method=method)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def test_a_real_image(glance, tmp_path):
    """The traits of a real image count, its other properties do not, and a change counts at once."""
    properties = {'trait:CUSTOM_A': 'required', 'trait:CUSTOM_B': 'forbidden', 'os_distro': 'debian'}
    document = {'name': 'one', 'disk_format': 'raw', 'container_format': 'bare', **properties}
    image = tell('POST', f'{glance}/v2/images', document)
    with service(tmp_path, glance) as client:
        first, second = available(client), available(client)
        client.ask('PUT', f'/v1/nodes/{second}/traits', {'traits': ['CUSTOM_A']})
        result = match(client, {'id': image['id']}).json
        assert result['request']['required'] == ['CUSTOM_A']
        assert result['warnings'] == [
            "image property 'trait:CUSTOM_B' is 'forbidden', and ignored: only 'required' counts in an image."
        ]
        assert [node['uuid'] for node in result['nodes']] == [second]

        body = {'instance_uuid': instance(1), 'image': {'id': image['id']}}
        assert client.ask('POST', '/v1/reservations', body).json['reservation']['node_uuid'] == second
        patch = [{'op': 'replace', 'path': '/trait:CUSTOM_A', 'value': 'no more'}]
        tell('PATCH', f'{glance}/v2/images/{image["id"]}', patch, 'application/openstack-images-v2.1-json-patch')
        assert [node['uuid'] for node in match(client, {'id': image['id']}).json['nodes']] == [first]
        assert client.ask('POST', '/v1/matches', body).json['satisfied']


def test_there_is_no_such_image(glance, tmp_path):
    with service(tmp_path, glance) as client:
        response = match(client, {'id': IMAGE})
        assert (response.status_int, message(response)) == (400, f'Glance has no image {IMAGE}.')


def test_a_real_image_by_name(glance, tmp_path):
    document = {'disk_format': 'raw', 'container_format': 'bare', 'trait:CUSTOM_A': 'required'}
    for name in ('named é/1', 'twice', 'twice'):
        tell('POST', f'{glance}/v2/images', document | {'name': name})
    with service(tmp_path, glance) as client:
        assert match(client, {'name': 'named é/1'}).json['request']['required'] == ['CUSTOM_A']
        for name, reason in (
            ('twice', 'Several images of Glance have the name twice. Use an id.'),
            ('nowhere', 'Glance has no image nowhere.'),
            ('named', 'Glance has no image named.'),
            ('in:"named é/1",twice', 'Glance has no image in:"named é/1",twice.'),
        ):
            response = match(client, {'name': name})
            assert (response.status_int, message(response)) == (400, reason)
        # An id comes before a name, and properties before both.
        assert match(client, {'name': 'twice', 'id': IMAGE}).status_int == 400
        assert match(client, {'name': 'nowhere', 'properties': {}}).status_int == 200


@pytest.mark.parametrize('name', ['', 5, None, ['a']])
def test_no_name(tmp_path, name):
    """A request without a name does not query Glance."""
    with service(tmp_path, 'http://127.0.0.1:1') as client:
        assert match(client, {'name': name}).status_int == 200


@pytest.mark.parametrize('image', [{'id': 'my-image'}, {'id': 5}, {'id': f'{IMAGE}/../x'}])
def test_no_id(tmp_path, image):
    """A request without an id does not query Glance."""
    with service(tmp_path, 'http://127.0.0.1:1') as client:
        response = match(client, image)
        assert response.status_int == 400
        assert "'id' of the image must be a uuid" in message(response)


def test_without_glance(tmp_path):
    with service(tmp_path, None) as client:
        response = match(client, {'id': IMAGE})
        assert response.status_int == 400
        assert f'Image {IMAGE} cannot be looked up, because [glance] endpoint_override is not set.' in response.text
        assert 'Image debian cannot be looked up' in match(client, {'name': 'debian'}).text
        # A request with the properties may contain the id, too.
        assert match(client, {'id': 'mine', 'properties': {}}).status_int == 200
        # Null counts as absent.
        assert match(client, {'id': IMAGE, 'properties': None}).status_int == 400
        assert match(client, {'id': None}).status_int == 200


class Stub(simple_server.WSGIRequestHandler):
    """A handler that logs nothing."""

    def log_message(self, *arguments):
        """Log nothing."""


@contextlib.contextmanager
def stub(respond):
    """Run a WSGI server that behaves like Glance until an image is requested.

    :param answer: function that takes the WSGI environment, and returns (status, body) for an image.
    """

    def application(environ, start_response):
        href = f'http://{environ["HTTP_HOST"]}/v2/'
        version = {'id': 'v2.9', 'status': 'CURRENT', 'links': [{'rel': 'self', 'href': href}]}
        status, body = '300 Multiple Choices', json.dumps({'versions': [version]}).encode()
        if environ['PATH_INFO'] not in ('', '/'):
            status, body = respond(environ)
        start_response(status, [('Content-Type', 'application/json'), ('Content-Length', str(len(body)))])
        return [body]

    with simple_server.make_server('127.0.0.1', 0, application, handler_class=Stub) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f'http://127.0.0.1:{server.server_port}'
        finally:
            server.shutdown()
            thread.join()


BROKEN = {
    'an error': ('500 Oh', b'{}'),
    'overload': ('503 Later', b''),
    'no token': ('401 Who', b'{}'),
    'no right': ('403 No', b'{}'),
    'no JSON': ('200 OK', b'<html>'),
    'nothing': ('200 OK', b''),
    'no image': ('200 OK', b'{}'),
    'a list': ('200 OK', b'[1, 2]'),
    'null': ('200 OK', b'null'),
    'without a bottom': ('200 OK', b'{"id": ' + b'[' * 100_000),
}


@pytest.mark.parametrize('fixed', BROKEN.values(), ids=BROKEN)
def test_a_glance_that_does_not_work(tmp_path, fixed):
    with stub(lambda environ: fixed) as endpoint, service(tmp_path, endpoint) as client:
        failed = match(client, {'id': IMAGE})
        assert (failed.status_int, failed.json['code']) == (503, 'baremetal.glance_unavailable')
        assert IMAGE in message(failed)
        failed = match(client, {'name': 'debian'})
        assert (failed.status_int, failed.json['code']) == (503, 'baremetal.glance_unavailable')


def test_a_glance_that_is_not_there(tmp_path):
    with service(tmp_path, f'http://127.0.0.1:{free_port()}') as client:
        assert match(client, {'id': IMAGE}).status_int == 503


def test_a_glance_that_never_answers(tmp_path):
    stop = threading.Event()

    def respond(environ):
        stop.wait(20)
        return '200 OK', b'{}'

    with stub(respond) as endpoint, service(tmp_path, endpoint, glance__timeout=0.2) as client:
        assert match(client, {'id': IMAGE}).status_int == 503
        stop.set()


def test_glance_gets_the_token_of_the_caller(tmp_path):
    """Glance gets the token of the caller, and no other one."""
    tokens = []

    def respond(environ):
        tokens.append(environ.get('HTTP_X_AUTH_TOKEN'))
        image = {'id': IMAGE, 'status': 'active', 'trait:CUSTOM_A': 'required'}
        return '200 OK', json.dumps(image).encode()

    with stub(respond) as endpoint:
        with service(tmp_path, endpoint, api__auth_strategy='noauth2') as client:
            headers = {'X-Auth-Token': 'admin', 'X-Roles': 'reader'}
            assert match(client, {'id': IMAGE}, headers=headers).json['request']['required'] == ['CUSTOM_A']
            assert set(tokens) == {'admin'}
        tokens.clear()
        with service(tmp_path, endpoint) as client:
            assert match(client, {'id': IMAGE}).status_int == 200
            # Glance gets no token if the caller has none.
            assert set(tokens) == {'notused'}
