"""The trait of nodes whose instance has gone, until they are cleaned."""

import pytest

from tests.support.client import Client
from tests.support.reservations import available, available_of, instance
from tests.support.service import finish_work, make_app

TRAIT = 'CUSTOM_UNSANITIZED'
ERASE = [{'interface': 'vendor', 'step': 'log_passthrough', 'args': {}}]


@pytest.fixture
def app(database_url):
    with make_app(database_url, deploy__reclaim_trait=TRAIT) as application:
        yield application


@pytest.fixture
def client(app):
    return Client(app)


def traits(client, uuid):
    """Return the traits of a node, with their sources."""
    found = client.get(f'/v1/nodes/{uuid}/traits?detail=true')['traits']
    return {each['trait']: [hold['source'] for hold in each['sources']] for each in found}


def edits(client, uuid):
    """Return [(added, removed), …] of the writes of "reclaim:", from the history, the oldest first."""
    entries = client.get(f'/v1/history?node={uuid}&source=reclaim:')['history']
    return [(each['added'], each['removed']) for each in entries]


def deploy(app, client, **fields):
    """Create a node with an instance, and return its uuid."""
    uuid = available(client)
    patch = [{'op': 'add', 'path': f'/{name}', 'value': value} for name, value in fields.items()]
    patch.append({'op': 'add', 'path': '/instance_uuid', 'value': instance(1)})
    assert client.ask('PATCH', f'/v1/nodes/{uuid}', patch).status_int == 200
    provision(app, client, uuid, 'active')
    return uuid


def provision(app, client, uuid, target, **arguments):
    response = client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': target, **arguments})
    assert response.status_int == 202, response.text
    finish_work(app)


def matches(client, **request):
    return [node['uuid'] for node in client.ask('POST', '/v1/matches', request).json['nodes']]


def test_until_the_automated_clean_has_succeeded(app, client):
    uuid = deploy(app, client)
    assert traits(client, uuid) == {}
    provision(app, client, uuid, 'deleted')
    assert (traits(client, uuid), matches(client)) == ({}, [uuid])
    assert edits(client, uuid) == [([TRAIT], []), ([], [TRAIT])]


def test_after_a_failed_clean(app, client):
    """The node is kept back after maintenance, until a clean by hand has succeeded."""
    uuid = deploy(app, client, driver_info={'fake_failures': ['clean']})
    provision(app, client, uuid, 'deleted')
    assert traits(client, uuid) == {TRAIT: ['reclaim:']}
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/driver_info', 'value': {}}])
    client.ask('DELETE', f'/v1/nodes/{uuid}/maintenance')
    provision(app, client, uuid, 'manage')
    assert traits(client, uuid) == {TRAIT: ['reclaim:']}
    provision(app, client, uuid, 'clean', clean_steps=ERASE)
    assert traits(client, uuid) == {}


@pytest.mark.parametrize(('interface', 'step'), [('power', 'reboot'), ('power', 'power_off'), ('deploy', 'wait')])
def test_a_clean_that_cleans_nothing(app, client, interface, step):
    uuid = deploy(app, client, automated_clean=False)
    provision(app, client, uuid, 'deleted')
    provision(app, client, uuid, 'manage')
    flow = {'interface': interface, 'step': step, 'args': {'seconds': 0} if step == 'wait' else {}}
    provision(app, client, uuid, 'clean', clean_steps=[flow])
    assert client.get(f'/v1/nodes/{uuid}')['provision_state'] == 'manageable'
    assert traits(client, uuid) == {TRAIT: ['reclaim:']}
    provision(app, client, uuid, 'clean', clean_steps=[flow, *ERASE])
    assert traits(client, uuid) == {}


def test_a_client_that_writes_what_it_has_read(app, client):
    """It holds the trait, too. A clean removes it all the same, and vetoes nothing."""
    uuid = deploy(app, client, automated_clean=False)
    provision(app, client, uuid, 'deleted')
    assert client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': [TRAIT, 'CUSTOM_RACK_A']}).status_int == 200
    assert traits(client, uuid)[TRAIT] == ['reclaim:', 'operator']
    provision(app, client, uuid, 'manage')
    provision(app, client, uuid, 'clean', clean_steps=ERASE)
    assert traits(client, uuid) == {'CUSTOM_RACK_A': ['operator']}
    assert client.get(f'/v1/nodes/{uuid}/traits?detail=true')['vetoes'] == []
    assert edits(client, uuid)[-1] == ([], [TRAIT])


