"""Several writers of one node's traits: an inspection hook, an operator, nova, an import."""

import itertools

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from tests.support.client import Client
from tests.support.concurrency import at_once
from tests.support.personas import headers
from tests.support.providers import golden, moves, provider, put_traits
from tests.support.service import make_app


def write(client, node, source, *names):
    """Replace the traits that a source holds."""
    response = client.ask('PUT', f'/v1/nodes/{node}/traits?source={source}', {'traits': list(names)})
    assert response.status_int == 200, response.text
    return response.json


def sources_of(client, node):
    """Return {trait: [source, …]}."""
    details = client.get(f'/v1/nodes/{node}/traits?detail=true')
    return {each['trait']: [hold['source'] for hold in each['sources']] for each in details['traits']}


def inspect(client, node):
    write(client, node, 'inspection', 'CUSTOM_RACK_7', 'HW_CPU_X86_AVX2')


def operate(client, node):
    assert client.ask('PUT', f'/v1/nodes/{node}/traits/CUSTOM_GOLD').status_int == 204


def sync(client, node):
    put_traits(client, node, ['COMPUTE_NODE'])


def load(client, node):
    write(client, node, 'cmdb', 'CUSTOM_LEASED', 'CUSTOM_RACK_7')


@pytest.mark.parametrize(
    'order',
    itertools.permutations((inspect, operate, sync, load)),
    ids=lambda order: '-'.join(turn.__name__ for turn in order),
)
def test_traits_survive_the_writes_of_others(client, order):
    """A write by a source keeps the traits of others. Understack's inspection hook removed them."""
    node = golden(client)
    for turn in (*order, *order):
        turn(client, node)
    held = sources_of(client, node)
    assert {name: set(sources) for name, sources in held.items()} == {
        'CUSTOM_GOLD': {'operator'},
        'CUSTOM_LEASED': {'cmdb'},
        'CUSTOM_RACK_7': {'inspection', 'cmdb'},
        'HW_CPU_X86_AVX2': {'inspection'},
        'COMPUTE_NODE': {'placement'},
    }
    # Without the disk, the hook withdraws its traits. The others stay.
    write(client, node, 'inspection')
    assert sorted(provider(client, node)[1]['traits']['traits']) == [
        'COMPUTE_NODE',
        'CUSTOM_GOLD',
        'CUSTOM_LEASED',
        'CUSTOM_RACK_7',
    ]


def test_sources_have_the_order_of_their_writes(client):
    """Also those with the same time: the clock of SQLite counts milliseconds."""
    sources = [f'site-{number}' for number in range(40, 0, -1)]
    node = golden(client)
    for source in sources:
        write(client, node, source, 'CUSTOM_A')
    assert sources_of(client, node)['CUSTOM_A'] == sources
    write(client, node, sources[0])
    assert sources_of(client, node)['CUSTOM_A'] == sources[1:]
    write(client, node, sources[0], 'CUSTOM_A')
    assert sources_of(client, node)['CUSTOM_A'] == [*sources[1:], sources[0]]


def test_a_clock_that_was_set_back_keeps_the_order(app, client):
    """A later write has a later time than the write before, whatever the clock of the database says."""
    node = golden(client)
    for source in ('c', 'b'):
        write(client, node, source, 'CUSTOM_A')
    with app.service.write() as connection:
        for table in (tables.node_traits, tables.node_trait_sources):
            connection.execute(sa.update(table).values(since=sa.literal_column("'2100-01-01 00:00:00.000000'")))
    write(client, node, 'a', 'CUSTOM_A')
    assert sources_of(client, node)['CUSTOM_A'] == ['c', 'b', 'a']


