"""Exclusive traits: a node with one only matches requests that require it."""

import pytest

from ironic_traits.inventory.traits import trait_catalogue
from tests.support import personas
from tests.support.client import Client
from tests.support.reservations import available, instance
from tests.support.rows import set_exclusive
from tests.support.service import make_app

GPU, FAST = 'CUSTOM_GPU', 'CUSTOM_FAST'
CLAUSE = f'exclusive:{GPU}'
FLAVORS = [
    {'name': 'plain', 'extra_specs': {'resources:CUSTOM_GOLD': '1'}},
    {'name': 'fast', 'extra_specs': {'resources:CUSTOM_GOLD': '1', f'trait:{FAST}': 'required'}},
    {'name': 'careful', 'extra_specs': {'resources:CUSTOM_GOLD': '1', f'trait:{GPU}': 'forbidden'}},
    {'name': 'gpu', 'extra_specs': {'resources:CUSTOM_GOLD': '1', f'trait:{GPU}': 'required'}},
]


@pytest.fixture
def nodes(client):
    """The uuids of a node with both traits, and of one with CUSTOM_FAST."""
    uuids = []
    for traits in ([GPU, FAST], [FAST]):
        uuids.append(available(client))
        client.ask('PATCH', f'/v1/nodes/{uuids[-1]}', [{'op': 'add', 'path': '/resource_class', 'value': 'gold'}])
        assert client.ask('PUT', f'/v1/nodes/{uuids[-1]}/traits', {'traits': traits}).status_int == 200
    return uuids


def reserve(client, number, **request):
    """Request a reservation, and return the status and the reservation, or the failure."""
    response = client.ask('POST', '/v1/reservations', {'instance_uuid': instance(number), **request})
    return response.status_int, response.json.get('reservation', response.json)


def allocate(client, **request):
    """Create an allocation, and return its node; None if it fails."""
    allocation = client.ask('POST', '/v1/allocations', {'resource_class': 'gold', **request}).json
    return client.get(f'/v1/allocations/{allocation["uuid"]}')['node_uuid']


def test_claims_by_request(app, client, nodes):
    """Reservations and allocations by request leave the node alone, unless they require the trait or list the node."""
    gpu, fast = nodes
    set_exclusive(app.service, [GPU])
    assert reserve(client, 1, required=[FAST])[1]['node_uuid'] == fast
    status, refused = reserve(client, 2, required=[FAST])
    assert status == 409
    rejected = {each['clause']: each['rejected'] for each in refused['explanation']['clauses'] if each['rejected']}
    assert rejected == {CLAUSE: 1, 'eligible:reserved': 1}
    assert allocate(client, traits=[FAST]) is None
    # To prefer a trait is not to require it.
    assert reserve(client, 2, preferred=[GPU])[0] == 409
    for number, request in enumerate(
        ({'required': [GPU]}, {'required_any': [[GPU, 'CUSTOM_X']]}, {'node_uuid': [gpu]}, {'node_uuid': gpu}), 3
    ):
        status, found = reserve(client, number, **request)
        assert (status, found['node_uuid']) == (201, gpu), request
        client.ask('DELETE', f'/v1/reservations/{found["uuid"]}')
    status, found = reserve(client, 9, node_uuid=[gpu], required=[FAST])
    assert status == 201
    client.ask('DELETE', f'/v1/reservations/{found["uuid"]}')
    assert allocate(client, traits=[GPU]) == gpu


def test_the_words_of_a_refusal(app, client, nodes):
    set_exclusive(app.service, [GPU])
    reserve(client, 1, node_uuid=nodes[1])
    message = reserve(client, 2, resource_class='gold')[1]['error_message']
    assert f'does not have the exclusive trait {GPU}, which the request does not ask for' in str(message)


def test_lists_and_nodes_stay(app, client, nodes):
    set_exclusive(app.service, [GPU])
    assert [node['uuid'] for node in client.get('/v1/nodes?traits=' + FAST)['nodes']] == nodes
    assert (
        client.placement('GET', '/resource_providers?required=' + FAST).json['resource_providers'][0]['uuid'] in nodes
    )
    assert client.get(f'/v1/nodes/{nodes[0]}/traits')['traits'] == [FAST, GPU]


def test_an_earlier_reservation_stays(app, client, nodes):
    """The same request again returns the reservation, although its node has become exclusive."""
    _, first = reserve(client, 1, required=[FAST])
    assert first['node_uuid'] == nodes[0]
    set_exclusive(app.service, [GPU])
    assert reserve(client, 1, required=[FAST]) == (200, first)


def test_all_processes_use_an_answered_change(database_url):
    """Another process that has just read the names uses the change as soon as the request is answered."""
    with make_app(database_url) as app, make_app(database_url) as other:
        uuid = available(Client(app))
        Client(app).ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': [GPU]})
        for exclusive in (True, False):
            before = Client(other).ask('POST', '/v1/matches', {}).json['nodes']
            assert (
                Client(app).ask('PATCH', f'/v1/traits/{GPU}', {'exclusive': exclusive}).json['exclusive'] is exclusive
            )
            after = Client(other).ask('POST', '/v1/matches', {}).json['nodes']
            assert (len(before), len(after)) == ((1, 0) if exclusive else (0, 1))


