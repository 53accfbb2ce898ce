"""If-Match."""

from uuid import uuid4

import pytest

from tests.support.client import Client, message
from tests.support.concurrency import at_once
from tests.support.service import make_app

STEP = {'interface': 'deploy', 'step': 'deploy', 'args': {}, 'priority': 10}
CLEAN = {'interface': 'deploy', 'step': 'erase_devices', 'args': {}, 'order': 0}
MAC = '52:54:00:00:00:01'


def change(name, value):
    return [{'op': 'add', 'path': f'/{name}', 'value': value}]


def create(client, path, **fields):
    """Create a record, and return its path."""
    response = client.ask('POST', f'/v1/{path}', fields)
    assert response.status_int == 201, response.text
    return f'/v1/{path}/{response.json["uuid"]}'


@pytest.fixture
def writes(client, available):
    """Writes that change a resource, for each resource: [(path with the ETag, method, path, body), …]."""
    uuid = available(name='rack.1')
    node = '/v1/nodes/rack.1'
    held = client.ask('POST', '/v1/reservations', {'node_uuid': [available()], 'instance_uuid': str(uuid4())})
    reservation = f'/v1/reservations/{held.json["reservation"]["uuid"]}'
    available(name='gold', resource_class='gold')
    allocation = create(client, 'allocations', resource_class='gold', name='a')
    volume = {'node_uuid': uuid, 'extra': {}}
    target = {'volume_type': 'iscsi', 'boot_index': 0, 'volume_id': 'v', 'properties': {}}
    records = [
        create(client, 'ports', node_uuid=uuid, address=MAC),
        create(client, 'portgroups', node_uuid=uuid),
        create(client, 'chassis'),
        create(client, 'volume/connectors', type='iqn', connector_id='c', **volume),
        create(client, 'volume/targets', **target, **volume),
        create(client, 'deploy_templates', name='CUSTOM_T', steps=[STEP]),
        runbook := create(client, 'runbooks', name='CUSTOM_R', steps=[CLEAN]),
    ]
    action = {'op': 'set-attribute', 'args': {'path': 'extra/a', 'value': 'b'}}
    rule = create(client, 'inspection_rules', description='one', actions=[action])
    client.ask('PUT', '/v1/traits/CUSTOM_X', {'description': 'old'})
    return [
        *((path, 'PATCH', path, change('extra', {'step': step})) for path in records for step in (1, 2)),
        *((rule, 'PATCH', rule, change('description', str(step))) for step in (1, 2)),
        *((allocation, 'PATCH', allocation, change('name', f'a{step}')) for step in (1, 2)),
        *(('/v1/traits/CUSTOM_X', 'PUT', '/v1/traits/CUSTOM_X', {'description': str(step)}) for step in (1, 2)),
        ('/v1/traits/CUSTOM_X', 'PATCH', '/v1/traits/CUSTOM_X', {'retired': True}),
        ('/v1/traits/CUSTOM_X', 'PATCH', '/v1/traits/CUSTOM_X', {'exclusive': True}),
        *((node, 'PATCH', node, change('extra', {'step': step})) for step in (1, 2)),
        (node, 'PUT', f'{node}/maintenance', {'reason': 'fan'}),
        (node, 'DELETE', f'{node}/maintenance', None),
        (f'{node}/traits', 'PUT', f'{node}/traits', {'traits': ['CUSTOM_A']}),
        (f'{node}/traits', 'PUT', f'{node}/traits/CUSTOM_B', None),
        (f'{node}/traits', 'DELETE', f'{node}/traits/CUSTOM_A', None),
        (f'{node}/traits', 'DELETE', f'{node}/traits', None),
        (f'{runbook}/traits', 'PUT', f'{runbook}/traits', {'traits': ['CUSTOM_A']}),
        (f'{runbook}/traits', 'DELETE', f'{runbook}/traits/CUSTOM_A', None),
        (f'{node}/vifs', 'POST', f'{node}/vifs', {'id': 'v'}),
        (f'{node}/vifs', 'DELETE', f'{node}/vifs/v', None),
        (f'{node}/states', 'PUT', f'{node}/states/power', {'target': 'power on'}),
        (node, 'DELETE', f'{node}/lock', None),
        (f'{node}/states', 'PUT', f'{node}/states/provision', {'target': 'manage'}),
        (reservation, 'POST', f'{reservation}/renew', {'expires_in': 600}),
        (reservation, 'DELETE', reservation, None),
        ('/v1/nodes/gold/allocation', 'DELETE', '/v1/nodes/gold/allocation', None),
        *((path, 'DELETE', path, None) for path in (*records, rule, node)),
    ]


