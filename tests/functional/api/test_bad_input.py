"""Invalid input: no 5xx, no change by a refused request, and the usual headers on every response."""

import json
import urllib.parse

import hypothesis
import pytest
from hypothesis import strategies as st

from ironic_traits.api.v1.node_filters import QUERY as LIST_QUERY
from ironic_traits.deploy import states
from ironic_traits.resources.nodes import NODES
from tests.conftest import empty
from tests.support.client import Client, message
from tests.support.service import make_app

UUID = '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a001'
FIELDS = (*NODES.since, 'links', 'id', 'generation', 'configdrive', 'colour')
LISTS = ('fields', *LIST_QUERY)
RECORD_FIELDS = (
    *('extra', 'description', 'type', 'connector_id', 'volume_id', 'volume_type', 'properties', 'id', 'name', 'mode'),
    *('pxe_enabled', 'local_link_connection', 'physical_network', 'standalone_ports_supported'),
)
RECORDS = ('chassis', 'ports', 'portgroups', 'volume/connectors', 'volume/targets')
RECORD_LISTS = ('fields', 'limit', 'marker', 'sort_key', 'sort_dir', 'node', 'node_uuid', 'address', 'portgroup')
ARGUMENTS = (
    *LISTS,
    'detail',
    'node',
    'type',
    'device_types',
    'reason',
    'trait',
    'at',
    'since',
    'until',
    'source',
    'event_type',
    'severity',
    '_method',
    '__body__',
    'colour',
)
WORDS = [
    *('', UUID, UUID.upper(), 'one', 'fake-hardware', 'CUSTOM_A', 'true', '-1', '0', '9' * 30, 'asc', 'id', 'null'),
    *('\0', 'é', '😀', "'; --", '%', '_', '\\', 'a' * 300, 'CUSTOM_A,CUSTOM_B', 'uuid,traits', 'A\n', ' '),
]
TEXT = st.text(max_size=20) | st.sampled_from(WORDS)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.just(10**400),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
SEGMENTS = [
    *(
        'nodes',
        'states',
        'provision',
        'power',
        'validate',
        'shards',
        'drivers',
        'detail',
        'traits',
        'history',
        'maintenance',
        'one',
        UUID,
        'CUSTOM_A',
        'fake-hardware',
        'properties',
    ),
    *('__class__', '_route', 'find', 'get_all', '..', '.', 'v1'),
]
SEGMENT = st.sampled_from(SEGMENTS) | TEXT.map(lambda text: urllib.parse.quote(text, safe=''))
NODE = st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=5)
PATHS = [
    *(f'/{field}' for field in (*FIELDS, *RECORD_FIELDS, 'address', 'node_uuid', 'boot_index')),
    '/extra/a',
    '/extra/a/b',
    '/extra/-',
    '',
    '/',
    'x',
    '/extra/~2',
]
OPERATION = st.fixed_dictionaries(
    {'op': st.sampled_from(['add', 'replace', 'remove', 'move', 1, None]), 'path': st.sampled_from([*PATHS, None])},
    optional={'value': JSON, 'from': st.sampled_from([*PATHS, None])},
)
TRAIT = st.sampled_from(['CUSTOM_A', 'CUSTOM_é', 'HW_CPU_X86_VMX', '', None, 1, {}]) | TEXT
RECORD = st.fixed_dictionaries(
    {'node_uuid': st.just(UUID) | JSON},
    optional={
        **{name: JSON for name in RECORD_FIELDS},
        'uuid': st.just(UUID) | JSON,
        'address': st.just('aa:bb:cc:00:00:01') | JSON,
        'portgroup_uuid': st.just(UUID) | JSON,
        'boot_index': st.integers() | JSON,
    },
)
STEPS = st.lists(st.dictionaries(st.sampled_from(['interface', 'step', 'args', 'priority']), JSON) | JSON, max_size=2)
CHANGE = st.fixed_dictionaries(
    {'target': st.sampled_from([*states.VERBS, *states.POWER_TARGETS]) | JSON},
    optional={
        'configdrive': JSON,
        'clean_steps': STEPS,
        'deploy_steps': STEPS,
        'rescue_password': JSON,
        'disable_ramdisk': JSON,
        'timeout': JSON,
    },
)
RESERVATION = st.fixed_dictionaries(
    {'instance_uuid': JSON | st.just(UUID), 'node_uuid': st.lists(TEXT, max_size=3) | JSON},
    optional={'expires_at': JSON | st.just('9999-12-31T23:59:59-01:00'), 'expires_in': JSON},
)
BODY = (
    RESERVATION
    | NODE
    | NODE.map(lambda node: {'driver': 'fake-hardware'} | node)
    | st.lists(OPERATION, max_size=3)
    | RECORD
    | st.fixed_dictionaries({'traits': st.lists(TRAIT, max_size=4) | JSON})
    | st.dictionaries(st.sampled_from(['description', 'retired', 'replaced_by']), TRAIT | st.booleans() | JSON)
    | CHANGE
    | JSON
)