def test_preview_and_drift(app, client, nodes):
    """They say which flavors would match fewer nodes. Nothing is changed."""
    changed = [{'name': 'plain', 'now': 2, 'then': 1}, {'name': 'fast', 'now': 2, 'then': 1}]
    preview = client.ask('PATCH', f'/v1/traits/{GPU}?preview=true', {'exclusive': True, 'flavors': FLAVORS})
    assert preview.status_int == 200, preview.text
    assert (preview.json['nodes'], preview.json['exclusive'], preview.json['flavors']) == (1, True, changed)
    drift = client.ask('POST', '/v1/drift', {'exclusive': [GPU], 'flavors': FLAVORS}).json
    assert drift['changed_flavors'] == changed
    assert client.get(f'/v1/traits/{GPU}')['exclusive'] is False

    set_exclusive(app.service, [GPU])
    back = client.ask('PATCH', f'/v1/traits/{GPU}?preview=true', {'exclusive': False, 'flavors': FLAVORS}).json
    assert back['flavors'] == [each | {'now': each['then'], 'then': each['now']} for each in changed]
    counted = client.ask('POST', '/v1/capacity', {'flavors': FLAVORS}).json['flavors']
    assert {each['name']: each['free'] for each in counted} == {'plain': 1, 'fast': 1, 'careful': 1, 'gpu': 1}
    counted = client.ask('POST', '/v1/capacity', {'flavors': FLAVORS, 'include_exclusive': True}).json['flavors']
    assert {each['name']: each['free'] for each in counted} == {'plain': 2, 'fast': 2, 'careful': 1, 'gpu': 1}
    assert client.ask('POST', '/v1/capacity', {'flavors': FLAVORS, 'include_exclusive': 'x'}).status_int == 400
    assert client.ask('POST', '/v1/drift', {'flavors': FLAVORS}).json['changed_flavors'] == []
    assert client.ask('POST', '/v1/drift', {'flavors': FLAVORS, 'exclusive': [None]}).status_int == 400


@pytest.mark.parametrize(
    ('query', 'body'),
    [
        ('?preview=true', {'exclusive': True}),
        ('?preview=true', {'exclusive': True, 'flavors': None}),
        ('?preview=true', {'exclusive': True, 'flavors': None, 'nova_flavors': None}),
        ('?preview=true', {'retired': True, 'flavors': FLAVORS}),
        ('?preview=true', {'exclusive': True, 'retired': True, 'flavors': FLAVORS}),
        ('', {'exclusive': True, 'flavors': FLAVORS}),
        ('', {'flavors': FLAVORS}),
        ('', {'exclusive': 'maybe'}),
        ('', {}),
    ],
)
def test_bad_changes(client, query, body):
    assert client.ask('PATCH', f'/v1/traits/{GPU}{query}', body).status_int == 400


def test_a_limit(app, client):
    """One more is refused. Those that are exclusive already can be written again, and ended."""
    names = [f'CUSTOM_{number}' for number in range(trait_catalogue.MAX_EXCLUSIVE)]
    set_exclusive(app.service, names)
    refused = client.ask('PATCH', f'/v1/traits/{GPU}', {'exclusive': True})
    preview = '?preview=true', {'exclusive': True, 'flavors': FLAVORS}
    assert client.ask('PATCH', f'/v1/traits/{GPU}{preview[0]}', preview[1]).status_int == 400
    assert (refused.status_int, client.ask('GET', f'/v1/traits/{GPU}').status_int) == (400, 404)
    assert client.ask('PATCH', f'/v1/traits/{names[0]}', {'exclusive': True}).status_int == 200
    assert client.ask('PATCH', f'/v1/traits/{names[0]}', {'exclusive': None}).json['exclusive'] is False
    shown = client.ask('PATCH', f'/v1/traits/{GPU}{preview[0]}', preview[1]).json
    assert (shown['exclusive'], shown['nodes'], client.ask('GET', f'/v1/traits/{GPU}').status_int) == (True, 0, 404)
    assert client.ask('PATCH', f'/v1/traits/{GPU}', {'exclusive': True}).status_int == 200


def test_only_administrators_make_a_trait_exclusive(database_url):
    with make_app(database_url, api__auth_strategy='noauth2') as app:
        for persona, expected in (('system_admin', 200), ('system_member', 403), ('owner_admin', 403)):
            for method in ('PUT', 'PATCH'):
                headers = personas.headers(persona)
                response = Client(app).ask(method, f'/v1/traits/{GPU}', {'exclusive': True}, headers=headers)
                assert response.status_int == expected, persona
        headers = personas.headers('system_member')
        assert Client(app).ask('PATCH', f'/v1/traits/{GPU}', {'retired': True}, headers=headers).status_int == 200


def test_a_deleted_trait_is_exclusive_no_more(app, client):
    """Queries for candidates still work while the process has its name."""
    set_exclusive(app.service, [GPU])
    client.placement('PUT', '/resource_classes/CUSTOM_UNIT')
    assert client.placement('GET', '/allocation_candidates?resources=CUSTOM_UNIT:1').status_int == 200
    assert client.placement('DELETE', f'/traits/{GPU}').status_int == 204
    assert client.placement('GET', '/allocation_candidates?resources=CUSTOM_UNIT:1').status_int == 200
    assert client.ask('POST', '/v1/explanations', {'query': 'resources=CUSTOM_UNIT:1'}).json['clauses'] == [
        {'clause': 'resources:CUSTOM_UNIT:1', 'rejected': 0, 'rejected_only': 0}
    ]
    assert client.ask('POST', '/v1/matches', {}).status_int == 200
