"""The cost of a request depends on its response, not on the inventory: with many nodes, few rows are read.

The tests count rows. ``benchmarks`` measures time.
"""

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support import plans, servers
from tests.support.client import Client
from tests.support.service import make_app, upgraded

NODES = 100_000
#: Maximum number of rows of all tables for a page of 100 nodes, or for 50 candidates. A tenth of the nodes have one of
#: the traits, and a hundredth have two of them.
MOST = NODES // 8
PAGE = '/v1/nodes?fields=uuid,name&limit=100'
CANDIDATES = '/placement/allocation_candidates?resources=CUSTOM_GOLD:1&limit=50'
REQUESTS = [
    PAGE,
    *(f'{PAGE}&sort_key={key}' for key in ('name', 'uuid', 'updated_at', 'created_at', 'provision_state')),
    f'{PAGE}&sort_key=updated_at&sort_dir=desc',
    f'{PAGE}&sort_key=updated_at&marker=MARKER',
    f'{PAGE}&sort_key=provision_state&marker=MARKER',
    f'{PAGE}&sort_key=name&sort_dir=desc&marker=MARKER',
    f'{PAGE}&maintenance=true',
    f'{PAGE}&retired=true',
    f'{PAGE}&provision_state=active',
    f'{PAGE}&resource_class=rare',
    f'{PAGE}&associated=false',
    f'{PAGE}&reserved=false',
    f'{PAGE}&held=false',
    f'{PAGE}&traits=CUSTOM_A_1',
    f'{PAGE}&traits=CUSTOM_A_1,CUSTOM_B_2&not-traits-any=CUSTOM_C_3',
    CANDIDATES,
    f'{CANDIDATES}&required=CUSTOM_A_1,!CUSTOM_C_3',
    f'{CANDIDATES}&required=CUSTOM_A_1,CUSTOM_B_2',
    CANDIDATES.replace('GOLD', 'RARE'),
    f'/placement/resource_providers?name={"0" * 8}',
    '/placement/resource_providers/00000000-0000-4000-8000-000000050000/traits',
    '/placement/traits',
]


@pytest.fixture(scope='module', params=servers.SERVERS)
def large(request):
    """An application with many nodes."""
    if not servers.SERVERS[request.param].installed():
        pytest.skip('left out')
    server = servers.SERVERS[request.param]()
    try:
        server.start()
        with make_app(upgraded(server.create('large'))) as application:
            plans.fill(application, NODES)
            yield application
    finally:
        server.stop()


def test_matches_without_limit(large):
    """Without a limit, the response has the first hundred matches, and a warning that there are more."""
    client = Client(large)
    response = client.ask('POST', '/v1/matches', {'required': ['CUSTOM_A_1']}, version='1.82').json
    assert len(response['nodes']) == 100
    assert response['warnings'] == ["More nodes match: these are the first 100. Set 'limit' to get up to 1000."]
    response = client.ask('POST', '/v1/matches', {'required': ['CUSTOM_A_1'], 'limit': 101}, version='1.82').json
    assert (len(response['nodes']), response['warnings']) == (101, [])


def test_a_match_reads_few_rows(large):
    """It does not read all reservations, for example."""
    with plans.statements() as executed:
        response = Client(large).ask('POST', '/v1/matches', {'resource_class': 'gold', 'limit': 50}, version='1.82')
    assert response.status_int == 200
    rows = plans.rows_read(large.service, executed)
    assert rows.total() < MOST, rows


@pytest.mark.parametrize('path', REQUESTS)
def test_rows_read(large, path):
    client = Client(large)
    marker = client.ask('GET', f'{PAGE}&provision_state=active').json['nodes'][70]['uuid']
    with plans.statements() as executed:
        if path.startswith('/placement'):
            response = client.placement('GET', path.removeprefix('/placement'))
        else:
            response = client.ask('GET', path.replace('MARKER', marker))
    assert response.status_int == 200
    rows = plans.rows_read(large.service, executed)
    assert rows.total() < MOST, rows


