"""The description of both APIs, /openapi.json, is valid OpenAPI, and matches the routes and real responses."""

import importlib.util
import json
import pathlib
import re
import urllib.parse

import jsonschema
import pytest
from webob import Request

from ironic_traits.api.description.documents import APIS, document
from ironic_traits.api.description.operations import operations
from ironic_traits.api.placement.protocol import PLACEMENT
from ironic_traits.api.v1.protocol import BARE_METAL
from tests.support.api_samples import sampled
from tests.support.client import Client, message
from tests.support.described import Described
from tests.support.service import make_app, upgraded

GUIDE = pathlib.Path(__file__).parents[3] / 'doc' / 'source' / 'openapi.rst'
METHODS = {'get', 'post', 'put', 'patch', 'delete'}
VERSIONS = [
    (name, minor)
    for name, (api, _) in APIS.items()
    for minor in (api.minimum, (api.minimum + api.maximum) // 2, api.maximum)
]
UUID = '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a001'
#: {type or format of a parameter: a value}.
VALUES = {'boolean': 'true', 'integer': '1', 'uuid': UUID, 'date-time': '2026-01-01T00:00:00Z'}


def described(api, minor):
    """Return the operations of a document, {'METHOD /path': operation}."""
    paths = document(api, minor, 'keystone')['paths']
    return {
        f'{method.upper()} {path}': methods[method]
        for path, methods in paths.items()
        for method in METHODS & methods.keys()
    }


def test_every_route_is_described_and_nothing_else():
    everything = [*described('baremetal', BARE_METAL.maximum)]
    everything += described('placement', PLACEMENT.maximum)
    assert sorted(everything) == sorted(map(str, operations()))


@pytest.mark.parametrize(('api', 'minor'), VERSIONS)
def test_documents_are_valid(api, minor):
    described = document(api, minor, 'http_basic')
    # Import this late: it takes a second in each process that collects the tests.
    import schemathesis

    schemathesis.openapi.from_dict(described).validate()
    for each in described['components']['schemas'].values():
        jsonschema.Draft202012Validator.check_schema(each)


def test_references_of_every_version():
    """Each reference in the document of each version has a target."""
    for name, (api, _) in APIS.items():
        for minor in range(api.minimum, api.maximum + 1):
            described = document(name, minor, 'keystone')
            targets = {
                f'#/components/{kind}/{each}' for kind, values in described['components'].items() for each in values
            }
            references = set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(described)))
            assert references, (name, minor)
            assert references <= targets, (name, minor)


def test_documents_of_the_site(tmp_path):
    """The guide links to the files that the build of the site writes."""
    extension = importlib.util.spec_from_file_location('openapi_files', GUIDE.parent / '_ext' / 'openapi_files.py')
    module = importlib.util.module_from_spec(extension)
    extension.loader.exec_module(module)
    module.write(tmp_path)
    links = re.findall(r'<(openapi/\w+\.json)>`__', GUIDE.read_text())
    assert sorted(links) == sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob('*.json'))
    for link in links:
        assert json.loads((tmp_path / link).read_text())['openapi'] == '3.1.0'


@pytest.fixture(scope='module')
def samples(tmp_path_factory):
    """The application, after the requests of the API reference."""
    with make_app(upgraded(f'sqlite:///{tmp_path_factory.mktemp("samples")}/samples.sqlite')) as app:
        compared = Described(app)
        dict(sampled(Client(compared)))
        yield compared


def test_responses_of_the_reference(samples):
    assert samples.problems == []
    assert len(samples.compared) > 80


class Spoiled:
    """An application with a wrong status, headers or body in its responses."""

    def __init__(self, app, **changes):
        self._app = app
        self._changes = changes

    def __call__(self, environ, start_response):
        response = Request(environ).get_response(self._app)
        for name, value in self._changes.items():
            setattr(response, name, value)
        return response(environ, start_response)


@pytest.mark.parametrize(
    ('changes', 'problem'),
    [
        ({'status': 500}, 'which is none of 200'),
        ({'status': 202}, 'which is none of 200'),
        ({'content_type': 'text/html'}, 'as text/html'),
        ({'json': {'nodes': [{'wheels': 4}]}}, "('wheels' was unexpected)"),
        ({'json': {'nodes': [{'power_state': 1}]}}, "1 is not of type 'string', 'null'"),
    ],
)
def test_the_comparison_notices(samples, changes, problem):
    compared = Described(Spoiled(samples, **changes))
    Client(compared).ask('GET', '/v1/nodes')
    assert [problem in each for each in compared.problems] == [True]