@pytest.fixture(scope='module')
def client(shared_database_url):
    empty(shared_database_url)
    with make_app(shared_database_url) as app:
        yield Client(app)


#: Most requests use a route, so that they reach a controller.
SERVED = [
    ('GET', '/v1/nodes', LISTS),
    ('GET', '/v1/nodes/detail', LISTS[1:]),
    ('GET', '/v1/nodes/one', ('fields',)),
    ('POST', '/v1/nodes', ()),
    ('PATCH', '/v1/nodes/one', ()),
    ('DELETE', '/v1/nodes/one', ()),
    ('GET', '/v1/nodes/one/traits', ()),
    ('PUT', '/v1/nodes/one/traits', ()),
    ('PUT', '/v1/nodes/one/traits/{}', ()),
    ('DELETE', '/v1/nodes/one/traits/{}', ()),
    ('PUT', '/v1/nodes/one/maintenance', ('reason',)),
    ('POST', '/v1/nodes/one/vifs', ()),
    ('GET', '/v1/nodes/one/ports', RECORD_LISTS),
    ('GET', '/v1/volume/targets', RECORD_LISTS),
    *((method, f'/v1/{noun}', ()) for noun in RECORDS for method in ('POST', 'GET')),
    *((method, f'/v1/{noun}/{UUID}', ()) for noun in RECORDS for method in ('GET', 'PATCH', 'DELETE')),
    ('GET', '/v1/nodes/one/states', ()),
    ('PUT', '/v1/nodes/one/states/provision', ()),
    ('PUT', '/v1/nodes/one/states/power', ()),
    ('GET', '/v1/nodes/one/validate', ()),
    ('GET', '/v1/nodes/validate', ('node', 'node_uuid')),
    ('GET', '/v1/shards', ()),
    ('GET', '/v1/allocations', ('fields', 'limit', 'marker', 'sort_key', 'sort_dir', 'node', 'owner', 'state')),
    ('GET', '/v1/reservations', ('fields', 'limit', 'marker', 'sort_key', 'sort_dir', 'node', 'instance_uuid')),
    ('POST', '/v1/reservations', ()),
    ('POST', '/v1/reservations/{}/renew', ()),
    ('DELETE', '/v1/reservations/{}', ()),
    ('GET', '/v1/traits', ('limit', 'marker', 'name', 'all', 'custom', 'retired', 'in_use')),
    ('GET', '/v1/traits/{}', ()),
    ('PUT', '/v1/traits/CUSTOM_A', ()),
    ('PUT', '/v1/traits/{}', ()),
    ('GET', '/v1/drivers', ('type', 'detail')),
    ('GET', '/v1/drivers/{}', ()),
]
METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'get', 'BREW']


@st.composite
def requests(draw):
    """Draw a method, a path and a query: of a route, or random ones."""
    if draw(st.integers(0, 4)):
        method, path, arguments = draw(st.sampled_from(SERVED))
        path = path.format(draw(SEGMENT))
    else:
        method, arguments = draw(st.sampled_from(METHODS)), ARGUMENTS
        path = '/v1/' + '/'.join(draw(st.lists(SEGMENT, max_size=5)))
    query = draw(st.lists(st.tuples(st.sampled_from(arguments), TEXT), max_size=3)) if arguments else []
    return method, path, query


@hypothesis.given(
    request=requests(),
    raw=st.none() | BODY.map(lambda body: json.dumps(body).encode()) | st.binary(max_size=30),
    version=st.sampled_from(
        [None, '1.1', '1.9', '1.20', '1.36', '1.37', '1.60', *['1.115'] * 10, 'latest', '', '2.0', 'é']
    ),
    content_type=st.sampled_from([*['application/json'] * 5, 'text/plain', 'application/x-www-form-urlencoded', '']),
)
@hypothesis.settings(max_examples=600, derandomize=True, suppress_health_check=list(hypothesis.HealthCheck))
def test_nothing_is_a_5xx(client, request, raw, version, content_type):
    method, path, query = request
    if method == 'GET':
        raw = None
    client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', 'uuid': UUID, 'name': 'one'})
    if query:
        path += '?' + urllib.parse.urlencode(query)
    response = client.ask(method, path, raw=raw, version=version, headers={'Content-Type': content_type})
    assert response.status_int < 500, response.text
    for name in ('Minimum-Version', 'Maximum-Version', 'Version'):
        assert response.headers[f'X-OpenStack-Ironic-API-{name}']
    assert response.headers['x-openstack-request-id'] == response.headers['openstack-request-id']
    assert 'OpenStack-API-Version' in response.headers['Vary']
    if response.body:
        assert response.content_type == 'application/json'
        json.loads(response.body)
    if response.status_int >= 400 and method != 'HEAD':
        assert message(response)
        assert response.json['code'].startswith('baremetal.')


