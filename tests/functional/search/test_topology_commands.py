"""The commands that choose nodes relative to each other, and those that hold several nodes at once."""

import json

import pytest

from tests.support.cli import BAREMETAL, OPENSTACK, rows, run
from tests.support.reservations import instance

BOTH = pytest.mark.parametrize('prefix', [OPENSTACK, BAREMETAL], ids=['openstack', 'baremetal'])
RACK = 'trait:CUSTOM_RACK_'
FAST = ('--trait', 'CUSTOM_FAST')


@pytest.fixture
def held(racks):
    """Function that runs a command that creates reservations. They are deleted at the end."""
    uuids = []

    def create(*command):
        result = rows(racks, *command)
        reservations = result if isinstance(result, list) else [result]
        uuids.extend(each.get('UUID') or each['uuid'] for each in reservations)
        return result

    yield create
    if uuids:
        run(racks, *BAREMETAL, 'reservation', 'delete', *uuids)


@BOTH
def test_all_or_none(racks, held, prefix):
    create = (*prefix, 'reservation', 'group', 'create')
    created = held(*create, instance(1), '--expires-in', '600', '--trait', 'CUSTOM_FAST', instance(2))
    assert [row['Instance UUID'] for row in created] == [instance(1), instance(2)]
    assert list(created[0]) == ['UUID', 'Node UUID', 'Instance UUID', 'Groups', 'Expires at']
    assert created[0]['Expires at']
    too_many = run(racks, *create, *map(instance, (3, 4, 5)), '--trait', 'CUSTOM_FAST', code=1)
    assert '3 are needed' in too_many
    listed = rows(racks, *prefix, 'reservation', 'list')
    assert {row['UUID'] for row in listed} == {row['UUID'] for row in created}


def test_nodes_of_a_group(racks, held):
    nodes = [option for name in ('a1', 'b1') for option in ('--node', name)]
    assert len(held(*BAREMETAL, 'reservation', 'group', 'create', *nodes, instance(1), instance(2))) == 2
    errors = run(racks, *BAREMETAL, 'reservation', 'group', 'create', *nodes, instance(3), instance(4), code=1)
    assert 'a1: It is reserved' in errors
    assert 'b1: It is reserved' in errors


def test_numbers_of_instances(racks):
    create = (*BAREMETAL, 'reservation')
    for command in ('create', 'group create'):
        missing = run(racks, *create, *command.split(), '--trait', 'CUSTOM_FAST', code=1)
        assert 'The UUID of an instance is missing.' in missing
    errors = run(racks, *create, 'create', '--trait', 'CUSTOM_FAST', instance(1), instance(2), code=1)
    assert "For several instances, use 'baremetal reservation group create'." in errors


@BOTH
def test_topology_does_not_apply_to_named_flavors(racks, tmp_path, prefix):
    path = tmp_path / 'flavors.json'
    path.write_text('{"any": {"trait:CUSTOM_FAST": "required"}}')
    for option in (('--same', 'owner'), ('--pack',), ('--count', '2')):
        errors = run(racks, *prefix, 'capacity', *option, '--flavors', path, code=1)
        assert f'{option[0]} cannot be used with --flavors' in errors


@BOTH
def test_drift_is_about_single_nodes(racks, tmp_path, prefix):
    """The file may be the one for the command capacity."""
    path = tmp_path / 'flavors.json'
    items = [{'key': 'trait:CUSTOM_RACK_', 'policy': 'affinity'}]
    extra_specs = {'trait:CUSTOM_FAST': 'required'}
    path.write_text(json.dumps({'rack': {'extra_specs': extra_specs, 'topology': items, 'count': 18}}))
    drift = rows(racks, *prefix, 'drift', '--flavors', path)
    assert [row for row in drift if row['Kind'] == 'flavor without nodes'] == []
    assert {row['Name'] for row in drift if row['Kind'] == 'node without flavor'} == {'b2', 'b3'}


