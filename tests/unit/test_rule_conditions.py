"""Conditions of inspection rules."""

import pytest

from ironic_traits.matching.rules import inspection_rules, rule_evaluation

FACTS = {
    'inventory': {
        'cpu': {'flags': ['avx2', 'vmx'], 'count': 8, 'architecture': 'x86_64'},
        'memory': {'physical_mb': 65536},
        'disks': [{'name': 'sda', 'size': 100}, {'name': 'sdb', 'size': 5}],
        'empty': [],
        'null': None,
        'bmc_address': '192.0.2.7',
        'version': '1.10',
        'true': True,
        'text': 'yes',
    },
    'plugin_data': {'x': {'y': 'z'}},
}
COUNT, FLAGS, ARCH = '{inventory[cpu][count]}', '{inventory[cpu][flags]}', '{inventory[cpu][architecture]}'
MISSING, NULL, BMC = '{inventory[x][y]}', '{inventory[null]}', '{inventory[bmc_address]}'
DISKS, SIZE = '{inventory[disks]}', '{item[size]}'


def result(condition, **more):
    document = {'conditions': [condition], 'actions': [{'op': 'add-trait', 'args': {'name': 'CUSTOM_A'}}], **more}
    rule = inspection_rules.rule(document)
    (found,) = rule_evaluation.evaluate([rule], rule_evaluation.facts_of(FACTS)).results
    assert found.is_matched == (found.traits == {'CUSTOM_A'})
    return found


@pytest.mark.parametrize(('op', 'args', 'is_met'), [
    ('eq', {'values': [COUNT, 8]}, True),
    ('eq', {'values': [COUNT, '8']}, True),
    ('eq', {'values': [COUNT, 8, 9]}, False),
    ('eq', {'values': [COUNT]}, True),
    ('eq', {'values': [ARCH, 'x86_64']}, True),
    ('eq', {'values': ['{inventory[version]}', '1.1']}, False),
    ('eq', {'values': ['{inventory[true]}', True]}, True),
    ('eq', {'values': ['{inventory[true]}', 1]}, False),
    ('eq', {'values': ['{inventory[true]}', 'True']}, True),
    ('eq', {'values': [FLAGS, ['avx2', 'vmx']]}, True),
    ('eq', {'values': [COUNT, 8], 'force_strings': True}, True),
    ('eq', [[COUNT, 8]], True),
    ('lt', {'values': [COUNT, 10]}, True),
    ('lt', {'values': [COUNT, '10']}, True),
    ('lt', {'values': [COUNT, '10'], 'force_strings': True}, True),
    ('le', {'values': [COUNT, 8]}, True),
    ('ge', {'values': [COUNT, 9]}, False),
    ('lt', {'values': [1, COUNT, 10]}, True),
    ('gt', {'values': ['{inventory[memory][physical_mb]}', 32768]}, True),
    ('gt', {'values': [COUNT, 8]}, False),
    ('is-empty', {'value': '{inventory[empty]}'}, True),
    ('is-empty', {'value': NULL}, True),
    ('is-empty', {'value': MISSING}, True),
    ('is-empty', {'value': COUNT}, False),
    ('is-none', {'value': NULL}, True),
    ('is-none', {'value': MISSING}, True),
    ('is-none', {'value': COUNT}, False),
    ('is-true', {'value': '{inventory[true]}'}, True),
    ('is-true', {'value': '{inventory[text]}'}, True),
    ('is-true', {'value': COUNT}, True),
    ('is-true', {'value': FLAGS}, False),
    ('is-false', {'value': 'no'}, True),
    ('is-false', {'value': 0}, True),
    ('is-false', {'value': COUNT}, False),
    ('in-net', {'address': BMC, 'subnet': '192.0.2.0/24'}, True),
    ('in-net', {'address': BMC, 'subnet': '2001:db8::/32'}, False),
    ('in-net', [BMC, '192.0.2.7'], True),
    ('matches', {'value': ARCH, 'regex': 'x86.*'}, True),
    ('matches', {'value': ARCH, 'regex': 'x86'}, False),
    ('matches', {'value': ARCH, 'regex': 'x|x86_64'}, True),
    ('matches', {'value': COUNT, 'regex': r'\d{1,2}'}, True),
    ('contains', {'value': ARCH, 'regex': '86'}, True),
    ('one-of', {'value': ARCH, 'values': ['aarch64', 'x86_64']}, True),
    ('one-of', {'value': COUNT, 'values': ['8']}, True),
    ('one-of', {'value': 'avx', 'values': FLAGS}, False),
    ('has', {'value': FLAGS, 'member': 'avx2'}, True),
    ('has', {'value': FLAGS, 'member': 'avx'}, False),
    ('has', {'value': '{plugin_data[x]}', 'member': 'y'}, True),
])  # fmt: skip
def test_conditions(op, args, is_met):
    for name, expected in ((op, is_met), (f'!{op}', not is_met), (f'! {op}', not is_met)):
        assert result({'op': name, 'args': args}).is_matched is expected, name


def test_the_condition_that_is_not_met_is_named_with_its_values():
    found = result({'op': 'has', 'args': {'value': FLAGS, 'member': 'avx512f'}})
    assert found.unmet == "condition 1, has (value: ['avx2', 'vmx'], member: 'avx512f')"
    found = result({'op': 'has', 'args': {'value': FLAGS, 'member': 'avx512f'}}, sensitive=True)
    assert found.unmet == 'condition 1, has: the rule is sensitive'


