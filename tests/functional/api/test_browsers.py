"""Cross-site requests of browsers are refused unless [cors] allows the origin."""

import base64

import bcrypt
import pytest
from webob import Request

from tests.support.client import Client
from tests.support.service import make_app, upgraded

NODE = b'{"driver": "fake-hardware"}'


def post(client, content_type, path='/v1/nodes', **headers):
    """Send a body with a content type, as fetch() does, and return the response."""
    request = Request.blank(path, method='POST', body=NODE)
    request.headers.update(headers)
    request.headers.pop('Content-Type', None)
    if content_type:
        request.headers['Content-Type'] = content_type
    return request.get_response(client.app)


@pytest.fixture
def url(tmp_path):
    return f'sqlite:///{tmp_path}/browsers.sqlite'


@pytest.fixture
def client(url):
    with make_app(upgraded(url)) as app:
        yield Client(app)


@pytest.fixture
def basic(url, tmp_path):
    """A client of a service with http_basic."""
    (tmp_path / 'htpasswd').write_text('operator:' + bcrypt.hashpw(b'hush-hush', bcrypt.gensalt(4)).decode())
    options = {'api__auth_strategy': 'http_basic', 'api__http_basic_auth_user_file': str(tmp_path / 'htpasswd')}
    with make_app(upgraded(url), **options) as app:
        yield Client(app)


#: Content types that a page can send without a preflight request, and none at all.
SIMPLE = ['text/plain', 'text/plain;charset=UTF-8', 'application/x-www-form-urlencoded', 'multipart/form-data', None]


@pytest.mark.parametrize('content_type', [*SIMPLE, 'application/jsonish', 'text/json', 'x/y'])
@pytest.mark.parametrize('path', ['/v1/nodes', '/v1/reservations', '/placement/resource_providers'])
def test_bodies_that_are_not_json(client, content_type, path):
    response = post(client, content_type, path)
    assert response.status_int == 415
    assert 'Content-Type: application/json' in response.text
    assert client.get('/v1/nodes')['nodes'] == []


@pytest.mark.parametrize('content_type', ['application/json', 'Application/JSON; charset=utf-8', 'application/x+json'])
def test_bodies_that_are_json(client, content_type):
    assert post(client, content_type).status_int == 201


def test_http_basic_too(basic):
    """With http_basic too: a browser sends a stored password with the requests of any page."""
    login = {'Authorization': 'Basic ' + base64.b64encode(b'operator:hush-hush').decode()}
    assert post(basic, 'text/plain', **login).status_int == 415
    assert post(basic, 'application/json', **login).status_int == 201
    assert basic.ask('GET', '/v1/nodes', headers={**login, 'Host': 'attacker.example'}).status_int == 200


@pytest.mark.parametrize('path', ['/v1/nodes', '/v1/reservations'])
@pytest.mark.parametrize(
    ('headers', 'is_refused'),
    [
        ({'Origin': 'https://attacker.example'}, True),
        ({'Origin': 'null'}, True),
        ({'Origin': 'http://localhost:8080'}, True),
        ({'Sec-Fetch-Site': 'cross-site', 'Origin': 'http://localhost'}, True),
        ({'Sec-Fetch-Site': 'same-site'}, True),
        ({'Sec-Fetch-Site': 'same-origin', 'Origin': 'https://front.example'}, False),
        ({'Sec-Fetch-Site': 'none'}, False),
        ({'Origin': 'http://localhost'}, False),
        ({'Origin': 'http://LOCALHOST'}, False),
        ({}, False),
    ],
)
def test_writes_of_other_origins(basic, path, headers, is_refused):
    """Writes of other origins are refused, also POSTs without a body and a Content-Type."""
    login = {'Authorization': 'Basic ' + base64.b64encode(b'operator:hush-hush').decode()}
    for method in ('POST', 'PUT', 'DELETE'):
        response = basic.ask(method, path, headers={**login, **headers})
        assert (response.status_int == 403 and 'cors' in response.text) is is_refused
    assert basic.ask('GET', '/v1/nodes', headers={**login, **headers}).status_int == 200


