"""The header that asks for our additions to Ironic's API, whatever the version of Ironic's."""

import collections
import re

import pytest

from ironic_traits.api.description.operations import operations
from ironic_traits.api.expose import BareMetalRoute
from ironic_traits.resources.additions import Addition
from ironic_traits.resources.inspection_rules import INSPECTION_RULES
from ironic_traits.resources.nodes import NODES
from ironic_traits.resources.runbooks import RUNBOOKS
from tests.support import ironic_api
from tests.support.checkout import CHECKOUT
from tests.support.client import Client, message

HEADER = 'OpenStack-API-Version'
ASKED = {HEADER: 'ironic-traits 1.0'}
IDENT = '0c1d2e3f-0000-4000-8000-000000000001'
ALL = [each for each in operations() if isinstance(each.route, BareMetalRoute)]
ROUTES = [each for each in ALL if each.route.since > 1]
ADDED = [each for each in ROUTES if isinstance(each.route.since, Addition)]
FILTERS = [each for each in NODES.list_filters.values() if isinstance(each.since, Addition)]
FIELDS = [field.name for field in NODES.fields if isinstance(field.since, Addition)]
#: A value that each filter takes; that of others is CUSTOM_A.
VALUES = {
    'eligible': 'true',
    'reserved': 'true',
    'held': 'true',
    'without': 'instance_uuid',
    'trait-source': 'operator',
}


@pytest.fixture
def client(app):
    return Client(app)


def ask(client, operation, headers=()):
    """Ask for a route that is not there at the first version, and return whether the response says so."""
    path = operation.path.format_map(collections.defaultdict(lambda: IDENT, trait='CUSTOM_A'))
    document = {} if operation.method in ('POST', 'PUT', 'PATCH') else None
    response = client.ask(operation.method, path, document, version=None, headers=headers)
    return response.status_int in (404, 405, 406) and 'needs API version' in response.text


@pytest.mark.parametrize('operation', ADDED, ids=str)
def test_routes(client, operation):
    assert ask(client, operation)
    assert not ask(client, operation, ASKED)


@pytest.mark.parametrize('operation', [each for each in ROUTES if each not in ADDED], ids=str)
def test_routes_of_ironic_need_its_versions(client, operation):
    assert ask(client, operation, ASKED) == ask(client, operation)


@pytest.mark.parametrize('each', FILTERS, ids=lambda each: each.argument)
def test_filters(client, each):
    path = f'/v1/nodes?{each.argument}={VALUES.get(each.argument, "CUSTOM_A")}'
    assert client.ask('GET', path, version=None).status_int == 406
    assert client.ask('GET', path, version=None, headers=ASKED).status_int == 200
    assert client.ask('GET', '/v1/nodes?owner=me', version=None, headers=ASKED).status_int == 406


def test_fields(client):
    node = client.node()
    path = f'/v1/nodes/{node["uuid"]}?fields={",".join(FIELDS)}'
    assert client.ask('GET', path, version='1.8').status_int == 406
    assert client.ask('GET', path, version='1.8', headers=ASKED).json.keys() >= set(FIELDS)
    shown = client.ask('GET', f'/v1/nodes/{node["uuid"]}', version=None, headers=ASKED).json.keys()
    plain = client.ask('GET', f'/v1/nodes/{node["uuid"]}', version=None).json.keys()
    assert shown - plain == {'reservation_uuid'}


def test_arguments(client):
    """An argument of a route of Ironic's, in the path and in the body."""
    uuid = client.node(resource_class='gold')['uuid']
    path = '/v1/nodes?changed-since=new&fields=uuid'
    assert client.ask('GET', path, version='1.8').status_int == 406
    assert client.ask('GET', path, version='1.8', headers=ASKED).status_int != 406
    body = {'target': 'active', 'reservation_uuid': IDENT}
    path = f'/v1/nodes/{uuid}/states/provision'
    assert client.ask('PUT', path, body, version='1.11').status_int == 406
    assert client.ask('PUT', path, body, version='1.11', headers=ASKED).status_int != 406