@BOTH
def test_matches(racks, prefix):
    match = (*prefix, 'match', *FAST)
    matches = rows(racks, *match, '--same', RACK, '--count', '2')
    assert {row['Name'] for row in matches} == {'a1', 'a2'}
    assert [row['Groups'] for row in matches] == [{RACK: 'CUSTOM_RACK_1'}] * 2
    assert f"{RACK}='CUSTOM_RACK_1'" in run(racks, *match, '--same', RACK, '--count', '2')
    matches = rows(racks, *match, '--spread', RACK)
    assert {row['Groups'][RACK] for row in matches} == {'CUSTOM_RACK_1', 'CUSTOM_RACK_2'}
    assert len(rows(racks, *match, '--prefer-same', RACK, '--max-per-group', '1', '--count', '2')) == 2
    assert len(rows(racks, *match, '--prefer-spread', RACK, '--count', '3')) == 3
    assert 'Groups' not in rows(racks, *match)[0]


def test_no_match_says_which_trait_no_node_has(racks):
    errors = run(racks, *BAREMETAL, 'match', '--trait', 'CUSTOM_FSAT', '--same', RACK, stream='stderr')
    assert 'No node has the trait CUSTOM_FSAT.' in errors


def test_no_match_names_the_groups(racks):
    match = (*BAREMETAL, 'match', *FAST, '--same', RACK, '--count', '3')
    assert run(racks, *match) == ''
    errors = run(racks, *match, stream='stderr')
    first = errors.index('CUSTOM_RACK_1 has 2 of 3 nodes')
    assert first < errors.index('CUSTOM_RACK_2 has 1 of 3 nodes; without CUSTOM_FAST it has 3.\n')
    assert f'"is in one group of {RACK}" rules out 1 node; it is the only reason.\n' in errors


def test_an_explanation_of_groups(racks):
    match = (*BAREMETAL, 'match', *FAST, '--same', RACK, '--count', '3', '--explain')
    printed = run(racks, *match)
    assert '| Group         | Nodes (3 needed) | With fewer requirements |' in printed
    assert '| CUSTOM_RACK_2 |                1 | 3 without CUSTOM_FAST   |' in printed
    explained = rows(racks, *match)
    assert {'Kind': 'group', 'Clauses': [], 'Nodes': 2, 'Name': 'CUSTOM_RACK_1'} in explained
    row = {'Kind': 'group without', 'Clauses': ['required:CUSTOM_FAST'], 'Nodes': 3, 'Name': 'CUSTOM_RACK_2'}
    assert row in explained


@BOTH
def test_reservations_in_one_rack(racks, held, prefix):
    create = (*prefix, 'reservation', 'group', 'create', *FAST, '--same', RACK)
    created = held(*create, instance(1), instance(2))
    assert [row['Groups'] for row in created] == [{RACK: 'CUSTOM_RACK_1'}] * 2
    errors = run(racks, *create, instance(3), instance(4), code=1)
    assert '2 are needed' in errors
    assert 'CUSTOM_RACK_2 has 1 of 2 nodes; without CUSTOM_FAST it has 3.' in errors
    assert len(rows(racks, *prefix, 'reservation', 'list')) == 2


def test_a_reservation_in_another_rack(racks, held):
    create = (*BAREMETAL, 'reservation', 'create', *FAST)
    assert 'groups' not in held(*create, '--node', 'a1', instance(1))
    relative = ('--relative-to', instance(1))
    assert held(*create, instance(2), '--spread', RACK, *relative)['groups'] == {RACK: 'CUSTOM_RACK_2'}
    assert held(*create, instance(3), '--same', RACK, *relative)['groups'] == {RACK: 'CUSTOM_RACK_1'}


@BOTH
def test_blocks(racks, tmp_path, prefix):
    capacity = (*prefix, 'capacity')
    [row] = rows(racks, *capacity, '--same', RACK, '--count', '2')
    assert (row['Blocks'], row['Largest Block']) == (2, 3)
    assert 'Blocks' not in rows(racks, *capacity, *FAST)[0]
    path, item = tmp_path / 'flavors.json', {'key': RACK, 'policy': 'affinity'}
    extra_specs = {'trait:CUSTOM_FAST': 'required'}
    flavors = {'rack': {'extra_specs': extra_specs, 'topology': [item], 'count': 2}, 'single': extra_specs}
    path.write_text(json.dumps(flavors))
    listed = rows(racks, *capacity, '--flavors', path)
    assert [(row['Flavor'], row['Blocks'], row['Largest Block']) for row in listed] == [
        ('rack', 1, 2),
        ('single', None, None),
    ]
    [single] = [line for line in run(racks, *capacity, '--flavors', path).splitlines() if 'single' in line]
    assert 'None' not in single