def test_versions_of_query_parameters(samples):
    """A parameter is described since the version that accepts it."""
    client, wrong = Client(samples), []
    for minor in range(BARE_METAL.minimum, BARE_METAL.maximum):
        before, after = described('baremetal', minor), described('baremetal', minor + 1)
        for route in before.keys() & after.keys():
            for each in _query(after[route]).keys() - _query(before[route]).keys():
                statuses = [_ask(client, route, each, after[route], version) for version in (minor, minor + 1)]
                if statuses[0] != 406 or statuses[1] == 406:
                    wrong.append((route, each, minor, statuses))
    assert wrong == [], '\n'.join(map(str, wrong))


def _query(operation):
    """Return the query parameters of an operation: {name: schema}. Some are the keys of an object."""
    schemas = {each['name']: each['schema'] for each in operation['parameters'] if each.get('in') == 'query'}
    objects = [schemas.pop(name) for name, schema in list(schemas.items()) if schema.get('type') == 'object']
    return schemas | {name: schema for each in objects for name, schema in each.get('properties', {}).items()}


def _ask(client, route, name, operation, minor):
    schema = _query(operation)[name]
    schema = schema.get('items', schema)
    value = VALUES.get(schema.get('format') or schema['type']) or schema.get('enum', ['CUSTOM_A'])[0]
    value = {'address': '52:54:00:cf:2d:31', 'fields': 'uuid', 'without': 'instance_uuid'}.get(name, value)
    method, _, path = route.partition(' ')
    path = re.sub('{.*?}', UUID, path.replace('{driver_name}', 'fake-hardware'))
    body = [] if method == 'PATCH' else None
    return client.ask(method, f'{path}?{name}={value}', body, version=f'1.{minor}').status_int


#: Texts that cannot be the name of anything that has a pattern.
BAD = ('a b', 'ä', 'x' * 256, 'a\n', 'a:b')
IDENTS = ('a', 'a.b-C_d~1', 'x' * 255)
PLAIN = '^[^/]+$'


def _matches(schema, text):
    pattern = schema['pattern'].replace('$', r'\Z')
    return re.match(pattern, text) is not None and len(text) <= schema.get('maxLength', len(text))


def _patterns(api, minor):
    """Yield (route, name of a parameter, its schema) of the parameters in paths that have a pattern of their own."""
    for route, operation in described(api, minor).items():
        for each in operation['parameters']:
            if each.get('in') == 'path' and each['schema'].get('pattern', PLAIN) != PLAIN:
                yield route, each['name'], each['schema']


def test_names_in_paths(samples):
    """The service refuses with 400 the names that the patterns exclude, and looks for the others."""
    client, tried = Client(samples), set()
    for route, name, schema in _patterns('baremetal', 115):
        method, _, path = route.partition(' ')
        if method == 'GET' and path.endswith('_ident}'):
            tried.add(name)
            for text in (*BAD, *IDENTS):
                response = client.ask('GET', path.replace(f'{{{name}}}', urllib.parse.quote(text)))
                assert response.status_int == (404 if _matches(schema, text) else 400), (path, text)
    kinds = ('node', 'port', 'portgroup', 'allocation', 'runbook', 'rule', 'template')
    assert tried == {f'{kind}_ident' for kind in kinds}


@pytest.mark.parametrize(
    ('path', 'api', 'minor'),
    [
        ('/v1/nodes/{node_ident}/traits/{trait}', 'baremetal', 115),
        ('/placement/traits/{name}', 'placement', 39),
        ('/placement/resource_classes/{name}', 'placement', 39),
    ],
)
def test_names_that_can_be_created(client, path, api, minor):
    client.node(name='one')
    (schema,) = (each[2] for each in _patterns(api, minor) if each[0] == f'PUT {path}' and each[1] != 'node_ident')
    path = path.replace('{node_ident}', 'one')
    for text in (*BAD, 'custom_a', 'CUSTOM_A', 'CUSTOM_' + 'A' * 248, 'CUSTOM_' + 'A' * 249):
        url = re.sub('{.*}', urllib.parse.quote(text), path)
        ask = client.ask if api == 'baremetal' else client.placement
        response = ask('PUT', url.removeprefix('/placement'))
        assert (response.status_int < 300) is _matches(schema, text), (text, response.text)


