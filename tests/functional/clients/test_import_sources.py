"""The sources of traits in inventory files, on each database."""

import itertools

import pytest
import yaml

from tests.support.inventory_files import manage
from tests.support.service import upgraded


def node(name, *traits, **fields):
    """Return a node of a document."""
    return {'name': name, 'driver': 'fake-hardware', 'traits': list(traits), **fields}


def sources(client, name):
    """Return {trait: [source, …]} of a node."""
    details = client.get(f'/v1/nodes/{name}/traits?detail=true')
    return {each['trait']: sorted(hold['source'] for hold in each['sources']) for each in details['traits']}


def counts(output):
    """Return the lines of a report except the last one."""
    return output.splitlines()[:-1]


def test_an_import_with_a_source(database_url, client, file):
    """An import with a source sets the traits of that source, also on new nodes."""
    manage(database_url, 'import', '--source', 'cmdb', file({'nodes': [node('one', 'CUSTOM_A', 'CUSTOM_B')]}))
    assert sources(client, 'one') == {'CUSTOM_A': ['cmdb'], 'CUSTOM_B': ['cmdb']}
    since = client.get('/v1/nodes/one/traits?detail=true')['traits'][0]['sources'][0]['since']
    assert since
    client.ask('PUT', '/v1/nodes/one/traits/CUSTOM_A?source=hook')
    client.ask('PUT', '/v1/nodes/one/traits/CUSTOM_C')
    rack = file({'nodes': [node('one', 'CUSTOM_D', 'CUSTOM_C'), node('two', 'CUSTOM_A')]})
    shown = manage(database_url, 'import', '--source', 'cmdb', '--dry-run', rack)
    assert counts(shown) == [
        '+ node two',
        '~ node one: + trait CUSTOM_C (source cmdb)',
        '~ node one: + trait CUSTOM_D (source cmdb)',
        '~ node one: - trait CUSTOM_A (source cmdb)',
        '~ node one: - trait CUSTOM_B (source cmdb)',
        'nodes: 1 changed',
        'nodes: 1 created',
    ]
    for count in (['nodes: 1 changed', 'nodes: 1 created'], ['nodes: 2 same']):
        assert counts(manage(database_url, 'import', '--source', 'cmdb', rack)) == count
    assert sources(client, 'one') == {'CUSTOM_A': ['hook'], 'CUSTOM_C': ['cmdb', 'operator'], 'CUSTOM_D': ['cmdb']}
    assert sources(client, 'two') == {'CUSTOM_A': ['cmdb']}


def test_without_a_source_it_is_the_operator(database_url, client, file):
    manage(database_url, 'import', file({'nodes': [node('one', 'CUSTOM_A')]}))
    assert sources(client, 'one') == {'CUSTOM_A': ['operator']}


def test_pruning(database_url, client, file):
    """Nodes without traits in the file, and nodes that are not in it, lose only the traits of the source."""
    rack = {'nodes': [node(name, 'CUSTOM_A') for name in ('one', 'two', 'three', 'four')]}
    manage(database_url, 'import', '--source', 'cmdb', file(rack))
    client.ask('PUT', '/v1/nodes/one/traits/CUSTOM_A?source=hook')
    uuid = client.get('/v1/nodes/four')['uuid']
    rest = {'nodes': [{'name': 'three'}, {'uuid': uuid.upper().replace('-', ''), 'traits': ['CUSTOM_A']}]}
    assert counts(manage(database_url, 'import', '--source', 'cmdb', file(rest))) == ['nodes: 2 same']
    shown = manage(database_url, 'import', '--source', 'cmdb', '--prune', '--dry-run', file(rest))
    assert counts(shown) == [
        '~ node three: - trait CUSTOM_A (source cmdb)',
        '~ node one: - trait CUSTOM_A (source cmdb)',
        '~ node two: - trait CUSTOM_A (source cmdb)',
        'nodes: 1 changed',
        'nodes: 2 pruned',
        'nodes: 1 same',
    ]
    assert sources(client, 'two') == {'CUSTOM_A': ['cmdb']}
    pruned = manage(database_url, 'import', '--source', 'cmdb', '--prune', '--continue', file(rest))
    assert counts(pruned) == ['nodes: 1 changed', 'nodes: 2 pruned', 'nodes: 1 same']
    assert [sources(client, name) for name in ('one', 'two', 'three', 'four')] == [
        {'CUSTOM_A': ['hook']},
        {},
        {},
        {'CUSTOM_A': ['cmdb']},
    ]
    assert counts(manage(database_url, 'import', '--source', 'cmdb', '--prune', file(rest))) == ['nodes: 2 same']


