"""The words of explanations: groups of nodes."""

import pytest

from ironic_traits import clauses
from ironic_traits.osc import explanations

RACK = 'trait:CUSTOM_RACK_'
GROUPS = [
    {'groups': {RACK: 'CUSTOM_RACK_7'}, 'nodes': 17, 'relaxations': [{'drop': ['required:CUSTOM_X'], 'nodes': 18}]},
    {'groups': {'properties/row': 1, 'owner': 'a'}, 'nodes': 1, 'relaxations': []},
    {'groups': {}, 'nodes': 20, 'relaxations': []},
    {
        'groups': {RACK: 'CUSTOM_RACK_8'},
        'nodes': 0,
        'relaxations': [
            {'drop': ['required:CUSTOM_X', 'eligible:maintenance'], 'nodes': 18},
            {'drop': [f'topology:{RACK}'], 'nodes': 19},
        ],
    },
]
EXPLANATION = {
    'considered': 40,
    'matched': 20,
    'clauses': [{'clause': f'topology:{RACK}', 'rejected': 2, 'rejected_only': 0}],
    'relaxations': [{'drop': [f'topology:{RACK}'], 'nodes': 19}],
    'topology': {'count': 18, 'largest': 20, 'groups': GROUPS},
}


def test_sentences():
    assert list(clauses.sentences(EXPLANATION)) == [
        f'"is in one group of {RACK}" rules out 2 nodes.',
        'CUSTOM_RACK_7 has 17 of 18 nodes; without CUSTOM_X it has 18.',
        'row 1 with owner a has 1 of 18 nodes.',
        'The best choice has 20 nodes.',
        'CUSTOM_RACK_8 has 0 of 18 nodes; without CUSTOM_X and "is not in maintenance" it has 18; '
        f'without "is in one group of {RACK}" it has 19.',
        f'Without "is in one group of {RACK}", 19 nodes would match.',
    ]


@pytest.mark.parametrize('topology', [{}, {'topology': {'count': 1, 'largest': 0, 'groups': []}}])
def test_no_groups(topology):
    assert list(clauses.groups(topology)) == []
    assert explanations.group_rows(topology)[1] == []


def test_a_table():
    columns, rows = explanations.group_rows(EXPLANATION)
    assert columns == ('Group', 'Nodes (18 needed)', 'With fewer requirements')
    assert rows[0] == ('CUSTOM_RACK_7', 17, '18 without CUSTOM_X')
    assert rows[3][2] == f'18 without CUSTOM_X and "is not in maintenance", 19 without "is in one group of {RACK}"'
