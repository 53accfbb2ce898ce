"""Hostile input: documents nested too deeply, numbers too large, and patches that probe for secrets."""

import json

import pytest
import sqlalchemy as sa

from ironic_traits.api.nesting import MAX_DEPTH
from ironic_traits.db import tables
from tests.conftest import empty
from tests.support.client import Client, message
from tests.support.service import make_app

NODE = '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a001'
#: Nesting depths just below the limits of some parts of the service.
DEPTHS = (MAX_DEPTH + 1, 250, 251, 252, 253, 254, 255, 500, 990, 1023, 1024, 5000)

#: {noun: (body of a new record, its fields that are JSON objects)}.
NOUNS = {
    'nodes': (
        {'driver': 'fake-hardware'},
        ('driver_info', 'instance_info', 'properties', 'extra', 'network_data'),
    ),
    'chassis': ({}, ('extra',)),
    'ports': ({'node_uuid': NODE, 'address': '52:54:00:00:00:01'}, ('extra', 'local_link_connection')),
    'portgroups': ({'node_uuid': NODE}, ('extra', 'properties')),
    'volume/connectors': ({'node_uuid': NODE, 'type': 'ip', 'connector_id': '10.0.0.1'}, ('extra',)),
    'volume/targets': (
        {'node_uuid': NODE, 'volume_type': 'iscsi', 'boot_index': 0, 'volume_id': 'x'},
        ('extra', 'properties'),
    ),
}
FIELDS = [(noun, field) for noun, (_, fields) in NOUNS.items() for field in fields]
#: Fields that accept only certain keys.
PICKY = {'local_link_connection', 'network_data'}


@pytest.fixture
def client(shared_database_url):
    empty(shared_database_url)
    with make_app(shared_database_url) as app:
        client = Client(app)
        # Before 1.11 a new node is off, as volume resources need it.
        response = client.ask('POST', '/v1/nodes', {'uuid': NODE, 'driver': 'fake-hardware'}, version='1.10')
        assert response.status_int == 201
        yield client


def nested(levels, inner=b'1'):
    """Return a JSON object with a number of levels."""
    return b'{"a":' * levels + inner + b'}' * levels


def with_field(document, field, value):
    """Return a JSON document with one more field, whose value is JSON text."""
    return json.dumps({**document, field: 'VALUE'}).encode().replace(b'"VALUE"', value)


def check_lists(client):
    """Check that each list, and each item of it, can be shown."""
    for noun in NOUNS:
        shown = client.get(f'/v1/{noun}?detail=true')[noun.rpartition('/')[2]]
        for each in shown:
            client.get(f'/v1/{noun}/{each["uuid"]}')


@pytest.mark.parametrize('levels', DEPTHS)
@pytest.mark.parametrize(('noun', 'field'), FIELDS)
def test_deep_documents_are_refused(client, noun, field, levels):
    document, _ = NOUNS[noun]
    response = client.ask('POST', f'/v1/{noun}', raw=with_field(document, field, nested(levels)))
    assert response.status_int == 400, response.text
    if noun != 'nodes':
        assert client.get(f'/v1/{noun}')[noun.rpartition('/')[2]] == []
    check_lists(client)


@pytest.mark.parametrize(('noun', 'field'), [each for each in FIELDS if each[1] not in PICKY])
def test_patches_cannot_exceed_the_depth(client, noun, field):
    """The limit applies to the resulting document, not to the small patch."""
    document, _ = NOUNS[noun]
    # The document itself is the first level.
    response = client.ask('POST', f'/v1/{noun}', raw=with_field(document, field, nested(MAX_DEPTH - 1)))
    assert response.status_int == 201, response.text
    path = f'/{field}' + '/a' * (MAX_DEPTH - 1)
    uuid = response.json['uuid']
    for value, status in ((1, 200), ({}, 400), ({'a': {}}, 400), ([], 400)):
        patch = [{'op': 'add', 'path': path, 'value': value}]
        response = client.ask('PATCH', f'/v1/{noun}/{uuid}', patch)
        assert response.status_int == status, response.text
    patch = b'[{"op": "add", "path": "/%s/b", "value": %s}]' % (field.encode(), nested(200))
    assert client.ask('PATCH', f'/v1/{noun}/{uuid}', raw=patch).status_int == 400
    check_lists(client)


OTHER_BODIES = [
    ('PUT', f'/v1/nodes/{NODE}/traits', 'traits'),
    ('PUT', f'/v1/nodes/{NODE}/states/provision', 'configdrive'),
    ('PUT', f'/v1/nodes/{NODE}/states/provision', 'clean_steps'),
    ('PUT', f'/v1/nodes/{NODE}/states/power', 'target'),
    ('PUT', f'/v1/nodes/{NODE}/maintenance', 'reason'),
    ('POST', f'/v1/nodes/{NODE}/vifs', 'id'),
    ('POST', '/v1/reservations', 'node_uuid'),
    ('POST', '/v1/matches', 'flavor'),
    ('POST', '/v1/traits/edits', 'where'),
    ('POST', '/v1/nodes/actions', 'where'),
    ('POST', '/v1/traits/edits', 'rename'),
    ('POST', '/placement/resource_providers', 'name'),
    ('PUT', f'/placement/allocations/{NODE}', 'allocations'),
    ('POST', '/placement/allocations', NODE),
    ('POST', '/placement/reshaper', 'inventories'),
    ('PUT', f'/placement/resource_providers/{NODE}/traits', 'traits'),
]


