"""Flavors from a real nova, and from one that fails."""

import contextlib
import json
import urllib.request

import pytest

from tests.functional.search.test_glance import stub
from tests.support.client import Client
from tests.support.peers import peer
from tests.support.reservations import available, instance
from tests.support.servers import free_port
from tests.support.service import make_app, upgraded

FLAVORS = {
    'gold': {'resources:CUSTOM_GOLD': '1', 'resources:VCPU': '0', 'trait:CUSTOM_A': 'required'},
    'plain': {'resources:CUSTOM_GOLD': '1', 'trait:CUSTOM_A': 'forbidden'},
    'virtual': {'hw:cpu_policy': 'dedicated'},
}


@contextlib.contextmanager
def service(tmp_path, endpoint, **options):
    """Provide a client of a service that reads flavors."""
    with make_app(upgraded(f'sqlite:///{tmp_path}/x.sqlite'), nova__endpoint_override=endpoint, **options) as app:
        yield Client(app)


def tell(url, document):
    """Send a document to nova, and return the response."""
    request = urllib.request.Request(url, json.dumps(document).encode(), {'Content-Type': 'application/json'})
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


@pytest.fixture(scope='module')
def nova(tmp_path_factory):
    """The URL of a real nova with flavors."""
    with peer('tests.support.nova_server', tmp_path_factory.mktemp('nova'), free_port()) as url:
        for name, specs in FLAVORS.items():
            body = {'name': name, 'ram': 1024, 'vcpus': 1, 'disk': 10, 'os-flavor-access:is_public': name != 'plain'}
            flavor = tell(f'{url}/v2.1/flavors', {'flavor': body})['flavor']
            tell(f'{url}/v2.1/flavors/{flavor["id"]}/os-extra_specs', {'extra_specs': specs})
        yield f'{url}/v2.1'


def test_real_flavors(nova, tmp_path):
    """The service reads all bare metal flavors, including private ones, or only the named ones."""
    with service(tmp_path, nova) as client:
        uuids = [available(client), available(client)]
        for uuid in uuids:
            client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/resource_class', 'value': 'gold'}])
        client.ask('PUT', f'/v1/nodes/{uuids[0]}/traits', {'traits': ['CUSTOM_A']})
        everything = client.ask('POST', '/v1/capacity', {'nova_flavors': True}).json
        assert [(each['name'], each['free']) for each in everything['flavors']] == [('gold', 1), ('plain', 1)]
        assert everything['warnings'] == [
            'Flavor virtual of nova is not for nodes, and is left out: it requests no CUSTOM_ resource class.'
        ]
        one = client.ask('POST', '/v1/capacity', {'nova_flavors': ['plain']}).json
        assert [each['name'] for each in one['flavors']] == ['plain']
        single = client.ask('POST', '/v1/capacity', {'flavors': [{'name': 'x', 'flavor': {'name': 'gold'}}]})
        assert (single.status_int, "Name flavors of nova in 'nova_flavors'." in single.text) == (400, True)
        missing = client.ask('POST', '/v1/capacity', {'nova_flavors': ['silver']})
        assert (missing.status_int, 'nova has no flavor silver' in missing.text) == (400, True)


def test_a_match_for_a_flavor_by_name(nova, tmp_path):
    """A flavor with only a name is read from nova, for matches and for reservations."""
    with service(tmp_path, nova) as client:
        uuids = [available(client), available(client)]
        for uuid in uuids:
            client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/resource_class', 'value': 'gold'}])
        client.ask('PUT', f'/v1/nodes/{uuids[1]}/traits', {'traits': ['CUSTOM_A']})
        result = client.ask('POST', '/v1/matches', {'flavor': {'name': 'gold'}}).json
        assert [node['uuid'] for node in result['nodes']] == [uuids[1]]
        assert result['request']['required'] == ['CUSTOM_A']
        body = {'flavor': {'name': 'plain'}, 'instance_uuid': instance(1)}
        assert client.ask('POST', '/v1/reservations', body).json['reservation']['node_uuid'] == uuids[0]
        for name, message in (('silver', 'nova has no flavor silver'), (5, "'name' of the flavor must be a string")):
            failed = client.ask('POST', '/v1/matches', {'flavor': {'name': name}})
            assert (failed.status_int, message in failed.text) == (400, True)


def test_more_flavors_than_are_read(nova, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr('ironic_traits.peers.nova._PAGE', 1)
    monkeypatch.setattr('ironic_traits.peers.nova.MAX_FLAVORS', 2)
    with service(tmp_path, nova) as client:
        assert client.ask('POST', '/v1/capacity', {'nova_flavors': True}).status_int == 200
    assert 'Only the first 2 flavors of nova were read.' in caplog.text


@pytest.mark.parametrize('names', [False, [], 'gold', [5], {}])
def test_bad_names(tmp_path, names):
    with service(tmp_path, 'http://127.0.0.1:1') as client:
        response = client.ask('POST', '/v1/capacity', {'nova_flavors': names})
        assert (response.status_int, "'nova_flavors' must be true" in response.text) == (400, True)


def test_without_nova(tmp_path):
    with service(tmp_path, None) as client:
        for path, body in (('/v1/capacity', {'nova_flavors': True}), ('/v1/matches', {'flavor': {'name': 'gold'}})):
            response = client.ask('POST', path, body)
            assert (response.status_int, '[nova] endpoint_override is not set' in response.text) == (400, True)
        # A request with the extra specs may contain the name, too.
        flavor = {'name': 'gold', 'extra_specs': {}}
        assert client.ask('POST', '/v1/matches', {'flavor': flavor}).status_int == 200


@pytest.mark.parametrize(
    'fixed',
    [
        ('500 Oh', b'{}'),
        ('401 Who', b'{}'),
        ('200 OK', b'<html>'),
        ('200 OK', b'[]'),
        ('200 OK', b'{"flavors": [5]}'),
        ('200 OK', b'{"flavors": [{"id": "1", "name": "a", "extra_specs": 5}]}'),
        ('200 OK', b'{"flavors": ' + b'[' * 100_000),
    ],
)
def test_a_nova_that_does_not_work(tmp_path, fixed):
    with stub(lambda environ: fixed) as endpoint, service(tmp_path, endpoint) as client:
        response = client.ask('POST', '/v1/capacity', {'nova_flavors': True})
        assert (response.status_int, response.json['code']) == (503, 'baremetal.nova_unavailable')


def test_nova_gets_the_token_of_the_caller(tmp_path):
    tokens = []

    def respond(environ):
        tokens.append(environ.get('HTTP_X_AUTH_TOKEN'))
        return '200 OK', b'{"flavors": []}'

    with stub(respond) as endpoint, service(tmp_path, endpoint, api__auth_strategy='noauth2') as client:
        headers = {'X-Auth-Token': 'admin', 'X-Roles': 'reader'}
        assert client.ask('POST', '/v1/capacity', {'nova_flavors': True}, headers=headers).json['flavors'] == []
        assert tokens == ['admin']