def test_what_an_operator_removes_stays_removed(client):
    node = golden(client)
    write(client, node, 'inspection', 'CUSTOM_A', 'CUSTOM_B')
    assert client.ask('DELETE', f'/v1/nodes/{node}/traits/CUSTOM_A').status_int == 204
    with moves(client, node, 0, traits=['CUSTOM_B']):
        assert write(client, node, 'inspection', 'CUSTOM_A', 'CUSTOM_B') == {
            'traits': ['CUSTOM_B'],
            'vetoed': ['CUSTOM_A'],
        }
    # Lifting the veto does not add the trait. The next run does.
    with moves(client, node, 0, traits=['CUSTOM_B']):
        assert client.ask('DELETE', f'/v1/nodes/{node}/traits/CUSTOM_A/veto').status_int == 204
    with moves(client, node, 1, traits=['CUSTOM_A', 'CUSTOM_B']):
        write(client, node, 'inspection', 'CUSTOM_A', 'CUSTOM_B')


def test_the_generation_follows_the_effective_traits(client):
    """A second source of a trait changes nothing that Placement shows."""
    node = golden(client)
    write(client, node, 'one', 'CUSTOM_A')
    with moves(client, node, 0, traits=['CUSTOM_A']):
        write(client, node, 'two', 'CUSTOM_A')
        write(client, node, 'one')
    with moves(client, node, 1, traits=[]):
        write(client, node, 'two')


def test_the_longest_holder_comes_first(client):
    """When the first source withdraws a trait, the next one becomes its first holder, with its own time."""
    node = golden(client)
    for source in ('one', 'two', 'three'):
        write(client, node, source, 'CUSTOM_A')
    before = client.get(f'/v1/nodes/{node}/traits?detail=true')['traits'][0]['sources']
    assert [hold['source'] for hold in before] == ['one', 'two', 'three']
    write(client, node, 'one')
    assert client.get(f'/v1/nodes/{node}/traits?detail=true')['traits'][0]['sources'] == before[1:]


def test_writers_are_recorded(database_url):
    """Each hold names the user and project of the request."""
    with make_app(database_url, api__auth_strategy='noauth2') as app:
        client = Client(app)
        admin = headers('owner_admin')
        uuid = client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware'}, headers=admin).json['uuid']
        client.ask('PUT', f'/v1/nodes/{uuid}/traits/CUSTOM_A?source=hook', headers=admin)
        response = client.ask('GET', f'/v1/nodes/{uuid}/traits?detail=true', headers=admin)
    (hold,) = response.json['traits'][0]['sources']
    assert (hold['source'], hold['user'], hold['project']) == ('hook', 'user', 'alpha')


def test_eight_sources_at_once(database_url):
    """Concurrent writes of eight sources lose nothing, and never exceed fifty traits."""
    with make_app(database_url) as first, make_app(database_url) as second:
        clients = [Client((first, second)[number % 2]) for number in range(8)]
        node = golden(clients[0])
        counts = []

        def work(client, number):
            mine = [f'CUSTOM_{number}_{each}' for each in range(6)]
            for length in (2, 4, 0, 6):
                write(client, node, f'source-{number}', 'CUSTOM_SHARED', *mine[:length])
                counts.append(len(client.get(f'/v1/nodes/{node}/traits')['traits']))

        at_once(clients, work)
        held = sources_of(clients[0], node)
    assert len(held.pop('CUSTOM_SHARED')) == 8
    assert len(held) == 48
    assert all(sources == [f'source-{name[7]}'] for name, sources in held.items())
    assert max(counts) <= 50


def test_more_than_fifty_are_refused_whole(client):
    node = golden(client)
    write(client, node, 'one', *(f'CUSTOM_{number}' for number in range(49)))
    response = client.ask('PUT', f'/v1/nodes/{node}/traits?source=two', {'traits': ['CUSTOM_X', 'CUSTOM_Y']})
    assert (response.status_int, response.json['code']) == (400, 'baremetal.trait.too_many')
    assert 'CUSTOM_X, CUSTOM_Y' in response.text
    assert len(sources_of(client, node)) == 49
    # Traits that the node already has do not count twice.
    write(client, node, 'two', 'CUSTOM_1', 'CUSTOM_X')