def test_writes_of_each_resource(client, writes):
    """Each write needs the current ETag of the resource, and changes the ETag."""
    for path, *request in writes:
        tag = client.ask('GET', path).headers['ETag']
        for other in ('"0"', f'W/{tag}', '', '"0", W/"1"'):
            response = client.ask(*request, headers={'If-Match': other})
            assert response.status_int == 412, (request, other, response.text)
            assert response.json['code'] == 'baremetal.precondition_failed'
            assert tag in message(response)
        assert client.ask('GET', path).headers['ETag'] == tag
        response = client.ask(*request, headers={'If-Match': f'"0", {tag}'})
        assert response.status_int < 300, (request, response.text)
        assert client.ask('GET', path).headers.get('ETag') != tag


def test_any_tag(client):
    """A * matches each existing resource."""
    client.node(name='one')
    headers = {'If-Match': '*'}
    assert client.ask('PATCH', '/v1/nodes/one', change('extra', {'a': 1}), headers=headers).status_int == 200
    assert client.ask('PATCH', '/v1/nodes/two', change('extra', {'a': 1}), headers=headers).status_int == 404
    assert client.ask('PUT', '/v1/nodes/two/traits', {'traits': []}, headers=headers).status_int == 404
    response = client.ask('PUT', '/v1/traits/CUSTOM_NEW', {'description': 'new'}, headers=headers)
    assert (response.status_int, 'There is no /v1/traits/CUSTOM_NEW yet' in message(response)) == (412, True)
    assert client.ask('PATCH', '/v1/traits/CUSTOM_NEW', {'retired': True}, headers=headers).status_int == 404
    assert client.ask('GET', '/v1/traits/CUSTOM_NEW').status_int == 404


def test_reads(client):
    client.node(name='one')
    for path in ('/v1/nodes', '/v1/nodes/one', '/v1'):
        tag = client.ask('GET', path).headers['ETag']
        assert client.ask('GET', path, headers={'If-Match': tag}).status_int == 200
        assert client.ask('GET', path, headers={'If-Match': tag, 'If-None-Match': tag}).status_int == 304
        assert client.ask('GET', path, headers={'If-Match': '"0"', 'If-None-Match': tag}).status_int == 412


def test_names_with_a_suffix(client):
    """Up to 1.90, the end of a path may be a suffix or part of the name."""
    client.node(name='plain')
    client.node(name='my.json')
    for path in ('/v1/nodes/plain.json', '/v1/nodes/my.json', '/v1/nodes/my.json.json'):
        tag = client.ask('GET', path, version='1.82').headers['ETag']
        body = change('extra', {'path': path})
        for header, status in (('"0"', 412), (tag, 200)):
            assert client.ask('PATCH', path, body, version='1.82', headers={'If-Match': header}).status_int == status


