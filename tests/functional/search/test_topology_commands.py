"""The commands that choose nodes relative to each other, and those that hold several nodes at once."""

import json

import pytest

from tests.support.cli import BAREMETAL, OPENSTACK, rows, run
from tests.support.reservations import instance

BOTH = pytest.mark.parametrize('prefix', [OPENSTACK, BAREMETAL], ids=['openstack', 'baremetal'])


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