def test_versions_without_names():
    assert 'node_ident' not in {name for _, name, _ in _patterns('baremetal', 4)}
    assert 'node_ident' in {name for _, name, _ in _patterns('baremetal', 5)}


def test_fields_exclude_detail(client):
    """The description allows what the service accepts."""
    client.node(name='one')
    tried = 0
    for route, operation in described('baremetal', 115).items():
        path = route.removeprefix('GET ').replace('{node_ident}', 'one')
        objects = [each['schema'] for each in operation['parameters'] if each.get('style') == 'form']
        for schema in objects if '{' not in path else ():
            for other in schema['properties'].keys() - {'detail'}:
                field = {'/v1/drivers': 'name', '/v1/conductors': 'hostname'}.get(path, 'uuid')
                value = client.get('/v1/nodes/one')['created_at'].replace('+00:00', 'Z') if other == 'at' else field
                for detail in (True, False):
                    status = client.ask('GET', f'{path}?detail={str(detail).lower()}&{other}={value}').status_int
                    both = {'detail': detail, other: value if other == 'at' else [value]}
                    is_valid = jsonschema.Draft202012Validator(schema).is_valid(both)
                    assert (status != 400) is is_valid, (path, both, status)
                    tried += 1
        assert not path.endswith('/detail') or 'fields' not in _query(operation), path
    assert tried > 10


@pytest.fixture
def ask(tmp_path):
    """A function that requests the description."""

    def ask(query='', method='GET', headers=(), **options):
        with make_app(f'sqlite:///{tmp_path}/none.sqlite', **options) as app:
            return Request.blank(f'/openapi.json{query}', method=method, headers=headers).get_response(app)

    return ask


def test_the_latest_version_without_parameters(ask):
    """The description needs no authentication."""
    response = ask(api__auth_strategy='noauth2')
    assert (response.status_int, response.content_type) == (200, 'application/json')
    latest = BARE_METAL.maximum
    assert response.json == json.loads(json.dumps(document('baremetal', latest, 'noauth2')))
    assert ask('?api=baremetal&version=latest', api__auth_strategy='noauth2').body == response.body


def test_a_version_of_an_api(ask):
    response = ask('?api=placement&version=1.6')
    assert response.json['info']['version'] == '1.6'
    assert '/placement/traits' in response.json['paths']
    assert '/placement/traits' not in ask('?api=placement&version=1.5').json['paths']


def test_the_placement_api_alone(ask):
    response = ask(api__serve='placement')
    assert response.json['info']['title'] == 'Placement API'
    assert {'/', '/resource_providers'} <= response.json['paths'].keys()
    assert ask('?api=baremetal', api__serve='placement').status_int == 400


def test_a_client_that_has_it(ask):
    tag = ask().headers['ETag']
    response = ask(headers={'If-None-Match': tag})
    assert (response.status_int, response.body) == (304, b'')
    assert ask('?version=1.1').headers['ETag'] != tag


def test_authentication_is_described(ask):
    assert ask().json['security'] == []
    assert document('baremetal', 1, 'keystone')['security'] == [{'keystone': []}]
    assert document('baremetal', 1, 'keystone')['paths']['/v1']['get']['security'] == []


@pytest.mark.parametrize(
    ('query', 'sentence'),
    [
        ('?api=ironic', "Invalid api: 'ironic'. This service has baremetal and placement."),
        ('?version=1.0', "Invalid version: '1.0'. The Bare Metal API has the versions 1.1 to 1.115."),
        ('?version=2.1', "Invalid version: '2.1'. The Bare Metal API has the versions 1.1 to 1.115."),
        ('?api=placement&version=1.40', "Invalid version: '1.40'. The Placement API has the versions 1.0 to 1.39."),
        ('?format=yaml', 'Unexpected arguments: format.'),
    ],
)
def test_what_does_not_exist(ask, query, sentence):
    response = ask(query)
    assert (response.status_int, message(response)) == (400, sentence)


def test_it_cannot_be_changed(ask):
    response = ask(method='DELETE')
    assert (response.status_int, response.headers['Allow']) == (405, 'GET, HEAD')