def test_where_it_is_not_supported(client):
    """Where If-Match is not supported, it is refused instead of ignored."""
    uuid = client.node(resource_class='gold')['uuid']
    for method, path, body in (
        ('POST', '/v1/nodes', {'driver': 'fake-hardware'}),
        ('POST', '/v1/reservations', {'node_uuid': [uuid], 'instance_uuid': str(uuid4())}),
        ('POST', '/v1/allocations', {'resource_class': 'gold'}),
        ('POST', '/v1/traits/edits', {'add': ['CUSTOM_B'], 'nodes': [uuid], 'preview': True}),
        ('POST', '/v1/nodes/actions', {'action': 'manage', 'nodes': [uuid], 'preview': True}),
        ('POST', '/v1/matches', {'required': []}),
    ):
        response = client.ask(method, path, body, headers={'If-Match': '*'})
        assert (response.status_int, response.json['code']) == (400, 'baremetal.if_match_unsupported'), response.text
    headers = {'If-Match': '*', 'OpenStack-API-Version': 'placement 1.39'}
    claim = {'allocations': {uuid: {'resources': {'CUSTOM_GOLD': 1}}}, 'project_id': 'p', 'user_id': 'u'}
    claim |= {'consumer_generation': None, 'consumer_type': 'INSTANCE'}
    for method, path, body in (
        ('GET', f'resource_providers/{uuid}/traits', None),
        ('DELETE', f'resource_providers/{uuid}/traits', None),
        ('PUT', f'allocations/{uuid4()}', claim),
    ):
        response = client.ask(method, f'/placement/{path}', body, version=None, headers=headers)
        assert response.status_int == 400
        assert 'does not support If-Match' in response.text
    assert len(client.get('/v1/nodes')['nodes']) == 1


def test_one_client_wins(clients, available):
    """Of clients of two applications with the same ETag, one writes. The others are refused with 412."""
    client = clients[0]
    uuid = client.node(name='one', resource_class='gold')['uuid']
    port = create(client, 'ports', node_uuid=uuid, address=MAC)
    chassis = create(client, 'chassis')
    body = {'node_uuid': [available()], 'instance_uuid': str(uuid4())}
    held = f'/v1/reservations/{client.ask("POST", "/v1/reservations", body).json["reservation"]["uuid"]}'
    for path, request in (
        ('/v1/nodes/one', lambda number: ('PATCH', f'/v1/nodes/{uuid}', change('extra', {'by': number}))),
        ('/v1/nodes/one/traits', lambda number: ('PUT', f'/v1/nodes/one/traits/CUSTOM_{number}', None)),
        (port, lambda number: ('PATCH', port, change('extra', {'by': number}))),
        (chassis, lambda number: ('PATCH', chassis, change('extra', {'by': number}))),
        (held, lambda number: ('POST', f'{held}/renew', {'expires_in': 600 + number})),
    ):
        headers = {'If-Match': client.ask('GET', path).headers['ETag']}
        statuses = at_once(clients, lambda own, number, r=request, h=headers: own.ask(*r(number), headers=h).status_int)
        assert sorted(statuses)[1:] == [412] * (len(clients) - 1), (path, statuses)
        assert min(statuses) < 300


def test_no_update_is_lost(clients):
    """No update is lost if clients use If-Match, and repeat refused writes."""
    clients[0].node(name='one')

    def add(client, number):
        while True:
            response = client.ask('GET', '/v1/nodes/one')
            count = response.json['extra'].get('count', 0) + 1
            headers = {'If-Match': response.headers['ETag']}
            if (
                client.ask('PATCH', '/v1/nodes/one', change('extra', {'count': count}), headers=headers).status_int
                == 200
            ):
                return

    at_once(clients[:6], add)
    assert clients[0].get('/v1/nodes/one')['extra'] == {'count': 6}


def test_callers(database_url):
    """A caller who may not read a resource cannot use its ETag, and does not see it in the refusal."""
    with make_app(database_url, api__auth_strategy='noauth2') as app:
        client = Client(app)
        admin = {'X-Auth-Token': 'admin', 'OpenStack-System-Scope': 'all', 'X-Roles': 'admin,member,reader'}
        stranger = {'X-Auth-Token': 'demo:demo', 'X-Roles': 'admin,member,reader'}
        body = {'driver': 'fake-hardware', 'name': 'one', 'driver_info': {'ipmi_password': 's3cret'}}
        assert client.ask('POST', '/v1/nodes', body, headers=admin).status_int == 201
        tag = client.ask('GET', '/v1/nodes/one', headers=admin).headers['ETag']
        patch = change('extra', {'a': 1})
        response = client.ask('PATCH', '/v1/nodes/one', patch, headers=stranger | {'If-Match': tag})
        assert (response.status_int, tag in response.text) == (404, False)
        assert client.ask('PATCH', '/v1/nodes/one', patch, headers=admin | {'If-Match': tag}).status_int == 200