def test_writes_of_allowed_origins(url):
    options = {'cors__allowed_origin': ['https://page.example'], 'api__public_endpoint': 'https://metal.example/api'}
    with make_app(upgraded(url), **options) as app:
        for origin, status in (('page', 201), ('metal', 201), ('other', 403)):
            headers = {'Origin': f'https://{origin}.example'}
            response = Client(app).ask('POST', '/v1/nodes', {'driver': 'fake-hardware'}, headers=headers)
            assert response.status_int == status


FOREIGN = [
    'attacker.example',
    'attacker.example:6385',
    '127.0.0.1.attacker.example',
    'localhost.example',
]
MALFORMED = [
    'a b',
    'x/../y',
    '',
    ' ',
    'x?y',
    'x#y',
    'user@x',
    'a.b:x',
    '[::',
    '[x]',
    ':80',
    'x"y',
    "x'y",
    '<b>',
    'a:1:2',
]
OWN = [
    'node_1',
    'localhost:',
    '127.0.0.1:6385',
    'localhost',
    'LOCALHOST:1',
    'x.localhost',
    '[::1]:6385',
    '192.0.2.1',
    'ironic-traits:6385',
]


@pytest.mark.parametrize('host', FOREIGN)
def test_foreign_hosts(client, host):
    for path in ('/v1/nodes', '/v1', '/placement/traits'):
        response = client.ask('GET', path, headers={'Host': host})
        assert response.status_int == 400
        assert 'allowed_hosts' in response.text
    assert client.ask('GET', '/healthcheck', headers={'Host': host}).status_int == 200


@pytest.mark.parametrize('host', MALFORMED)
def test_malformed_hosts(client, host):
    """They would be in the links of responses."""
    for path in ('/v1/nodes', '/v1', '/', '/placement/traits'):
        response = client.ask('GET', path, headers={'Host': host})
        assert response.status_int == 400
        assert 'The Host header is neither a host name nor an IP address.' in response.text


@pytest.mark.parametrize('host', OWN)
def test_own_hosts(client, host):
    assert client.ask('GET', '/v1/nodes', headers={'Host': host}).status_int == 200


def test_hosts_that_the_configuration_names(url):
    options = {'api__allowed_hosts': ['Inventory.example'], 'api__public_endpoint': 'https://metal.example/api'}
    with make_app(upgraded(url), **options) as app:
        client = Client(app)
        for host, status in (('inventory.example:80', 200), ('metal.example', 200), ('x.inventory.example', 400)):
            assert client.ask('GET', '/v1', headers={'Host': host}).status_int == status


#: The headers that a client of the APIs sends.
HEADERS = 'content-type,x-auth-token,x-openstack-ironic-api-version,openstack-api-version,authorization'


@pytest.mark.parametrize('path', ['/v1/nodes', '/placement/traits', '/v1/nodes/x/traits'])
@pytest.mark.parametrize('method', ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
def test_allowed_origin_alone_is_enough(url, path, method):
    with make_app(url, cors__allowed_origin=['https://page.example']) as app:
        preflight = {'Access-Control-Request-Method': method, 'Access-Control-Request-Headers': HEADERS}
        for origin in ('https://page.example', 'https://other.example'):
            response = Client(app).ask('OPTIONS', path, headers={'Origin': origin, **preflight})
            assert response.status_int == 200
            allowed = response.headers.get('Access-Control-Allow-Origin')
            assert allowed == (origin if origin == 'https://page.example' else None)
            assert response.headers.get('Access-Control-Allow-Headers') == (HEADERS if allowed else None)


def test_exposed_headers(url):
    with make_app(url, cors__allowed_origin=['https://page.example']) as app:
        response = Client(app).ask('GET', '/v1', headers={'Origin': 'https://page.example'})
        exposed = response.headers['Access-Control-Expose-Headers'].lower()
        assert {'location', 'x-openstack-ironic-api-version'} <= set(exposed.split(','))