def test_vetoed_traits_are_reported(database_url, client, file, capfd):
    """Vetoed traits are reported. The other traits are imported."""
    rack = file({'nodes': [node('one', 'CUSTOM_A', 'CUSTOM_B')]})
    manage(database_url, 'import', '--source', 'cmdb', rack)
    client.ask('DELETE', '/v1/nodes/one/traits/CUSTOM_A')
    for option in ('--dry-run', '--prune'):
        report = counts(manage(database_url, 'import', '--source', 'cmdb', option, rack))
        assert report == ['nodes: 1 same', 'traits: 1 vetoed']
    assert sources(client, 'one') == {'CUSTOM_B': ['cmdb']}
    # If a node is refused, the report has the errors.
    wrong = file({'nodes': [node('one', 'CUSTOM_A', 'CUSTOM_C'), node('two', 'none')]})
    errors = manage(database_url, 'import', '--source', 'cmdb', '--continue', wrong, code=1)
    assert 'node one: the source cmdb cannot add vetoed traits: CUSTOM_A.' in errors
    assert sources(client, 'one') == {'CUSTOM_C': ['cmdb']}


@pytest.mark.parametrize(
    ('options', 'problem'),
    [
        (['--source', 'rule:cpu'], 'The source rule:cpu belongs to the service itself. An import cannot write as it.'),
        (['--source', 'placement'], 'The source placement belongs to the service itself.'),
        (['--source', 'a b'], "'a b' is not the name of a source. A source is 1 to 64 letters, digits"),
        (['--source', ''], "'' is not the name of a source."),
        (['--prune'], '--prune needs --source.'),
    ],
)
def test_wrong_options(database_url, client, file, options, problem):
    errors = manage(database_url, 'import', *options, file({'nodes': [node('one', 'CUSTOM_A')]}), code=1)
    assert errors.startswith(problem)
    assert client.get('/v1/nodes')['nodes'] == []


def test_the_export_carries_sources(database_url, client, new_database, file, tmp_path):
    """The export has sources only if a node has another source than the operator. Its import changes nothing."""
    other, path = upgraded(new_database()), tmp_path / 'all.yaml'
    manage(database_url, 'import', file({'nodes': [node('one', 'CUSTOM_A', 'CUSTOM_B'), node('two', 'CUSTOM_A')]}))
    client.ask('PUT', '/v1/nodes/one/traits?source=cmdb', {'traits': ['CUSTOM_B', 'CUSTOM_C']})
    client.ask('PUT', '/v1/nodes/one/traits?source=hook', {'traits': ['CUSTOM_C']})
    manage(database_url, 'export', path)
    one, two = sorted(yaml.safe_load(path.read_text())['nodes'], key=lambda each: each['name'])
    assert one['traits'] == ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C']
    assert one['trait_sources'] == {
        'cmdb': ['CUSTOM_B', 'CUSTOM_C'],
        'hook': ['CUSTOM_C'],
        'operator': ['CUSTOM_A', 'CUSTOM_B'],
    }
    assert 'trait_sources' not in two
    for url, count in ((database_url, 'same'), (other, 'created'), (other, 'same')):
        assert counts(manage(url, 'import', path)) == [f'nodes: 2 {count}']
        assert yaml.safe_load(manage(url, 'export', '-')) == yaml.safe_load(path.read_text())