#: A thousandth of the nodes have all three.
FEW = ['CUSTOM_A_1', 'CUSTOM_B_2', 'CUSTOM_C_3']
MATCH = {'required': FEW, 'resource_class': 'gold'}


@pytest.mark.parametrize(
    ('method', 'path', 'body'),
    [
        ('GET', f'{PAGE}&traits={",".join(FEW)}', None),
        ('GET', f'{CANDIDATES}&required={",".join(FEW)}', None),
        ('GET', f'/placement/resource_providers?required={",".join(FEW)}', None),
        ('POST', '/v1/matches', MATCH),
    ],
)
def test_traits_that_few_nodes_share(large, method, path, body):
    """The query compares the lists of the traits before it reads nodes. It scans no table."""
    client = Client(large)
    with plans.statements() as executed:
        if path.startswith('/placement'):
            response = client.placement(method, path.removeprefix('/placement'))
        else:
            response = client.ask(method, path, body, version='1.82')
    assert response.status_int == 200
    rows = plans.rows_read(large.service, executed)
    assert rows['nodes'] < NODES // 50, rows
    assert not plans.scans(large.service, executed) & {'nodes', 'node_traits'}


def test_an_explanation_reads_the_nodes_once(large):
    client = Client(large)
    with plans.statements() as executed:
        response = client.ask('POST', '/v1/matches', MATCH | {'explain': True}, version='1.82')
    assert len(response.json['explanation']['near_misses']) == 20
    rows = plans.rows_read(large.service, executed)
    assert rows['nodes'] < 1.2 * NODES, rows


def test_an_explanation_from_the_index_reads_few_nodes(large):
    with large.service.node_index.now(large.service):
        pass
    with plans.statements() as executed:
        response = Client(large).ask('POST', '/v1/matches', MATCH | {'explain': True}, version='1.82')
    assert len(response.json['explanation']['near_misses']) == 20
    # The match reads the lists of the three traits.
    rows = plans.rows_read(large.service, executed)
    assert rows['nodes'] < NODES // 50, rows
    assert not plans.scans(large.service, executed) & {'nodes', 'node_traits'}


def test_a_long_list_of_providers(large):
    """A long list has many batches of rows."""
    providers = Client(large).placement('GET', '/resource_providers?required=CUSTOM_A_1').json['resource_providers']
    uuids = [provider['uuid'] for provider in providers]
    # A tenth of the nodes match, and the second one: the first two nodes have all traits.
    assert len(set(uuids)) == len(uuids) == NODES // 10 + 1
    assert uuids[2:] == sorted(uuids[2:])
    assert all(provider['name'] == provider['root_provider_uuid'] == provider['uuid'] for provider in providers)


@pytest.mark.parametrize('kind', servers.SERVERS)
def test_a_trait_that_no_node_has(kind):
    """To find that out takes no scan of the traits of all nodes, although these are few names."""
    if not servers.SERVERS[kind].installed():
        pytest.skip('left out')
    server = servers.SERVERS[kind]()
    try:
        server.start()
        with make_app(upgraded(server.create('few'))) as application:
            plans.fill(application, 20_000)
            with application.service.write() as connection:
                connection.execute(sa.delete(tables.node_traits).where(tables.node_traits.c.trait != 'CUSTOM_A_0'))
                connection.exec_driver_sql(
                    'ANALYZE node_traits' if kind == 'postgresql' else 'ANALYZE TABLE node_traits'
                )
            with plans.statements() as executed:
                path = '/allocation_candidates?resources=CUSTOM_GOLD:1&limit=5&required=!HW_GPU_API_DXVA'
                assert Client(application).placement('GET', path).status_int == 200
            rows = plans.rows_read(application.service, executed)
            assert rows['node_traits'] < 100, rows
    finally:
        server.stop()