def test_without_an_automated_clean(app, client):
    """A node that nothing has cleaned is available, but only requests that ask for the trait match it."""
    uuid = deploy(app, client, automated_clean=False)
    provision(app, client, uuid, 'deleted')
    assert client.get(f'/v1/nodes/{uuid}')['provision_state'] == 'available'
    assert traits(client, uuid) == {TRAIT: ['reclaim:']}
    assert (matches(client), matches(client, required=[TRAIT])) == ([], [uuid])
    refused = client.ask('POST', '/v1/reservations', {'instance_uuid': instance(2), 'resource_class': 'x'})
    assert f'exclusive:{TRAIT}' in [each['clause'] for each in refused.json['explanation']['clauses']]
    by_list = client.ask('POST', '/v1/reservations', {'instance_uuid': instance(2), 'node_uuid': [uuid]})
    assert by_list.status_int == 201


@pytest.mark.parametrize('query', ['', '?preview=true'])
def test_it_stays_exclusive(client, query):
    body = {'exclusive': False, **({'flavors': [{'name': 'a'}]} if query else {})}
    refused = client.ask('PATCH', f'/v1/traits/{TRAIT}{query}', body)
    assert refused.status_int == 400
    assert 'is [deploy] reclaim_trait' in refused.text


def test_an_instance_that_goes_without_a_deploy(client):
    """Also when a request removes the instance, or the allocation, of an available node."""
    uuid = available(client)
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/instance_uuid', 'value': instance(1)}])
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'remove', 'path': '/instance_uuid'}])
    assert traits(client, uuid) == {TRAIT: ['reclaim:']}
    other = available_of(client, 'gold')
    allocation = client.ask('POST', '/v1/allocations', {'resource_class': 'gold'}).json['uuid']
    assert client.get(f'/v1/allocations/{allocation}')['node_uuid'] == other
    assert client.ask('DELETE', f'/v1/allocations/{allocation}').status_int == 204
    assert traits(client, other) == {TRAIT: ['reclaim:']}
    assert client.placement('GET', '/allocation_candidates?resources=CUSTOM_GOLD:1').json['allocation_requests'] == []


def test_vetoes_and_the_limit_do_not_apply(app, client):
    """An operator who removes the trait once does not give away the node the next time."""
    uuid = deploy(app, client, automated_clean=False)
    provision(app, client, uuid, 'deleted')
    full = [f'CUSTOM_{number}' for number in range(50)]
    assert client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': full}).status_int == 200
    assert TRAIT not in traits(client, uuid)
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/instance_uuid', 'value': instance(1)}])
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'remove', 'path': '/instance_uuid'}])
    assert traits(client, uuid)[TRAIT] == ['reclaim:']
    assert client.ask('DELETE', f'/v1/nodes/{uuid}/traits/{TRAIT}').status_int == 204
    assert len(traits(client, uuid)) == 50


def test_clients_cannot_write_as_its_source(client):
    uuid = available(client)
    for source in ('reclaim:', 'reclaim:x'):
        response = client.ask('PUT', f'/v1/nodes/{uuid}/traits?source={source}', {'traits': [TRAIT]})
        assert response.status_int == 400, source


def test_it_is_exclusive_in_the_catalogue(client):
    client.placement('PUT', f'/traits/{TRAIT}')
    assert client.get(f'/v1/traits/{TRAIT}')['exclusive'] is True
    for query, names in (('exclusive=true', [TRAIT]), ('exclusive=false&custom=true', [])):
        assert [each['name'] for each in client.get(f'/v1/traits?all=true&{query}')['traits']] == names
    assert client.ask('PATCH', f'/v1/traits/{TRAIT}', {'exclusive': False}).status_int == 400
    assert client.ask('PATCH', f'/v1/traits/{TRAIT}', {'description': 'Not cleaned yet'}).status_int == 200


def test_nothing_without_the_option(database_url):
    with make_app(database_url) as application:
        uuid = deploy(application, Client(application), automated_clean=False)
        provision(application, Client(application), uuid, 'deleted')
        assert traits(Client(application), uuid) == {}


def test_a_program_that_sets_all_traits(app, client):
    """It removes the trait, as an operator would, unless it sets those of a source."""
    uuid = deploy(app, client, automated_clean=False)
    provision(app, client, uuid, 'deleted')
    for path, left in (
        ('?source=program', {'CUSTOM_A': ['program'], TRAIT: ['reclaim:']}),
        ('', {'CUSTOM_A': ['program', 'operator']}),
    ):
        assert client.ask('PUT', f'/v1/nodes/{uuid}/traits{path}', {'traits': ['CUSTOM_A']}).status_int == 200
        assert traits(client, uuid) == left
