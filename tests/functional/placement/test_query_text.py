"""Queries with texts or numbers of values that databases cannot handle."""

import urllib.parse

import pytest

from tests.support.reservations import instance

#: Not ASCII, or more than the three bytes of MariaDB's utf8mb3. A lone surrogate is refused earlier.
TEXTS = ['é', 'CUSTOM_É', '😀', f'{instance(1)[:-1]}é']
NODES = (
    *('/v1/nodes?owner={}', '/v1/nodes?lessee={}', '/v1/nodes?project={}', '/v1/nodes?driver={}', '/v1/nodes?shard={}'),
    *('/v1/nodes?resource_class={}', '/v1/nodes?description_contains={}', '/v1/nodes?conductor={}'),
    *('/v1/nodes/{}', '/v1/nodes/{}/traits', '/v1/nodes/{}/states', '/v1/nodes?instance_uuid={}', '/v1/nodes?fault={}'),
    *('/v1/nodes?provision_state={}', '/v1/nodes?traits={}', '/v1/nodes?marker={}', '/v1/nodes?sort_key={}'),
    *('/v1/ports?node={}', '/v1/ports?address={}', '/v1/ports?shard={}', '/v1/ports/{}', '/v1/portgroups/{}'),
    *(
        '/v1/chassis/{}',
        '/v1/reservations?node={}',
        '/v1/reservations/{}',
        '/v1/drivers/{}',
        '/v1/portgroups?address={}',
    ),
)
PROVIDERS = (
    *('/traits?name=in:{}', '/traits?name=in:HW_CPU_X86_VMX,{}', '/traits?name=startswith:{}', '/traits/{}'),
    *('/resource_classes/{}', '/resource_providers/{}', '/resource_providers?name={}', '/resource_providers?uuid={}'),
    *('/resource_providers?in_tree={}', '/resource_providers?member_of={}', '/resource_providers?required={}'),
    *('/resource_providers?resources={}:1', '/resource_providers/{}/traits', '/resource_providers/{}/inventories'),
    *('/resource_providers/{}/usages', '/resource_providers/{}/allocations', '/resource_providers/{}/aggregates'),
    *('/allocation_candidates?resources=VCPU:1&required={}', '/allocation_candidates?resources={}:1'),
    *('/allocation_candidates?resources=VCPU:1&in_tree={}', '/allocation_candidates?resources=VCPU:1&member_of={}'),
    *('/allocations/{}', '/usages?project_id={}', '/usages?project_id=a&user_id={}'),
    *('/usages?project_id=a&consumer_type={}', '/resource_providers/{}/inventories/VCPU'),
)


@pytest.mark.parametrize('text', TEXTS)
def test_text_that_is_not_ascii(client, text):
    """The text matches no stored value: the response is an empty list, 404 or 400."""
    quoted = urllib.parse.quote(text)
    for path in NODES:
        response = client.ask('GET', path.format(quoted))
        assert response.status_int in (200, 400, 404), path
    for path in PROVIDERS:
        response = client.placement('GET', path.format(quoted))
        assert response.status_int in (200, 400, 404), path
    response = client.placement('GET', f'/traits?name=in:HW_CPU_X86_VMX,{quoted}')
    assert response.json == {'traits': ['HW_CPU_X86_VMX']}
    for method in 'PUT', 'DELETE':
        for path in f'/traits/{quoted}', f'/resource_classes/{quoted}', f'/resource_providers/{quoted}':
            assert client.placement(method, path, {}).status_int in (400, 404)


@pytest.mark.parametrize(
    'path',
    [
        '/v1/nodes?shard={}',
        '/v1/ports?shard={}',
        '/placement/traits?name=in:{}',
        '/placement/resource_providers?resources={}',
        '/placement/resource_providers?required={}',
        '/placement/resource_providers?member_of=in:{}',
        '/placement/allocation_candidates?resources={}',
    ],
)
def test_more_values_than_a_statement_has_room_for(client, path):
    """The request is refused with 400, not with an error of the database."""
    for count in 1001, 260_000:
        values = ','.join(f'CUSTOM_{number}:1' if 'resources=' in path else f'A{number}' for number in range(count))
        if path.startswith('/placement'):
            response = client.placement('GET', path.removeprefix('/placement').format(values))
        else:
            response = client.ask('GET', path.format(values))
        assert response.status_int == 400, response.text[:200]


@pytest.mark.parametrize('method', ['GET', 'POST'])
def test_a_thousand_shards(client, method):
    shards = [f's{number}' for number in range(1000)]
    client.node(shard='s999')
    if method == 'GET':
        assert len(client.get(f'/v1/nodes?shard={",".join(shards)}')['nodes']) == 1
        return
    response = client.ask('POST', '/v1/matches', {'required': [], 'shard': shards})
    assert response.status_int == 200
    assert client.ask('POST', '/v1/matches', {'required': [], 'shard': [*shards, 'x']}).status_int == 400


def test_spellings_of_aggregates(client):
    """Different spellings of a uuid are different aggregates, as in Placement."""
    provider = client.placement('POST', '/resource_providers', {'name': 'one'}).json['uuid']
    path = f'/resource_providers/{provider}/aggregates'
    uuid = instance(1)
    spellings = [uuid, uuid.replace('-', ''), uuid.upper()]
    for generation, written in enumerate([*([each] for each in spellings), spellings]):
        body = {'aggregates': written, 'resource_provider_generation': generation}
        response = client.placement('PUT', path, body)
        assert (response.status_int, response.json['aggregates']) == (200, written)
        assert sorted(client.placement('GET', path).json['aggregates']) == sorted(written)
        for each in spellings:
            providers = client.placement('GET', f'/resource_providers?member_of={each}').json['resource_providers']
            assert len(providers) == (each in written)
    body = {'aggregates': [f'urn:uuid:{uuid}'], 'resource_provider_generation': 4}
    assert client.placement('PUT', path, body).status_int == 400
