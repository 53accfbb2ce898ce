"""Counts of nodes by their fields and traits, and the search for a text."""

import pytest
import sqlalchemy as sa

from ironic_traits import resources
from ironic_traits.db import tables
from ironic_traits.inventory.search import facets, node_index

NODES = {
    'one': ({'resource_class': 'gold', 'owner': 'a', 'description': '100% of rack_1'}, ['CUSTOM_A', 'CUSTOM_B']),
    'two': ({'resource_class': 'gold', 'shard': 'east'}, ['CUSTOM_A']),
    'three': ({'resource_class': 'silver', 'instance_name': 'Web-3'}, []),
}


@pytest.fixture
def uuids(client):
    result = {}
    for name, (fields, traits) in NODES.items():
        result[name] = client.node(name=name, **fields)['uuid']
        client.ask('PUT', f'/v1/nodes/{name}/traits', {'traits': traits})
    client.node(name='child', resource_class='gold', parent_node=result['two'])
    client.ask('PUT', '/v1/nodes/child/traits', {'traits': ['CUSTOM_A']})
    return result


def counted(client, query):
    document = client.get(f'/v1/facets?{query}')
    return document['nodes'], {
        name: [(each['value'], each['nodes']) for each in values] for name, values in document['facets'].items()
    }


def test_counts(client, uuids):
    assert counted(client, '') == (3, {})
    assert counted(client, 'by=resource_class,owner,traits') == (
        3,
        {
            'resource_class': [('gold', 2), ('silver', 1)],
            'owner': [(None, 2), ('a', 1)],
            'traits': [('CUSTOM_A', 2), ('CUSTOM_B', 1)],
        },
    )


@pytest.mark.parametrize('way', ['few nodes', 'many nodes', 'index'])
def test_counts_of_filtered_nodes(app, client, uuids, monkeypatch, way):
    """The counts are equal for few nodes, for many nodes, and from the index of nodes."""
    for module, name in ((node_index, 'MIN_NODES'), (facets, '_MANY_NODES')):
        monkeypatch.setattr(module, name, 20000 if way == 'few nodes' else 0)
    if way == 'index':
        assert counted(client, 'by=traits')[0] == 3
        app.service.node_index.wait()
        monkeypatch.setattr(facets, '_of_fields', None)
    assert counted(client, 'by=traits,maintenance&resource_class=gold&not-traits=CUSTOM_B') == (
        1,
        {'traits': [('CUSTOM_A', 1)], 'maintenance': [(False, 1)]},
    )
    assert counted(client, 'by=traits&include_children=true')[1] == {'traits': [('CUSTOM_A', 3), ('CUSTOM_B', 1)]}
    assert counted(client, 'by=traits,shard&limit=1') == (3, {'traits': [('CUSTOM_A', 2)], 'shard': [(None, 2)]})


def test_the_index_is_not_stale(app, client, uuids, monkeypatch):
    """Each count has all earlier writes."""
    monkeypatch.setattr(node_index, 'MIN_NODES', 0)
    counted(client, 'by=traits')
    app.service.node_index.wait()
    monkeypatch.setattr(facets, '_of_fields', None)
    client.ask('PUT', '/v1/nodes/three/traits/CUSTOM_B')
    client.ask('DELETE', '/v1/nodes/child')
    client.ask('DELETE', '/v1/nodes/two')
    assert counted(client, 'by=traits') == (2, {'traits': [('CUSTOM_B', 2), ('CUSTOM_A', 1)]})


@pytest.mark.parametrize(
    'filters',
    [
        '',
        'include_children=true',
        'maintenance=true',
        'provision_state=enroll',
        'owner=a',
        'owner=',
        'resource_class=',
        'resource_class=gold&shard=east',
        'traits=CUSTOM_A&not-traits-any=CUSTOM_B',
        'without=owner,shard',
        'search=one',
        'reserved=false&eligible=false',
        'held=true',
        'eligible=false&held=false',
        'driver=fake-hardware&origin=',
        'conductor_group=',
        'project=a',
    ],
)
def test_the_index_counts_as_the_statements_do(app, client, uuids, monkeypatch, filters):
    client.node(name='empty', owner='', resource_class='', description='second')
    client.node(name='broken', maintenance=True, conductor_group='rack1')
    query = f'{filters}&by={",".join(facets.FIELDS)},traits'
    counts = counted(client, query)
    app.service.node_index.prepare(app.service)
    app.service.node_index.wait()
    monkeypatch.setattr(facets, '_of_fields', None)
    assert counted(client, query) == counts