@pytest.mark.parametrize(
    'body',
    [
        b'[' * 90_000,
        b'{"extra":' * 2000,
        b'{"driver": "fake-hardware", "extra": {"n": NaN}}',
        b'{"driver": "fake-hardware", "extra": {"n": Infinity}}',
        b'{"driver": "fake-hardware", "extra": {"t": "\\u0000"}}',
        b'{"driver": "fake-hardware", "extra": {"\\u0000": 1}}',
        b'{"driver": "fake-hardware", "extra": {"t": "\\ud800"}}',
        b'{"driver": "fake-hardware", "extra": {"t": "\xff"}}',
        b'\xef\xbb\xbf{"driver": "fake-hardware"}',
        b'{"driver": "fake-hardware"} {}',
        b'{"driver": "fake-hardware", "name": "' + b'a' * 256 + b'"}',
        b'{"driver": "fake-hardware", "resource_class": "' + b'a' * 81 + b'"}',
        '{"driver": "fake-hardware", "name": "é"}'.encode(),
        b'{"driver": "' + b'a' * 10_000 + b'"}',
        b'{"driver": "fake-hardware", "chassis_uuid": "5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a001"}',
        b'null',
        b'""',
        b' ',
    ],
    ids=lambda body: body[:40].decode(errors='replace'),
)
def test_bodies_that_are_refused(client, body):
    before = client.get('/v1/nodes?fields=uuid')
    response = client.ask('POST', '/v1/nodes', raw=body)
    assert response.status_int == 400, response.text
    assert client.get('/v1/nodes?fields=uuid') == before


def _create_all(client):
    """Create one record of each noun that can be patched.

    :returns: {noun: its path}.
    """
    client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', 'uuid': UUID})
    bodies = {
        'chassis': {},
        'ports': {'node_uuid': UUID, 'address': 'aa:bb:cc:00:00:02'},
        'portgroups': {'node_uuid': UUID},
        'volume/connectors': {'node_uuid': UUID, 'type': 'iqn', 'connector_id': 'a'},
        'volume/targets': {'node_uuid': UUID, 'volume_type': 'iscsi', 'boot_index': 0, 'volume_id': 'a'},
    }
    paths = {
        noun: f'/v1/{noun}/{client.ask("POST", f"/v1/{noun}", body).json["uuid"]}' for noun, body in bodies.items()
    }
    return paths | {'nodes': f'/v1/nodes/{UUID}'}


@pytest.mark.parametrize(
    ('operation', 'sentence'),
    [
        ({'op': 'add', 'path': None, 'value': 1}, "'path' is a required property"),
        ({'op': 'remove', 'path': None}, "'path' is a required property"),
        ({'op': 'add', 'value': 1}, "'path' is a required property"),
        ({'op': None, 'path': '/extra/a', 'value': 1}, "'op' is a required property"),
        ({'op': None, 'path': '/extra'}, "'op' is a required property"),
        ({'path': '/extra/a', 'value': 1}, "'op' is a required property"),
        ({'op': 'add', 'path': '/extra/a'}, "'add' needs a 'value'"),
        ({'op': 'replace', 'path': '/extra'}, "'replace' needs a 'value'"),
        ({'op': 'move', 'path': '/extra/a', 'from': '/extra/b'}, 'Unknown fields: from'),
        ({'op': 'add', 'path': '/extra/a', 'value': 1, 'from': None}, 'Unknown fields: from'),
        ({'op': 'test', 'path': '/extra', 'value': {}}, 'should be one of'),
        ({'op': 'add', 'path': 5, 'value': 1}, 'path'),
        ({}, "'op' is a required property"),
        (None, 'A JSON object is expected, not null.'),
    ],
    ids=str,
)
def test_operations_that_are_refused(client, shared_database_url, operation, sentence):
    """All nouns refuse them in the same way, and stay unchanged."""
    empty(shared_database_url)
    for noun, path in _create_all(client).items():
        before = client.get(path)
        response = client.ask('PATCH', path, [operation])
        assert (noun, response.status_int) == (noun, 400), response.text
        assert sentence in message(response)
        assert client.get(path) == before


