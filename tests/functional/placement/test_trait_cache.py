"""The cache of the traits of candidates: never stale, and bounded."""

import threading
import time

import pytest
import sqlalchemy as sa

from ironic_traits.placement import trait_cache
from ironic_traits.placement.trait_cache import CachedTraits, TraitCache
from tests.support import plans
from tests.support.client import Client
from tests.support.providers import GOLD, golden, provider
from tests.support.service import finish_work, make_app
from tests.support.trait_edits import edit


@pytest.fixture
def writer(database_url):
    """The application of another process, which has a cache of its own."""
    with make_app(database_url) as application:
        yield application


@pytest.fixture
def exclusive_traits(app):
    """Let the process keep their names, so that queries do not read them."""
    return plans.keep_noted_traits(app.service)


def candidates(client, limit=1000):
    """Return {uuid: [trait, …]} of the free nodes."""
    path = f'/allocation_candidates?resources={GOLD}:1' + (f'&limit={limit}' if limit else '')
    summaries = client.placement('GET', path).json['provider_summaries']
    return {uuid: summary['traits'] for uuid, summary in summaries.items()}


def put(client, node, *names):
    """Set the traits of a node."""
    assert client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': names}).status_int == 200


def put_foreign(client, node, *names):
    """Set traits of a node's provider."""
    body = {'traits': names, 'resource_provider_generation': provider(client, node)[0]}
    assert client.placement('PUT', f'/resource_providers/{node}/traits', body).status_int == 200


def test_writes_of_another_process(client, writer):
    other = Client(writer)
    first, second = golden(client), golden(client)
    assert candidates(client) == {first: [], second: []}

    put(other, first, 'CUSTOM_A', 'HW_CPU_X86_AVX')
    assert candidates(client) == {first: ['HW_CPU_X86_AVX', 'CUSTOM_A'], second: []}

    put_foreign(other, first, 'COMPUTE_NODE')
    put_foreign(other, second, 'COMPUTE_NODE')
    assert candidates(client) == {first: ['COMPUTE_NODE', 'HW_CPU_X86_AVX', 'CUSTOM_A'], second: ['COMPUTE_NODE']}

    # A foreign trait becomes the node's own: for clients nothing changes, and the generation stays.
    put(other, second, 'COMPUTE_NODE')
    assert candidates(client)[second] == ['COMPUTE_NODE']

    assert other.placement('DELETE', f'/resource_providers/{first}/traits').status_int == 204
    assert other.ask('DELETE', f'/v1/nodes/{first}/traits/CUSTOM_A').status_int == 204
    assert candidates(client) == {first: ['HW_CPU_X86_AVX'], second: ['COMPUTE_NODE']}

    edit(other, where={'resource_class': 'gold'}, add=['CUSTOM_B'])
    assert candidates(client) == {first: ['HW_CPU_X86_AVX', 'CUSTOM_B'], second: ['COMPUTE_NODE', 'CUSTOM_B']}


def test_new_node_with_the_uuid_of_a_deleted_one(client, writer):
    other = Client(writer)
    node = golden(client)
    put(client, node, 'CUSTOM_A')
    assert candidates(client) == {node: ['CUSTOM_A']}
    assert other.ask('DELETE', f'/v1/nodes/{node}').status_int == 204
    # It has the generation that the deleted provider had.
    fields = {'uuid': node, 'resource_class': 'gold', 'driver': 'fake-hardware'}
    assert other.ask('POST', '/v1/nodes', fields).status_int == 201
    put(other, node, 'CUSTOM_B')
    for verb in 'manage', 'provide':
        assert other.ask('PUT', f'/v1/nodes/{node}/states/provision', {'target': verb}).status_int == 202
        finish_work(writer)
    assert candidates(client) == {node: ['CUSTOM_B']}


def test_traits_are_read_once(client, exclusive_traits):
    nodes = sorted(golden(client) for _ in range(3))
    # The parameters of the search, the nodes, their traits, and the providers of clients.
    assert _count(client) == 4
    assert _count(client) == 3
    put(client, nodes[0], 'CUSTOM_A')
    with plans.statements() as executed:
        assert candidates(client)[nodes[0]] == ['CUSTOM_A']
    assert len(executed) == 4, executed
    assert len(executed[2][1]) == 1, 'Only the traits of one node have changed.'


@pytest.mark.parametrize('limit', [None, 1001])
def test_large_queries_do_not_fill_the_cache(client, exclusive_traits, limit):
    node = golden(client)
    put(client, node, 'CUSTOM_A')
    assert candidates(client, limit) == {node: ['CUSTOM_A']}
    assert _count(client, limit) == 3
    assert _count(client) == 4, 'The traits were in the cache.'


def test_node_that_is_deleted_during_the_query(client, writer, exclusive_traits):
    """The query finds the node, and the node is deleted before its traits are read."""
    node, deleted = golden(client), golden(client)
    statements, responses = [], []

    def delete():
        responses.append(Client(writer).ask('DELETE', f'/v1/nodes/{deleted}').status_int)

    def delete_before_traits(connection, cursor, statement, *others):
        if threading.current_thread() is threading.main_thread():
            statements.append(statement)
            if len(statements) == 3:
                # In a thread of its own, because pecan handles one request in a thread at a time.
                thread = threading.Thread(target=delete)
                thread.start()
                thread.join()

    sa.event.listen(sa.Engine, 'before_cursor_execute', delete_before_traits)
    try:
        assert candidates(client) == {node: []}
    finally:
        sa.event.remove(sa.Engine, 'before_cursor_execute', delete_before_traits)
    assert responses == [204]
    assert len(statements) == 4, statements
    assert candidates(client) == {node: []}


def test_oldest_traits_leave_the_cache(monkeypatch):
    monkeypatch.setattr(trait_cache, 'MAX_PROVIDERS', 2)
    cache = TraitCache()
    assert cache.get({}) == {}
    cache.add({1: CachedTraits(0, ('A',)), 2: CachedTraits(0, ('A',))})
    cache.add({1: CachedTraits(1, ('B',)), 3: CachedTraits(0, ())})
    assert cache.get({1: 1, 2: 0, 3: 0}) == {1: (1, ('B',)), 3: (0, ())}
    assert cache.get({1: 0, 3: 1}) == {}


def test_all_traits_leave_the_cache(monkeypatch):
    cache = TraitCache()
    assert cache.get({1: 0}) == {}
    cache.add({1: CachedTraits(0, ('A',))})
    assert cache.get({1: 0}) == {1: (0, ('A',))}
    late = time.monotonic() + trait_cache.MAX_AGE + 1
    monkeypatch.setattr(trait_cache.time, 'monotonic', lambda: late)
    assert cache.get({1: 0}) == {}


def _count(client, limit=1000):
    """Return the number of statements of a query."""
    with plans.statements() as executed:
        candidates(client, limit)
    return len(executed)
