"""The number of statements of frequent requests: each one is a round trip to the server.

Other tests check these requests. Here, one more statement is an error.
"""

import uuid

import pytest

from tests.support import plans
from tests.support.providers import GOLD, golden
from tests.support.reservations import expire, reserve


@pytest.fixture
def node(app, client):
    """An available node of class gold."""
    plans.keep_noted_traits(app.service)
    return golden(client)


def _check_count(app, executed, **most):
    """Raise AssertionError if a server got other statements than expected. SQLite has no round trips."""
    backend = app.service.database.url.get_backend_name()
    assert len(executed) == most.get(backend, len(executed)), executed


def _claim(node):
    return {
        'allocations': {node: {'resources': {GOLD: 1}}},
        'project_id': 'project',
        'user_id': 'user',
        'consumer_generation': None,
        'consumer_type': 'INSTANCE',
    }


def test_candidates(app, client, node):
    """The statements read the parameters of the search, and the free nodes. The traits are in the cache."""
    client.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': ['CUSTOM_A']})
    path = f'/allocation_candidates?resources={GOLD}:1&required=CUSTOM_A&limit=1'
    client.placement('GET', path)
    with plans.statements() as executed:
        response = client.placement('GET', path).json
    assert list(response['provider_summaries']) == [node]
    assert len(executed) == 2, executed


def test_traits_of_a_provider(app, client, node):
    path = f'/resource_providers/{node}/traits'
    generation = client.placement('GET', path).json['resource_provider_generation']
    body = {'traits': ['HW_CPU_X86_SSE', 'COMPUTE_NODE'], 'resource_provider_generation': generation}
    client.placement('PUT', path, body)
    body = {'traits': ['HW_CPU_X86_AVX', 'COMPUTE_NODE'], 'resource_provider_generation': generation + 1}
    with plans.statements() as executed:
        response = client.placement('PUT', path, body)
    assert response.json['traits'] == ['COMPUTE_NODE', 'HW_CPU_X86_AVX']
    _check_count(app, executed, postgresql=4, mysql=5)


def test_allocation_of_a_free_node(app, client, node):
    with plans.statements() as executed:
        assert client.placement('PUT', f'/allocations/{uuid.uuid4()}', _claim(node)).status_int == 204
    _check_count(app, executed, postgresql=6, mysql=7)


def test_allocation_after_an_expired_reservation(app, client, node):
    """The expiry has already incremented the generation, so the allocation increments it once."""
    assert reserve(client, 1, [node], expires_in=60).status_int == 201
    expire(app)
    path = f'/resource_providers/{node}'
    before = client.placement('GET', path).json['generation']
    assert client.placement('PUT', f'/allocations/{uuid.uuid4()}', _claim(node)).status_int == 204
    assert client.placement('GET', path).json['generation'] == before + 1
