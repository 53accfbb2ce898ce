"""What a client gets that was sent to the wrong place: the other API, or a browser at the root."""

import pytest

from tests.support import http_client
from tests.support.cli import run
from tests.support.service import ForkedServer, upgraded

BROWSER = {'Accept': 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'}


@pytest.fixture(scope='module')
def server(tmp_path_factory):
    url = upgraded(f'sqlite:///{tmp_path_factory.mktemp("places")}/x.sqlite')
    with ForkedServer(url, '--nostart-worker') as running:
        yield running


@pytest.mark.parametrize('command', [
    *('resource provider list', 'trait list', 'resource class list', 'resource provider create x'),
    'trait show CUSTOM_A',
    *('allocation candidate list --resource VCPU=1', 'resource usage show a8b2c1c0-0000-4000-8000-000000000001'),
    'resource provider allocation show a8b2c1c0-0000-4000-8000-000000000001',
])  # fmt: skip
def test_a_client_of_placement_at_the_bare_metal_endpoint(server, command):
    error = run(server, 'openstack', *command.split(), code=1)
    assert f'The Placement API is at {server.base}/placement.' in error


def test_paths_of_placement_at_the_bare_metal_endpoint(server):
    for path in ('/resource_providers', '/allocation_candidates?resources=VCPU:1', '/resource_classes/CUSTOM_A'):
        status, _, body = http_client.ask(server.base, 'GET', path)
        assert (status, b'The Placement API is at' in body) == (404, True), path
    status, _, body = http_client.ask(server.base, 'GET', '/traits')
    assert (status, b'needs API version 1.38' in body) == (404, True)


def test_a_client_of_ironic_at_the_placement_endpoint(server):
    status, _, body = http_client.ask(server.base, 'GET', '/placement/v1/nodes')
    assert (status, b'The Bare Metal API is not below /placement.' in body) == (404, True)


def test_the_root_leads_browsers_to_the_page(server):
    for method in ('GET', 'HEAD'):
        status, headers, _ = http_client.ask(server.base, method, '/', headers=BROWSER)
        assert (status, headers['Location'], headers['Cache-Control']) == (302, 'ui/', 'no-store')
    for accept in ('*/*', 'application/json', 'application/json, text/html'):
        status, _, body = http_client.ask(server.base, 'GET', '/', headers={'Accept': accept})
        assert (status, b'"versions"' in body) == (200, True), accept


def test_an_empty_header(server):
    """It is as none, as for Ironic and Placement."""
    for path in ('/v1/nodes', '/placement/resource_providers'):
        assert http_client.ask(server.base, 'GET', path, headers={'Accept': ''})[0] == 200


def test_html_is_not_acceptable(server):
    status, _, body = http_client.ask(server.base, 'GET', '/v1/nodes', headers={'Accept': 'text/html'})
    assert status == 406
    assert b'The page for browsers is at /ui/' in body
    assert b'"code":"baremetal.not_acceptable"' in body
    assert http_client.ask(server.base, 'GET', '/v1/nodes', headers=BROWSER)[0] == 200