def test_an_import_of_sources_onto_other_traits(database_url, client, file):
    """Afterwards, the node has exactly the traits of the file. Other sources keep their holds on these traits."""
    client.node(name='one')
    client.ask('PUT', '/v1/nodes/one/traits?source=hook', {'traits': ['CUSTOM_A', 'CUSTOM_X']})
    client.ask('PUT', '/v1/nodes/one/traits?source=cmdb', {'traits': ['CUSTOM_Y']})
    client.ask('PUT', '/v1/nodes/one/traits/CUSTOM_B')
    rack = file({'nodes': [node('one', 'CUSTOM_A', 'CUSTOM_B', trait_sources={'cmdb': ['CUSTOM_A', 'CUSTOM_B']})]})
    assert counts(manage(database_url, 'import', '--dry-run', rack)) == [
        '~ node one: - trait CUSTOM_X',
        '~ node one: - trait CUSTOM_B (source operator)',
        '~ node one: + trait CUSTOM_A (source cmdb)',
        '~ node one: + trait CUSTOM_B (source cmdb)',
        '~ node one: - trait CUSTOM_Y (source cmdb)',
        'nodes: 1 changed',
    ]
    for count in ('changed', 'same'):
        assert counts(manage(database_url, 'import', rack)) == [f'nodes: 1 {count}']
    assert sources(client, 'one') == {'CUSTOM_A': ['cmdb', 'hook'], 'CUSTOM_B': ['cmdb']}
    # Any plain removal does the same.
    vetoes = client.get('/v1/nodes/one/traits?detail=true')['vetoes']
    assert [veto['trait'] for veto in vetoes] == ['CUSTOM_X']


def test_reserved_sources_become_the_operator(database_url, client, file):
    """Reserved sources become the operator, and the report says so once."""
    rack = [
        node(f'node{n}', 'CUSTOM_A', 'CUSTOM_B', trait_sources={'rule:cpu': ['CUSTOM_A'], 'mirror:x': ['CUSTOM_B']})
        for n in range(3)
    ]
    wrong = file({'nodes': [*rack, node('wrong', 'none')]})
    sentence = 'Only the service itself writes as mirror:x, rule:cpu: these traits are written as operator.'
    for _ in range(2):
        errors = manage(database_url, 'import', '--continue', wrong, code=1)
        assert errors.count(sentence) == 1
    assert sources(client, 'node1') == {'CUSTOM_A': ['operator'], 'CUSTOM_B': ['operator']}
    assert counts(manage(database_url, 'import', file({'nodes': rack}))) == ['nodes: 3 same']


def test_the_limit_counts_traits_once(database_url, client, file):
    names = [f'CUSTOM_T{number}' for number in range(51)]
    rack = node('one', *names[:50], trait_sources={'cmdb': names[:30], 'hook': names[20:50]})
    assert counts(manage(database_url, 'import', file({'nodes': [rack]}))) == ['nodes: 1 created']
    # One source loses as many traits as the other one gets.
    swapped = node('one', *names[1:], trait_sources={'cmdb': names[1:20], 'hook': names[20:]})
    assert counts(manage(database_url, 'import', file({'nodes': [swapped]}))) == ['nodes: 1 changed']
    errors = manage(database_url, 'import', '--source', 'more', file({'nodes': [node('one', names[0])]}), code=1)
    assert 'one: ' in errors
    assert names[0] not in sources(client, 'one')


def test_bulk_writes_are_recorded(database_url, client, file):
    """Nodes that an import creates in bulk have a history entry for each source."""
    rack = {'nodes': [node('one', 'CUSTOM_A', 'CUSTOM_B', trait_sources={'cmdb': ['CUSTOM_B'], 'hook': ['CUSTOM_B']})]}
    manage(database_url, 'import', file(rack))
    history = client.get('/v1/nodes/one/history/?detail=true')['history']
    events = [each['event'] for each in history if each['event_type'] == 'trait']
    assert events == [
        'Source cmdb: added CUSTOM_B.',
        'Source hook: no change of the effective traits.',
        'Source operator: added CUSTOM_A.',
    ]
    holds = client.get('/v1/nodes/one/traits?detail=true')['traits']
    assert all(hold['since'] for hold in itertools.chain.from_iterable(each['sources'] for each in holds))
