"""Warnings about inspection rules that are valid."""

import pytest

from ironic_traits.matching.rules import inspection_rules
from ironic_traits.matching.rules.rule_warnings import warnings

FAIL = {'op': 'fail', 'args': {'msg': 'x'}}


def of(*conditions, actions=(FAIL,)):
    return warnings(inspection_rules.rule({'conditions': list(conditions), 'actions': list(actions)}))


def contains(value, op='contains'):
    return {'op': op, 'args': {'value': value, 'regex': 'avx'}}


@pytest.mark.parametrize('value', ['{inventory[cpu][flags]}', '{plugin_data[pci_devices]}'])
def test_contains_on_a_list(value):
    (sentence,) = of(contains('{inventory[cpu][model_name]}'), contains(value, '!contains'))
    assert sentence == (
        f'condition 2: contains searches the text of the list {value[1:-1]}, and also matches within a word. Use has'
    )


@pytest.mark.parametrize('value', [None, '', 'None', []])
def test_comparisons_with_nothing(value):
    """A fact that is not known equals nothing, so ``eq`` cannot ask whether it is."""
    args = {'values': ['{inventory[hostname]}', value]}
    assert of({'op': 'eq', 'args': args}, {'op': '!eq', 'args': args}) == [
        'condition 1: eq is not met by a fact that is null, missing or empty. Use is-empty'
    ]


@pytest.mark.parametrize('args', [{'path': '/driver', 'value': 'ipmi'}, ['/driver', 'ipmi'], ['provision_state', 'x']])
def test_fields_that_rules_cannot_change(args):
    """Ironic takes such a rule, and so do its clients' tests."""
    name = (args['path'] if isinstance(args, dict) else args[0]).removeprefix('/')
    (sentence,) = of(actions=[FAIL, {'op': 'set-attribute', 'args': args}])
    assert sentence.startswith(
        f'action 2 (set-attribute) fails on each node: rules cannot change {name} of a node, only description, '
    )


def test_in_expectations():
    (sentence,) = of(actions=[FAIL, {'op': 'expect', 'args': {'conditions': [contains('{inventory[disks]}')]}}])
    assert sentence.startswith('action 2 (expect): contains searches the text of the list inventory[disks]')


@pytest.mark.parametrize(
    'condition',
    [
        contains('{inventory[disks]} or more'),
        contains('{inventory[disks][0][name]}'),
        contains('avx', 'matches'),
        contains(5),
        contains(''),
        {'op': 'has', 'args': {'value': '{inventory[cpu][flags]}', 'member': 'avx'}},
    ],
)
def test_no_warning(condition):
    assert of(condition) == []
