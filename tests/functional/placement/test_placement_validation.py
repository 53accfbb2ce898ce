"""Messages about invalid documents are those of jsonschema, shortened for large documents."""

import uuid

import pytest

PROVIDER = 'eeeeeeee-0000-4000-8000-000000000001'


@pytest.fixture
def put(client):
    """Function that sends a document to a sub-resource of a provider."""
    body = {'name': 'storage', 'uuid': PROVIDER}
    assert client.placement('POST', '/resource_providers', body).status_int == 200

    def send(what, document):
        return client.placement('PUT', f'/resource_providers/{PROVIDER}/{what}', document)

    return send


def detail(response):
    assert response.status_int == 400, response.text
    return response.json['errors'][0]['detail']


def aggregates(uuids):
    return {'resource_provider_generation': 0, 'aggregates': uuids}


def test_a_new_provider_has_a_name(client):
    """A rename may make the name empty, as in Placement."""
    assert 'name' in detail(client.placement('POST', '/resource_providers', {'name': ''}))
    assert client.placement('POST', '/resource_providers', {'name': 'storage', 'uuid': PROVIDER}).status_int == 200
    assert client.placement('PUT', f'/resource_providers/{PROVIDER}', {'name': ''}).status_int == 200


def test_a_ratio_of_zero_leaves_no_capacity(client, put):
    """It is accepted from 1.26 on, as an inventory that is completely reserved."""
    inventories = {'VCPU': {'total': 4, 'allocation_ratio': 0}}
    assert put('inventories', {'resource_provider_generation': 0, 'inventories': inventories}).status_int == 200
    found = client.placement('GET', '/allocation_candidates?resources=VCPU:1').json
    assert found['allocation_requests'] == []
    path = f'/resource_providers/{PROVIDER}/inventories/VCPU'
    document = inventories['VCPU'] | {'resource_provider_generation': 1}
    assert client.placement('PUT', path, document, version='1.25').status_int == 400


def test_an_empty_name_is_no_filter(client):
    client.placement('POST', '/resource_providers', {'name': 'storage', 'uuid': PROVIDER})
    listed = client.placement('GET', '/resource_providers?name=').json['resource_providers']
    assert [each['name'] for each in listed] == ['storage']


def test_an_aggregate_twice_is_refused(put):
    uuids = [str(uuid.uuid4()) for _ in range(3)]
    assert 'has non-unique elements' in detail(put('aggregates', aggregates([*uuids, uuids[1]])))
    assert put('aggregates', aggregates(uuids)).status_int == 200


def test_messages_of_large_documents_are_short(put):
    uuids = [str(uuid.uuid4()) for _ in range(4000)]
    for document in (aggregates(uuids * 2), aggregates([1] * 90_000), aggregates('x' * 100_000)):
        message = detail(put('aggregates', document))
        assert len(message) < 1000
        assert 'JSON does not validate' in message
    assert put('aggregates', aggregates(uuids)).status_int == 200


def test_the_message_of_a_small_document_has_the_schema(put):
    """The message of a small document has the schema, as in Placement, because clients compare it."""
    message = detail(put('aggregates', aggregates([1])))
    assert "1 is not of type 'string'" in message
    assert "Failed validating 'type'" in message
