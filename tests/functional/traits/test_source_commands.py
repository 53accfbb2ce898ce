"""Commands and functions of the library for the sources of traits, against a running service."""

import pytest
import yaml

from ironic_traits.client import Failed
from tests.functional.clients.test_commands import clients
from tests.support.cli import BAREMETAL, OPENSTACK, rows, run

BOTH = pytest.mark.parametrize('prefix', [OPENSTACK, BAREMETAL], ids=['openstack', 'baremetal'])


@pytest.fixture
def node(server):
    """The name of a new node."""
    run(server, 'baremetal', 'node', 'create', '--driver', 'fake-hardware', '--name', 'new')
    yield 'new'
    run(server, 'baremetal', 'node', 'delete', 'new')


@BOTH
def test_traits_of_sources(server, node, prefix):
    trait = (*prefix, 'node', 'trait')
    held = ('--source', 'cmdb')
    assert run(server, *trait, 'set', node, 'CUSTOM_A,CUSTOM_B', *held) == 'Set traits CUSTOM_A, CUSTOM_B\n'
    added = run(server, *trait, 'set', node, 'CUSTOM_C', 'CUSTOM_D', '--add', *held)
    assert added == 'Added trait CUSTOM_C\nAdded trait CUSTOM_D\n'
    assert run(server, *trait, 'unset', node, 'CUSTOM_D', *held) == 'Removed trait CUSTOM_D\n'
    assert run(server, *prefix, 'node', 'add', 'trait', node, 'CUSTOM_A') == 'Added trait CUSTOM_A\n'
    assert rows(server, *trait, 'list', node) == [{'traits': name} for name in ('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C')]
    errors = run(server, *trait, 'unset', node, 'CUSTOM_B', 'CUSTOM_X', '--source', 'hook', code=1)
    assert 'CUSTOM_B: ' in errors
    assert 'cmdb' in errors
    assert 'CUSTOM_X: ' in errors
    run(server, *prefix, 'node', 'remove', 'trait', node, 'CUSTOM_B')
    listed = rows(server, *trait, 'list', node, '--long')
    assert [(row['Trait'], row['State'], row['Source']) for row in listed] == [
        ('CUSTOM_A', 'held', 'cmdb'),
        ('CUSTOM_A', 'held', 'operator'),
        ('CUSTOM_C', 'held', 'cmdb'),
        ('CUSTOM_B', 'vetoed', None),
    ]
    assert all(row['Since'] for row in listed)
    assert set(listed[0]) == {'Trait', 'State', 'Source', 'Since', 'User', 'Project'}
    by_source = (*prefix, 'node', 'list', '--fields', 'name', '--trait-source', 'cmdb')
    assert rows(server, *by_source) == [{'name': node}]
    assert rows(server, *by_source, '--not-trait', 'CUSTOM_C') == []
    assert rows(server, *by_source, '--without', 'owner,resource_class') == [{'name': node}]
    errors = run(server, *trait, 'set', node, 'CUSTOM_B', 'CUSTOM_C', *held, stream='stderr')
    assert 'Vetoed traits, which cmdb cannot add: CUSTOM_B' in errors
    assert 'CUSTOM_B: ' in run(server, *trait, 'set', node, 'CUSTOM_B', '--add', *held, code=1)
    assert run(server, *trait, 'unveto', node, 'CUSTOM_B') == 'Lifted the veto of CUSTOM_B\n'
    assert 'CUSTOM_B: ' in run(server, *trait, 'unveto', node, 'CUSTOM_B', code=1)
    assert run(server, *trait, 'unset', node, '--all', *held) == 'Removed all traits of source cmdb\n'
    assert rows(server, *trait, 'list', node) == [{'traits': 'CUSTOM_A'}]
    assert 'cmdb' in run(server, *trait, 'unset', node, '--all', *held, code=1)
    assert run(server, *trait, 'set', node, 'CUSTOM_E') == 'Set traits CUSTOM_E\n'
    assert run(server, *trait, 'unset', node, '--all') == 'Removed all traits\n'
    assert rows(server, *trait, 'list', node) == []


@BOTH
def test_wrong_arguments(server, node, prefix):
    trait = (*prefix, 'node', 'trait')
    for arguments in ((), ('CUSTOM_A', '--all')):
        errors = run(server, *trait, 'unset', node, *arguments, code=1)
        assert 'Name the traits to remove, or use --all.' in errors
    assert 'belongs to the service itself' in run(server, *trait, 'set', node, 'CUSTOM_A', '--source', 'rule:x', code=1)
    assert 'a source is 1 to 64 letters' in run(server, *prefix, 'node', 'list', '--trait-source', 'a b', code=1)
    assert 'could not be found' in run(server, *trait, 'list', 'nowhere', '--long', code=1)
    errors = run(server, *trait, 'list', node, '--at', 'yesterday', code=1)
    assert "'at'" in errors or 'at: ' in errors or 'Invalid' in errors