@pytest.mark.parametrize('value', [1.5, 2.0, True, '2', [2], {}])
@pytest.mark.parametrize(
    ('path', 'key', 'body'),
    [
        ('/v1/matches', 'count', {}),
        ('/v1/matches', 'limit', {}),
        ('/v1/capacity', 'count', {'flavors': [{}]}),
        ('/v1/reservations', 'expires_in', {'instance_uuid': UUID, 'resource_class': 'x'}),
        ('/v1/capacity_reservations', 'count', {'name': 'a', 'project': 'p'}),
        ('/v1/inspection_rules/apply', 'limit', {}),
    ],
)
def test_integers_are_not_rounded(client, path, key, body, value):
    item = {**body, 'flavors': [{key: value}]} if 'flavors' in body else {**body, key: value}
    refused = client.ask('POST', path, item)
    assert refused.status_int == 400
    assert 'xpected an integer' in message(refused), message(refused)


@pytest.mark.parametrize('number', [2**53, 2**63 - 1, 2**64 - 1, -(2**63), 0.1, 1e300])
def test_numbers_round_trip(client, number):
    node = client.node(extra={'n': number})
    assert client.get(f'/v1/nodes/{node["uuid"]}?fields=extra') == {'extra': {'n': number}}


def test_texts_round_trip(client):
    text = 'é 😀 \u2028 \x7f " \\ </script> %s {}'
    node = client.node(extra={text: [text]}, resource_class='klässe 😀')
    shown = client.get(f'/v1/nodes/{node["uuid"]}?fields=extra,resource_class')
    assert shown == {'extra': {text: [text]}, 'resource_class': 'klässe 😀'}
    matches = client.get('/v1/nodes?fields=uuid&resource_class=' + urllib.parse.quote('klässe 😀'))
    assert matches['nodes'] == [{'uuid': node['uuid']}]


def test_max_request_body_size(shared_database_url):
    with make_app(shared_database_url, api__max_request_body_size=1000) as app:
        small = Client(app)
        body = json.dumps({'driver': 'fake-hardware', 'extra': {'a': 'a' * 1000}}).encode()
        for headers in ({}, {'Transfer-Encoding': 'chunked'}):
            response = small.ask('POST', '/v1/nodes', raw=body, headers=headers)
            assert response.status_int == 413
            assert '1000 bytes' in message(response)
        assert small.ask('POST', '/v1/nodes', raw=body[:900].replace(b'a' * 100, b'') + b'"}}').status_int in (201, 400)


def test_max_traits_per_node_can_only_be_lowered(shared_database_url):
    with make_app(shared_database_url, inventory__max_traits_per_node=2) as app:
        few = Client(app)
        uuid = few.node()['uuid']
        assert (
            few.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C']}).status_int
            == 400
        )
        assert few.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': ['CUSTOM_A', 'CUSTOM_B']}).status_int == 200
        assert 'CUSTOM_C' in message(few.ask('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_C'))
    with (
        pytest.raises(ValueError, match='less than or equal to 50'),
        make_app(shared_database_url, inventory__max_traits_per_node=51),
    ):
        pass


def test_put_traits_returns(shared_database_url):
    with make_app(shared_database_url, api__put_traits_returns='nothing') as app:
        client = Client(app)
        response = client.ask('PUT', f'/v1/nodes/{client.node()["uuid"]}/traits', {'traits': ['CUSTOM_A']})
        assert (response.status_int, response.body) == (204, b'')


def test_allow_deleting_available_nodes(shared_database_url):
    with make_app(shared_database_url, inventory__allow_deleting_available_nodes=False) as app:
        client = Client(app)
        node = client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware'}, version='1.1').json['uuid']
        response = client.ask('DELETE', f'/v1/nodes/{node}')
        assert response.status_int == 409
        assert response.json['code'] == 'baremetal.node.invalid_state'
        client.ask('PUT', f'/v1/nodes/{node}/maintenance')
        assert client.ask('DELETE', f'/v1/nodes/{node}').status_int == 204


def test_public_endpoint(shared_database_url):
    with make_app(shared_database_url, api__public_endpoint='https://metal.example.com/baremetal/') as app:
        document = Client(app).get('/v1')
        assert document['nodes'][0]['href'] == 'https://metal.example.com/baremetal/v1/nodes/'