def test_the_index_is_not_made_for_few_nodes_nor_for_too_many(app, client, uuids, monkeypatch):
    monkeypatch.setattr(facets, '_by_index', None)
    counted(client, 'by=traits')
    monkeypatch.setattr(node_index, 'MIN_NODES', 0)
    # With the child, there are four nodes.
    monkeypatch.setattr(node_index, 'MAX_NODES', 3)
    counted(client, 'by=traits')
    app.service.node_index.wait()
    assert counted(client, 'by=traits')[0] == 3


@pytest.mark.parametrize(
    ('names', 'nodes'),
    [
        ('owner', ['two', 'three']),
        ('SHARD', ['one', 'three']),
        ('owner,shard', ['three']),
        ('resource_class', []),
        ('lessee,chassis_uuid,instance_uuid,parent_node', ['one', 'two', 'three']),
        ('instance_name', ['one', 'two']),
        ('parent_node&include_children=true&owner=a', ['one']),
    ],
)
def test_nodes_without_values(client, uuids, names, nodes):
    """For each field, the facet counts as many nodes without a value as the list has."""
    listed = client.get(f'/v1/nodes?fields=name&without={names}&sort_key=id')['nodes']
    assert [each['name'] for each in listed] == nodes
    number, counts = counted(client, f'by=owner,shard&without={names}')
    assert number == len(nodes)
    for name in {'owner', 'shard'} & {*names.lower().split(',')}:
        assert counts[name] == ([(None, number)] if number else [])


def test_values_that_are_empty_are_values(client):
    client.node(name='empty', owner='')
    assert client.get('/v1/nodes?without=owner')['nodes'] == []
    assert len(client.get('/v1/nodes?owner=')['nodes']) == 1


def test_what_is_refused(client):
    for query in ('by=name', 'by=traits&limit=-1', 'by=owner&sort_key=owner', 'provision_state=x'):
        assert client.ask('GET', f'/v1/facets?{query}').status_int == 400
    assert client.ask('GET', '/v1/facets', version='1.37').status_int == 404
    for names in ('', ',', 'name', 'owner,traits', 'driver'):
        response = client.ask('GET', f'/v1/nodes?without={names}')
        assert response.status_int == 400
        assert ', '.join(resources.nodes.NODES.optional) in response.text
    # The version of the request does not have this field.
    for minor, status in ((49, 406), (50, 200)):
        assert client.ask('GET', '/v1/nodes?without=owner', version=f'1.{minor}').status_int == status


def test_only_visible_nodes_count(ask):
    """An owner sees neither the number nor the traits of other projects' nodes."""
    for persona, number in (('system_reader', None), ('owner_reader', None), ('stranger_reader', 0)):
        response = ask(persona, 'GET /v1/facets?by=traits,owner')
        listed = ask(persona, 'GET /v1/nodes').json['nodes']
        assert response.json['nodes'] == len(listed)
        if number == 0:
            assert response.json['facets'] == {'traits': [], 'owner': []}
        for filters in ('without=lessee', 'without=owner'):
            leased = ask(persona, f'GET /v1/nodes?{filters}').json['nodes']
            assert {each['uuid'] for each in leased} <= {each['uuid'] for each in listed}
            assert ask(persona, f'GET /v1/facets?{filters}').json['nodes'] == len(leased)


@pytest.mark.parametrize(
    ('text', 'names'),
    [
        ('ONE', ['one']),
        ('100%25', ['one']),
        ('rack_', ['one']),
        ('rack1', []),
        ('web-', ['three']),
        ('e', ['one', 'three']),
    ],
)
def test_search(client, uuids, text, names):
    # The beginning of a uuid matches, too, and "e" is a hexadecimal digit.
    nodes = client.get(f'/v1/nodes?search={text}&fields=name,uuid')['nodes']
    assert [node['name'] for node in nodes if not node['uuid'].startswith('e')] == [
        name for name in names if not uuids[name].startswith('e')
    ]


def test_search_for_uuids(app, client, uuids):
    uuid = uuids['two']
    instance = 'b1e5c2d8-94a7-4c66-8e6c-9d5d9a6a3f10'
    with app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).where(tables.nodes.c.uuid == uuid).values(instance_uuid=instance))
    for text in (uuid[:12].upper(), instance[:13]):
        assert [each['uuid'] for each in client.get(f'/v1/nodes?search={text}')['nodes']] == [uuid]
    assert client.get(f'/v1/nodes?search={instance[1:13]}')['nodes'] == []