def test_traits_at_a_past_time(server, node):
    """``--at`` takes a time as the service shows it."""
    trait = ('baremetal', 'node', 'trait')
    run(server, *trait, 'set', node, 'CUSTOM_A')
    [row] = rows(server, *trait, 'list', node, '--long')
    run(server, *trait, 'set', node, 'CUSTOM_B')
    assert rows(server, *trait, 'list', node, '--at', row['Since']) == [{'traits': 'CUSTOM_A'}]
    assert rows(server, *trait, 'list', node) == [{'traits': 'CUSTOM_B'}]


def test_the_library(server, node):
    for client in clients(server):
        assert client.set_traits(node, ['CUSTOM_A', 'CUSTOM_B'], source='cmdb') == []
        client.add_trait(node, 'CUSTOM_C', source='hook')
        client.add_trait(node, 'CUSTOM_D')
        assert client.traits(node) == ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C', 'CUSTOM_D']
        assert [each['name'] for each in client.nodes(trait_source='hook')] == [node]
        with pytest.raises(Failed, match='cmdb'):
            client.remove_trait(node, 'CUSTOM_A', source='hook')
        client.remove_trait(node, 'CUSTOM_B', source='cmdb')
        client.remove_trait(node, 'CUSTOM_A')
        assert client.set_traits(node, ['CUSTOM_A'], source='cmdb') == ['CUSTOM_A']
        assert [veto['trait'] for veto in client.trait_details(node)['vetoes']] == ['CUSTOM_A']
        client.lift_veto(node, 'CUSTOM_A')
        client.remove_traits(node, source='hook')
        assert client.traits(node) == ['CUSTOM_D']
        client.remove_traits(node)
        assert client.set_traits(node, ['CUSTOM_E']) == []
        since = client.trait_details(node)['traits'][0]['sources'][0]['since']
        assert client.traits(node, at=since) == ['CUSTOM_E']
        client.remove_traits(node)


def test_an_inventory(server, node, tmp_path):
    """Exports and imports of sources work with the command and with the library."""
    file, inventory = tmp_path / 'rack.yaml', ('openstack', 'baremetal', 'inventory')
    file.write_text('nodes: [{name: new, traits: [CUSTOM_A, CUSTOM_B]}]')
    imported = (*inventory, 'import', file, '--source', 'cmdb')
    for done in ('changed', 'same'):
        assert rows(server, *imported) == [{'What': 'nodes', 'Done': done, 'Number': 1}]
    run(server, 'baremetal', 'node', 'remove', 'trait', node, 'CUSTOM_A')
    assert {'What': 'traits', 'Done': 'vetoed', 'Number': 1} in rows(server, *imported)
    errors = run(server, *imported, stream='stderr')
    assert 'node new: the source cmdb cannot add vetoed traits: CUSTOM_A.' in errors
    run(server, *inventory, 'export', tmp_path / 'all.yaml')
    document = yaml.safe_load((tmp_path / 'all.yaml').read_text())
    [new] = [each for each in document['nodes'] if each['name'] == node]
    assert (new['traits'], new['trait_sources']) == (['CUSTOM_B'], {'cmdb': ['CUSTOM_B']})
    file.write_text('nodes: [{name: one}]')
    assert rows(server, *imported, '--prune') == [
        {'What': 'nodes', 'Done': 'pruned', 'Number': 1},
        {'What': 'nodes', 'Done': 'same', 'Number': 1},
    ]
    file.write_text('nodes: [{name: new, traits: [CUSTOM_B], trait_sources: {"rule:x": [CUSTOM_B]}}]')
    errors = run(server, *inventory, 'import', file, stream='stderr')
    assert 'Only the service itself writes as rule:x: these traits are written as operator.' in errors
    assert '--prune needs --source.' in run(server, *inventory, 'import', file, '--prune', code=1)
    assert 'belongs to the service' in run(server, *inventory, 'import', file, '--source', 'mirror:x', code=1)
    for client in clients(server):
        document = {'nodes': [{'name': 'new', 'traits': ['CUSTOM_B']}]}
        assert list(client.import_inventory(document, source='hook'))[-1] == {('nodes', 'changed'): 1}
        counts = list(client.import_inventory({'nodes': [{'name': 'one'}]}, source='hook', prune=True))[-1]
        assert counts == {('nodes', 'same'): 1, ('nodes', 'pruned'): 1}
        assert client.traits(node) == ['CUSTOM_B']
        for options in ({'source': 'rule:x'}, {'prune': True}):
            with pytest.raises(ValueError, match='import'):
                next(client.import_inventory(document, **options))