@pytest.mark.parametrize('levels', DEPTHS)
@pytest.mark.parametrize(('method', 'path', 'field'), OTHER_BODIES)
def test_deep_bodies_are_refused_everywhere(client, method, path, field, levels):
    headers = {'OpenStack-API-Version': 'placement 1.39'} if path.startswith('/placement') else {}
    response = client.ask(method, path, raw=nested(levels).replace(b'a', field.encode(), 1), headers=headers)
    assert response.status_int == 400, response.text


def test_a_deep_row_does_not_break_lists(client):
    """Lists work with a row nested too deeply, which an earlier release may have stored."""
    deep = nested(300).decode()
    uuids = {'nodes': NODE}
    for noun in ('ports', 'portgroups', 'volume/targets'):
        uuids[noun] = client.ask('POST', f'/v1/{noun}', NOUNS[noun][0]).json['uuid']
    with client.app.service.write() as connection:
        for noun, field in FIELDS:
            table = tables.metadata.tables[noun.replace('/', '_')]
            if noun in uuids:
                values = {sa.type_coerce(table.c[field], sa.Text): deep}
                connection.execute(sa.update(table).values(values))
    check_lists(client)


SECRET = 'hush-hush'
PATCHES = [
    [{'op': 'remove', 'path': '/{}/x/y'}],
    [{'op': 'remove', 'path': '/{}/x'}],
    [{'op': 'replace', 'path': '/{}/x', 'value': 1}],
    [{'op': 'replace', 'path': '/{}/x/y', 'value': 1}],
    [{'op': 'add', 'path': '/{}/x/y', 'value': 1}],
    [{'op': 'add', 'path': '/{}/password/y', 'value': 1}],
    [{'op': 'remove', 'path': '/{}/password/y'}],
    [{'op': 'add', 'path': '/{}/list/9', 'value': 1}],
    [{'op': 'add', 'path': '/{}/list/x', 'value': 1}],
    [{'op': 'remove', 'path': '/{}/list/9'}],
    [{'op': 'replace', 'path': '/{}/list/-', 'value': 1}],
    [{'op': 'add', 'path': '/{}/~2', 'value': 1}],
    [{'op': 'add', 'path': '/{}/number/a/b', 'value': 1}],
    # The first operation is valid, but the second one does not fit its result.
    [{'op': 'add', 'path': '/{}/new', 'value': SECRET}, {'op': 'remove', 'path': '/{}/new/a'}],
]


@pytest.mark.parametrize('patch', PATCHES, ids=json.dumps)
@pytest.mark.parametrize(
    ('noun', 'field'), [('nodes', 'driver_info'), ('nodes', 'instance_info'), ('volume/targets', 'properties')]
)
def test_errors_of_patches_show_no_secrets(client, noun, field, patch):
    document, _ = NOUNS[noun]
    value = {'password': SECRET, 'list': [SECRET], 'number': 1}
    record = client.ask('POST', f'/v1/{noun}', document | {field: value}).json
    operations = [each | {'path': each['path'].format(field)} for each in patch]
    response = client.ask('PATCH', f'/v1/{noun}/{record["uuid"]}', operations)
    assert response.status_int == 400, response.text
    assert SECRET not in response.text
    assert operations[-1]['path'] in message(response)
    assert 'password' not in response.text.replace(operations[-1]['path'], '')


@pytest.mark.parametrize('number', ['18446744073709551616', '-9223372036854775809', '9' * 300, '-' + '9' * 200])
def test_integers_are_stored_as_they_are_or_refused(client, number):
    for raw in (
        f'{{"driver": "fake-hardware", "extra": {{"n": {number}}}}}',
        f'{{"driver": "fake-hardware", "extra": {{"n": [{{"m": {number}}}]}}}}',
    ):
        response = client.ask('POST', '/v1/nodes', raw=raw.encode())
        assert response.status_int == 400, response.text
        assert 'too large' in message(response)
    patch = f'[{{"op": "add", "path": "/extra/n", "value": {number}}}]'
    assert client.ask('PATCH', f'/v1/nodes/{NODE}', raw=patch.encode()).status_int == 400


def test_long_digits_in_texts_are_no_integers(client):
    digits = '9' * 50
    node = client.node(extra={digits: digits, 'n': -(2**63), 'm': 2**64 - 1, 'f': 1.5e300})
    assert node['extra'] == {digits: digits, 'n': -(2**63), 'm': 2**64 - 1, 'f': 1.5e300}