@pytest.fixture(scope='module')
def ironic():
    """What the installed Ironic has."""
    return ironic_api.read([str(each) for each in ALL])


@pytest.mark.parametrize('operation', [each for each in ALL if each.path.startswith('/v1/')], ids=str)
def test_what_ironic_lacks_is_an_addition(ironic, operation):
    names, route = ironic['routes'][str(operation)], operation.route
    # Pecan's method _route finds the traits of runbooks, which are Ironic's.
    is_lacking = names is None and '/v1/runbooks/' not in operation.path
    assert is_lacking == isinstance(route.since, Addition)
    since = {each.argument: each.since for each in NODES.list_filters.values()} | route.query_since
    # Our lists with /detail take, and refuse, the arguments of the lists.
    known = {*(names or route.query), *(('fields', 'detail') if operation.path.endswith('/detail') else ())}
    assert [name for name in route.query if name not in known and not isinstance(since.get(name), Addition)] == []


@pytest.mark.parametrize('resource', [NODES, *NODES.children, INSPECTION_RULES, RUNBOOKS], ids=lambda each: each.name)
def test_fields_that_ironic_lacks_are_additions(ironic, resource):
    fields = ironic['fields'][resource.singular.title().replace(' ', '')]
    own = {'node_uuid', 'portgroup_uuid', 'chassis_uuid', 'conductor', 'allocation_uuid'}
    lacking = {field.name for field in resource.fields if field.name not in fields} - own
    assert lacking == {field.name for field in resource.fields if isinstance(field.since, Addition)}


def test_links(client):
    assert 'reservations' not in client.ask('GET', '/v1', version=None).json
    assert 'reservations' in client.ask('GET', '/v1', version=None, headers=ASKED).json
    assert 'allocations' not in client.ask('GET', '/v1', version=None, headers=ASKED).json


@pytest.mark.parametrize('value', ['ironic-traits 1.0', 'Ironic-Traits LATEST', 'baremetal 1.20, ironic-traits 1.0'])
def test_the_response_has_the_version(client, value):
    response = client.ask('GET', '/v1/reservations', version=None, headers={HEADER: value})
    assert response.status_int == 200
    assert response.headers[HEADER] == 'ironic-traits 1.0'
    minor = '1.20' if 'baremetal' in value else '1.1'
    assert response.headers['X-OpenStack-Ironic-API-Version'] == minor


def test_a_response_without_the_version(client):
    assert HEADER not in client.ask('GET', '/v1/nodes').headers
    assert HEADER not in client.ask('GET', '/v1/nodes', version=None, headers={HEADER: 'baremetal 1.50'}).headers


@pytest.mark.parametrize('version', ['1.1', '2.0', '0.9', '1', 'x', '1.0.0'])
def test_other_versions(client, version):
    response = client.ask('GET', '/v1/nodes', version=None, headers={HEADER: f'ironic-traits {version}'})
    assert response.status_int == 406
    asked = f'Version {version} of ironic-traits was requested but is not supported by this service.'
    assert message(response) == f'{asked} The only version is 1.0.'


def test_etags_differ(client):
    """A client that does not ask for our additions does not get the response to one that does."""
    client.node()
    plain = client.ask('GET', '/v1/nodes/detail', version='1.37')
    response = client.ask(
        'GET', '/v1/nodes/detail', version='1.37', headers=ASKED | {'If-None-Match': plain.headers['ETag']}
    )
    assert response.status_int == 200
    assert HEADER in response.headers['Vary']


def test_the_guide_has_all():
    guide = (CHECKOUT / 'doc' / 'source' / 'compatibility.rst').read_text()
    table = guide.partition('What is new\n=')[2].partition('\n\n===')[2]
    paths = {path.rstrip('`') for path in re.findall(r'/v1/[^ `?]+', table)}
    shown = {str(each): each.path.replace('{node_ident}', 'X').replace('{trait}', 'T') for each in ADDED}
    assert [name for name, path in shown.items() if not path.startswith(tuple(paths))] == []
