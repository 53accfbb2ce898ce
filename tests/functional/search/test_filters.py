"""Trait filters and pages on random inventories, compared with a simple evaluation in Python."""

import hypothesis
import pytest
from hypothesis import strategies as st

from ironic_traits.matching.traits import Filter
from tests.conftest import empty
from tests.support.client import Client
from tests.support.service import make_app

NAMES = ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C', 'HW_CPU_X86_VMX', 'CUSTOM_' + 'L' * 248]
ARGUMENTS = ('traits', 'traits-any', 'not-traits', 'not-traits-any')
SETS = st.sets(st.sampled_from([*NAMES, 'CUSTOM_NOBODY_HAS_IT']), min_size=1, max_size=3)
SETTINGS = hypothesis.settings(
    max_examples=40,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture, hypothesis.HealthCheck.too_slow],
)


@pytest.fixture(scope='module')
def inventory(shared_database_url):
    """A client, and forty nodes: {uuid: (traits, resource class)}."""
    empty(shared_database_url)
    with make_app(shared_database_url) as app:
        client, nodes = Client(app), {}
        for i in range(40):
            resource_class = [None, 'gold', 'silver'][i % 3]
            node = client.node(**({'resource_class': resource_class} if resource_class else {}))
            traits = {name for bit, name in enumerate(NAMES) if i * 7 >> bit & 1}
            client.ask('PUT', f'/v1/nodes/{node["uuid"]}/traits', {'traits': list(traits)})
            nodes[node['uuid']] = traits, resource_class
        yield client, nodes


def walk(client, path):
    """Follow the pages of a list, and return all nodes and the length of each page."""
    nodes, lengths = [], []
    while path:
        page = client.get(path)
        nodes += page['nodes']
        lengths.append(len(page['nodes']))
        path = page.get('next')
    return nodes, lengths


@hypothesis.given(
    trait_filters=st.fixed_dictionaries(
        {}, optional={name: st.lists(SETS, min_size=1, max_size=2) for name in ARGUMENTS}
    ),
    resource_class=st.sampled_from([None, 'gold', 'silver', 'bronze']),
    sort_key=st.sampled_from(['id', 'uuid', 'resource_class', 'created_at']),
    sort_dir=st.sampled_from(['asc', 'desc']),
    limit=st.integers(1, 50),
    path=st.sampled_from(['/v1/nodes?fields=uuid,traits', '/v1/nodes/detail?']),
)
@SETTINGS
def test_lists(inventory, trait_filters, resource_class, sort_key, sort_dir, limit, path):
    client, nodes = inventory
    parameters = [f'{name}={",".join(sorted(names))}' for name, sets in trait_filters.items() for names in sets]
    parameters += [f'resource_class={resource_class}'] if resource_class else []
    parameters += [f'sort_key={sort_key}', f'sort_dir={sort_dir}', f'limit={limit}']
    listed, lengths = walk(client, '&'.join([path, *parameters]))

    trait_filter = Filter.of(**{name.replace('-', '_'): sets for name, sets in trait_filters.items()})
    expected = {
        uuid
        for uuid, (traits, its_class) in nodes.items()
        if trait_filter.matches(traits) and resource_class in (None, its_class)
    }
    assert sorted(node['uuid'] for node in listed) == sorted(expected)
    for node in listed:
        assert node['traits'] == sorted(nodes[node['uuid']][0])
    assert all(length == limit for length in lengths[:-1])
    assert lengths[-1] > 0 or not expected
    if sort_key == 'uuid':
        assert [node['uuid'] for node in listed] == sorted(expected, reverse=sort_dir == 'desc')
    if sort_key == 'resource_class':
        classes = [nodes[node['uuid']][1] for node in listed]
        key = sorted(classes, key=lambda name: (name is None, name), reverse=sort_dir == 'desc')
        assert classes == key


def test_more_names_than_a_node_can_carry(inventory):
    """Filters with long lists work on each database."""
    client, nodes = inventory
    many = [f'CUSTOM_MANY_{i}' for i in range(200)]
    for argument, expected in zip(ARGUMENTS, (0, 0, len(nodes), len(nodes)), strict=True):
        for query in (f'{argument}={",".join(many)}', '&'.join(f'{argument}={name}' for name in many)):
            assert len(client.get(f'/v1/nodes?fields=uuid&{query}')['nodes']) == expected
        refused = client.ask('GET', f'/v1/nodes?{query}&traits=CUSTOM_ONE_MORE')
        assert refused.status_int == 400
        assert 'more than 200 traits' in refused.text
    pairs = [f'{many[i]},{many[i + 1]}' for i in range(0, 200, 2)]
    for argument, most in (('traits-any', 10), ('not-traits', 100)):
        query = '&'.join(f'{argument}={pair}' for pair in pairs[:most])
        matches = client.get(f'/v1/nodes?fields=uuid&{query}')['nodes']
        assert len(matches) == (0 if argument == 'traits-any' else len(nodes))
    query = '&'.join(f'traits-any={pair}' for pair in pairs[:11])
    assert 'at most 10 times' in client.ask('GET', f'/v1/nodes?{query}').text


def test_many_required_traits(inventory):
    """Filters work with more traits than the query has subqueries."""
    client, _ = inventory
    names = [f'CUSTOM_REQUIRED_{i}' for i in range(8)]
    uuid = client.node()['uuid']
    try:
        client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': names})
        for requested, expected in ((names, [uuid]), ([*names, 'CUSTOM_A'], [])):
            matches = client.get(f'/v1/nodes?fields=uuid&traits={",".join(requested)}')['nodes']
            assert [node['uuid'] for node in matches] == expected
    finally:
        client.ask('DELETE', f'/v1/nodes/{uuid}')


def test_fifty_long_traits(inventory):
    client, _ = inventory
    traits = sorted(f'CUSTOM_{i:03}_{"L" * 244}' for i in range(50))
    uuid = client.node()['uuid']
    try:
        assert client.ask('PUT', f'/v1/nodes/{uuid}/traits', {'traits': traits}).json == {'traits': traits}
        assert client.get(f'/v1/nodes/{uuid}?fields=traits') == {'traits': traits}
    finally:
        client.ask('DELETE', f'/v1/nodes/{uuid}')