def test_contains_warns_of_lists():
    """``contains`` warns about lists. As in the real service, avx matches inside avx2."""
    found = result({'op': 'contains', 'args': {'value': FLAGS, 'regex': 'avx'}})
    assert found.is_matched
    assert found.warnings == ['contains searches the text of a list: avx also matches within a word. Use has']


@pytest.mark.parametrize(('op', 'multiple', 'loop', 'is_met'), [
    ('gt', 'any', DISKS, True),
    ('gt', None, DISKS, True),
    ('gt', 'first', DISKS, True),
    ('gt', 'all', DISKS, False),
    ('gt', 'last', DISKS, False),
    ('!gt', 'last', DISKS, True),
    ('gt', 'any', [{'size': 51}], True),
    ('gt', 'any', {'size': 51}, True),
    ('gt', 'any', '{inventory[empty]}', False),
    ('gt', 'all', '{inventory[empty]}', False),
    ('gt', 'last', '{inventory[empty]}', False),
    ('gt', 'any', MISSING, False),
    ('gt', 'all', MISSING, False),
])  # fmt: skip
def test_loops(op, multiple, loop, is_met):
    condition = {'op': op, 'args': {'values': [SIZE, 50]}, 'loop': loop}
    assert result(condition | ({'multiple': multiple} if multiple else {})).is_matched is is_met


def test_expressions_in_loops():
    """Only the item is inserted into an expression, which may have its own braces."""
    condition = {'op': 'matches', 'args': {'value': 'sda', 'regex': '{item}'}, 'loop': ['x', 's[a-d]{{2}}']}
    assert result(condition).is_matched
    condition = {'op': 'matches', 'args': {'value': '{item[name]}', 'regex': '[a-z]{3}'}, 'loop': DISKS}
    assert result(condition).is_matched
    condition = {'op': 'matches', 'args': {'value': 'sda', 'regex': '{item}'}, 'loop': ['(']}
    assert 'invalid regular expression' in result(condition).failure


@pytest.mark.parametrize(('condition', 'failure'), [
    ({'op': 'in-net', 'args': {'address': BMC, 'subnet': ARCH}}, "'x86_64' does not appear to be an IPv4"),
    ({'op': 'has', 'args': {'value': ARCH, 'member': 'x'}}, "'x86_64' is neither a list nor an object"),
    ({'op': 'one-of', 'args': {'value': 'x', 'values': ARCH}}, "'x86_64' is not a list"),
    ({'op': 'eq', 'args': {'values': ARCH}}, "'x86_64' is not a list"),
    ({'op': 'eq', 'args': {'values': []}, 'loop': ARCH}, 'neither a list nor an object'),
])  # fmt: skip
def test_conditions_that_fail(condition, failure):
    found = result(condition)
    assert failure in found.failure
    assert not found.traits


@pytest.mark.parametrize(('found', 'ge', 'lt'), [
    ('2.10.0', True, False),
    ('2.9.3', False, True),
    ('2.10', True, False),
    ('2.10.0.0', True, False),
    ('v2.10', True, False),
    ('V2.9', False, True),
    ('2.10b', True, False),
    ('2.10.0 (03/01/2024)', True, False),
    (3, True, False),
    ('0.0', False, True),
    ('0', False, True),
    # These have no order, and meet neither.
    ('U30 v2.80', False, False),
    ('n/a', False, False),
    ('', False, False),
    (None, False, False),
    (True, False, False),
    (['2.11'], False, False),
    ('9' * 5000, True, False),
])  # fmt: skip
def test_versions(found, ge, lt):
    facts = rule_evaluation.facts_of({'inventory': {'version': found}})
    for op, expected in (('ge', ge), ('lt', lt), ('!lt', ge), ('!ge', lt)):
        condition = {'op': op, 'args': {'values': ['{inventory[version]}', '2.10'], 'versions': True}}
        document = {'conditions': [condition], 'actions': [{'op': 'add-trait', 'args': {'name': 'CUSTOM_A'}}]}
        (evaluated,) = rule_evaluation.evaluate([inspection_rules.rule(document)], facts).results
        assert (evaluated.is_matched, evaluated.failure) == (expected, None), op


@pytest.mark.parametrize(('older', 'newer'), [
    ('U30 v2.76 (01/12/2023)', 'U30 v2.80 (01/12/2023)'),
    ('1.2a', '1.2B'),
    ('iLO 5 v2.72', 'iLO 5 v3.01'),
    ('7.00.30.00', '7.10.05.00'),
    ('22.31.1014', '22.39.1002'),
    ('TEE154M-2.90', 'TEE154M-3.10'),
])  # fmt: skip
def test_versions_of_vendors(older, newer):
    assert result({'op': 'lt', 'args': {'values': [older, newer], 'versions': True}}).is_matched
    assert not result({'op': 'ge', 'args': {'values': [older, newer], 'versions': True}}).is_matched


def test_a_fraction_is_no_version():
    """YAML reads 2.10 as 2.1."""
    found = result({'op': 'ge', 'args': {'values': ['{inventory[version]}', 2.1], 'versions': True}})
    assert not found.is_matched
    assert '2.1 is a number: versions need quotes' in (found.failure or '')
