"""The command capacity against a running service, and the valid combinations of its options."""

import json

import pytest

from tests.support.cli import BAREMETAL, OPENSTACK, rows, run

BOTH = pytest.mark.parametrize('prefix', [OPENSTACK, BAREMETAL], ids=['openstack', 'baremetal'])
#: Options that describe a flavor.
REQUIREMENTS = (
    ('--trait', 'CUSTOM_FAST'),
    ('--not-trait', 'CUSTOM_FAST'),
    ('--trait-any', 'CUSTOM_FAST', 'CUSTOM_A'),
    ('--prefer', 'CUSTOM_FAST'),
    ('--resource-class', 'gold'),
    ('--property', 'trait:CUSTOM_FAST=required'),
    ('--flavor', 'gold'),
    ('--image', 'debian'),
)


@BOTH
def test_flavors(server, tmp_path, prefix):
    """The flavors come from a file or from options."""
    path, capacity = tmp_path / 'flavors.json', (*prefix, 'capacity')
    path.write_text(json.dumps({'fast': {'trait:CUSTOM_FAST': 'required'}, 'any': {'trait:CUSTOM_A': 'required'}}))
    listed = rows(server, *capacity, '--flavors', path)
    assert [(row['Flavor'], row['Matching']) for row in listed] == [('fast', 1), ('any', 2)]
    [row] = rows(server, *capacity, '--trait', 'CUSTOM_FAST', '--without', 'one')
    assert (row['Matching'], row['Flavor']) == ({'now': 1, 'difference': -1}, 'request')


@BOTH
@pytest.mark.parametrize('requirement', REQUIREMENTS, ids=lambda requirement: requirement[0])
def test_requirements_do_not_apply_to_named_flavors(server, tmp_path, prefix, requirement):
    path = tmp_path / 'flavors.json'
    path.write_text('{"any": {"trait:CUSTOM_A": "required"}}')
    for named in (('--flavors', path), ('--flavors-from-nova',), ('--flavors-from-nova', 'small')):
        errors = run(server, *prefix, 'capacity', *requirement, *named, code=1)
        assert f'{requirement[0]} cannot be used with {named[0]}: each flavor has its own requirements.' in errors


@BOTH
def test_people_read_words(server, prefix):
    """Tables have words where the JSON has the codes of reasons and clauses."""
    run(server, *prefix, 'node', 'maintenance', 'set', 'one')
    try:
        printed = run(server, *prefix, 'capacity', '--trait', 'CUSTOM_FAST')
        [row] = rows(server, *prefix, 'capacity', '--trait', 'CUSTOM_FAST')
    finally:
        run(server, *prefix, 'node', 'maintenance', 'unset', 'one')
    assert '| 1 in maintenance |' in printed
    assert row['Unavailable'] == {'maintenance': 1}


@BOTH
def test_drift_in_words(server, tmp_path, prefix):
    path = tmp_path / 'flavors.json'
    path.write_text('{"lost": {"trait:CUSTOM_A": "required", "trait:CUSTOM_NOWHERE": "required"}}')
    printed = run(server, *prefix, 'drift', '--flavors', path)
    assert 'Without "has the trait CUSTOM_NOWHERE", 2 nodes would match.' in printed


@BOTH
def test_one_column_of_an_explanation_in_words(server, prefix):
    printed = run(server, *prefix, 'match', '--trait', 'CUSTOM_NOWHERE', '--explain', '-c', 'Clauses')
    assert '| has the trait CUSTOM_NOWHERE |' in printed
