"""A list that is empty because no node has a required trait says so in a header."""

import pytest

from tests.support import plans
from tests.support.client import Client, ask_as
from tests.support.service import make_app

ABSENT = 'No node that you may see has the trait {}.'


def warnings(response):
    assert response.status_int == 200, response.text
    return response.headers.get('Warning')


def expected(*names):
    return ', '.join(f'299 - "{ABSENT.format(name)}"' for name in names)


@pytest.fixture
def node(client):
    client.node(name='one', chassis_uuid=client.ask('POST', '/v1/chassis', {'description': 'rack'}).json['uuid'])
    client.ask('PUT', '/v1/nodes/one/traits', {'traits': ['CUSTOM_GPU', 'CUSTOM_FAST']})
    return client.get('/v1/nodes/one')


@pytest.mark.parametrize(
    'path',
    ['/v1/nodes?', '/v1/nodes/detail?', '/v1/nodes?detail=true&', '/v1/chassis/{}/nodes?', '/v1/facets?by=traits&'],
)
def test_a_trait_that_no_node_has(client, node, path):
    path = path.format(node['chassis_uuid'])
    assert warnings(client.ask('GET', f'{path}traits=CUSTOM_GPPU')) == expected('CUSTOM_GPPU')
    assert warnings(client.ask('GET', f'{path}traits=CUSTOM_Z,CUSTOM_GPU&traits-any=CUSTOM_X,CUSTOM_Y')) == expected(
        'CUSTOM_X', 'CUSTOM_Y', 'CUSTOM_Z'
    )


@pytest.mark.parametrize(
    'query',
    [
        # The page has nodes, or another filter makes it empty.
        'traits=CUSTOM_GPU',
        'traits-any=CUSTOM_GPU,CUSTOM_NONE',
        'not-traits=CUSTOM_NONE',
        'not-traits-any=CUSTOM_NONE',
        'traits=CUSTOM_GPU&not-traits=CUSTOM_FAST',
        'traits=CUSTOM_GPU&owner=nobody',
        'owner=nobody',
    ],
)
@pytest.mark.parametrize('path', ['nodes?', 'facets?by=owner&'])
def test_no_warning(client, node, path, query):
    assert warnings(client.ask('GET', f'/v1/{path}{query}')) is None


def test_only_an_empty_page_costs_a_statement(client, node):
    counts = []
    for query in ('traits=CUSTOM_GPU', 'traits=CUSTOM_GPPU', 'owner=nobody'):
        client.ask('GET', f'/v1/nodes?{query}')
        with plans.statements() as executed:
            client.ask('GET', f'/v1/nodes?{query}')
        counts.append(len(executed))
    assert counts == [counts[0], counts[0] + 1, counts[0]]


def test_many_traits(client, node):
    names = [f'CUSTOM_{number:03}' for number in range(200)]
    assert warnings(client.ask('GET', f'/v1/nodes?traits={",".join(names)}')) == expected(*names[:10])


def test_conditional_requests(client, node):
    """The header is no part of the ETag, and a 304 needs none: the client has the first response."""
    path = '/v1/nodes?traits=CUSTOM_GPPU'
    tag = client.ask('GET', path).headers['ETag']
    for _ in range(2):
        response = client.ask('GET', path, headers={'If-None-Match': tag})
        assert response.status_int == 304
        assert not response.body
    other = client.ask('GET', path, headers={'If-None-Match': '"other"'})
    assert (warnings(other), other.headers['ETag']) == (expected('CUSTOM_GPPU'), tag)


@pytest.mark.parametrize('has_index', [False, True])
def test_traits_of_hidden_nodes(database_url, has_index):
    """For a member of a project, a trait of other nodes is like one that no node has."""
    with make_app(database_url, api__auth_strategy='noauth2') as app:
        client = Client(app)
        for name, owner in (('own', 'alpha'), ('other', 'beta')):
            node = {'driver': 'fake-hardware', 'name': name, 'owner': owner}
            assert ask_as(client, 'system', 'POST', '/v1/nodes', node).status_int == 201
            ask_as(client, 'system', 'PUT', f'/v1/nodes/{name}/traits/CUSTOM_{name.upper()}')
        if has_index:
            app.service.node_index.prepare(app.service)
            app.service.node_index.wait()
        query = '/v1/nodes?traits=CUSTOM_OWN,CUSTOM_OTHER,CUSTOM_NONE'
        assert warnings(ask_as(client, 'project', 'GET', query)) == expected('CUSTOM_NONE', 'CUSTOM_OTHER')
        assert warnings(ask_as(client, 'system', 'GET', query)) == expected('CUSTOM_NONE')
