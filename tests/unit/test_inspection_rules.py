"""The grammar of inspection rules: valid rules, and the problems of invalid ones."""

import pytest

from ironic_traits.matching import traits
from ironic_traits.matching.rules import inspection_rules
from ironic_traits.matching.rules.inspection_rules import InvalidRules

ADD = {'op': 'add-trait', 'args': {'name': 'CUSTOM_A'}}


def rule(**fields):
    return inspection_rules.rule({'actions': [ADD], **fields})


def problems(**fields):
    with pytest.raises(InvalidRules) as error:
        rule(**fields)
    return str(error.value)


@pytest.mark.parametrize('fields', [
    {},
    {'name': 'gold', 'description': 'x' * 255, 'priority': 9999, 'sensitive': True, 'phase': 'main', 'conditions': []},
    {'uuid': '3a6c0b0e-2a4f-4c4d-8c0b-52d0a8e5a4a1', 'description': None, 'phase': None, 'sensitive': None},
    {'conditions': [{'op': '!eq', 'args': [['{node.name}', 'x']]}]},
    {'conditions': [{'op': 'eq', 'args': {'values': ['{item}', 'x']}, 'loop': ['x'], 'multiple': 'last'}]},
    {'actions': [{'op': 'log', 'args': ['hello {node.name}', 'warning']}]},
    {'actions': [{'op': 'add-trait', 'args': {'name': 'CUSTOM_{item}'}, 'loop': ['A', 'B']}]},
    {'actions': [{'op': 'add-trait', 'args': {'name': 'gold node!', 'normalize': True}}]},
    {'actions': [{'op': 'add-trait', 'args': {'name': '{node.resource_class}', 'normalize': True}}]},
    {'actions': [{'op': 'add-traits', 'args': {'names': ['HW_CPU_X86_AVX', 'CUSTOM_A']}}]},
    {'actions': [{'op': 'add-traits', 'args': {'map': 'pci'}}]},
    {'actions': [{'op': 'set-attribute', 'args': {'path': '/properties/a', 'value': {'x': '{inventory[a]}'}}}]},
    {'actions': [{'op': 'set-port-attribute', 'args': {'port_id': 'x', 'path': 'extra/a', 'value': 1}}]},
    {'actions': [{'op': 'expect', 'args': {'conditions': [{'op': 'is-true', 'args': {'value': '{node.x}'}}]}}]},
])  # fmt: skip
def test_valid_rules(fields):
    assert rule(**fields).actions


@pytest.mark.parametrize(('fields', 'problem'), [
    ({'actions': []}, 'it has no actions'),
    ({'actions': {'op': 'log'}}, 'actions are a list'),
    ({'actions': ['log']}, 'action 1 is not an object with "op" and "args"'),
    ({'actions': [{'op': 'log'}]}, 'action 1 is not an object with "op" and "args"'),
    ({'actions': [ADD] * 101}, 'actions are a list of at most 100'),
    ({'actions': [ADD | {'x': 1, 'multiple': 'any'}]}, 'action 1: unknown keys: multiple, x'),
    ({'conditions': 'x'}, 'conditions are a list'),
    ({'scope': 'x', 'a': 1}, 'unknown keys: a, scope'),
    ({'priority': -1}, 'priority -1 is not between 0 and 9999'),
    ({'priority': 10_000}, 'priority 10000 is not between'),
    ({'priority': True}, 'priority True is not an integer'),
    ({'priority': 'high'}, "priority 'high' is not an integer"),
    ({'priority': '10000'}, 'priority 10000 is not between'),
    ({'phase': 'early'}, "phase 'early' is not main"),
    ({'phase': ['main']}, 'is not main'),
    ({'sensitive': 'very'}, 'sensitive is neither true nor false'),
    ({'description': 'x' * 256}, 'not text of at most 255'),
    ({'name': 'a b'}, "its name 'a b' is not"),
    ({'name': 'x' * 60}, 'is not 1 to 59 letters'),
    ({'conditions': [{'op': 'like', 'args': {}}]}, "condition 1: 'like' is not one of eq, lt, le, gt,"),
    ({'conditions': [{'op': '!!eq', 'args': {'values': []}}]}, "condition 1: '!eq' is not one of"),
    ({'conditions': [{'op': 'eq', 'args': {}}]}, 'condition 1: eq needs values'),
    ({'conditions': [{'op': 'eq', 'args': {'values': [], 'x': 1}}]}, 'condition 1: eq does not take x'),
    ({'conditions': [{'op': 'eq', 'args': [[], False, 3]}]}, 'condition 1: eq takes at most 2 arguments'),
    ({'conditions': [{'op': 'eq', 'args': {'values': 'x'}}]}, 'condition 1 (eq): values is not a list'),
    ({'conditions': [{'op': 'eq', 'args': {'values': []}, 'loop': 'x'}]}, 'loop is neither a list nor an object'),
    ({'conditions': [{'op': 'eq', 'args': {'values': []}, 'loop': '{item}'}]}, 'there is no loop'),
    ({'conditions': [{'op': 'eq', 'args': {'values': []}, 'multiple': 'most'}]}, 'multiple is one of any, all'),
    ({'conditions': [{'op': 'eq', 'args': {'values': ['{item}']}}]}, 'there is no loop'),
    ({'conditions': [{'op': 'matches', 'args': {'value': '', 'regex': '('}}]}, 'invalid regular expression'),
    ({'conditions': [{'op': 'matches', 'args': {'value': '', 'regex': '(?=a)'}}]}, 'invalid regular expression'),
    ({'conditions': [{'op': 'matches', 'args': {'value': '', 'regex': 5}}]}, 'regex is not text'),
    ({'conditions': [{'op': 'matches', 'args': {'value': '', 'regex': 'x' * 501}}]}, 'longer than 500'),
    ({'conditions': [{'op': 'contains', 'args': {'value': '{x}', 'regex': 'x'}}]}, '{x} in'),
    ({'conditions': [{'op': 'eq', 'args': {'values': [], 'force_strings': 'x'}}]}, 'force_strings is neither true nor'),
    ({'actions': [{'op': 'frob', 'args': {}}]}, "action 1: 'frob' is not one of fail, log,"),
    ({'actions': [{'op': 'add-trait', 'args': {'name': 'gold node!'}}]}, "'gold node!' is not a trait"),
    ({'actions': [{'op': 'add-trait', 'args': {'name': '!!', 'normalize': True}}]}, "'!!', which becomes '', is not a"),
    ({'actions': [{'op': 'add-trait', 'args': {'name': 'CUSTOM_{node.name}'}}]}, 'Add "format: true"'),
    ({'actions': [{'op': 'add-trait', 'args': {'name': 'A', 'normalize': 'x'}}]}, 'normalize is neither true nor'),
    ({'actions': [{'op': 'add-trait', 'args': {'name': '{x}', 'format': True}}]}, '{x} in'),
    ({'actions': [{'op': 'add-traits', 'args': {}}]}, 'needs either map or names'),
    ({'actions': [{'op': 'add-traits', 'args': {'map': 'pci', 'names': []}}]}, 'needs either map or names'),
    ({'actions': [{'op': 'add-traits', 'args': {'map': 'cpu'}}]}, "'cpu' is not one of cpu-flags, architecture,"),
    ({'actions': [{'op': 'add-traits', 'args': {'map': ['cpu']}}]}, 'is not one of cpu-flags'),
    ({'actions': [{'op': 'add-traits', 'args': {'names': ['CUSTOM_A', 'x']}}]}, "'x' is not a trait"),
    ({'actions': [{'op': 'log', 'args': {'msg': 'x', 'level': 'loud'}}]}, 'level is one of debug'),
    ({'actions': [{'op': 'api-call', 'args': {'url': 'http://127.0.0.1'}}]}, 'api-call) is not supported'),
    ({'actions': [{'op': 'set-attribute', 'args': {'path': 'extra/__x', 'value': ''}}]}, 'is not a path'),
    ({'actions': [{'op': 'del-attribute', 'args': {'path': 'extra//a'}}]}, 'is not a path'),
    ({'actions': [{'op': 'set-plugin-data', 'args': {'path': 5, 'value': ''}}]}, 'is not a path'),
    ({'actions': [{'op': 'expect', 'args': {'conditions': []}}]}, 'conditions are a list of at least one'),
    ({'actions': [{'op': 'expect', 'args': {'conditions': [{'op': 'x', 'args': {}}]}}]}, "'x' is not one of"),
])  # fmt: skip
def test_invalid_rules(fields, problem):
    assert problem in problems(**fields)


@pytest.mark.parametrize(('regex', 'loop'), [
    *((each, None) for each in (r'{inventory\[x\]}', r'^{inventory\[x\]\[y\]}$', '{inventory[x]}', r'\{node\.name\}')),
    *((each, '{inventory[x]}') for each in (r'\{plugin_data\[x\]\}', r'{item\[x\]}', r'\{item\[x\]\}')),
])  # fmt: skip
@pytest.mark.parametrize('op', ['!matches', '!contains'])
def test_guards_against_unset_facts_are_refused(op, regex, loop):
    """In Ironic, the text of a reference stays if the fact is unknown. Here it would be met by everything."""
    condition = {'op': op, 'args': {'value': '{inventory[x]}', 'regex': regex}, 'loop': loop}
    assert 'use is-empty' in problems(conditions=[condition])
    assert 'use is-empty' in problems(actions=[{'op': 'expect', 'args': {'conditions': [condition]}}])


@pytest.mark.parametrize(('text', 'value'), [('true', True), ('No', False), ('0', False), ('yes', True)])
def test_words_for_booleans_and_numbers(text, value):
    """Words have their meaning, as in the API: files often have them in quotes."""
    assert rule(sensitive=text, priority='10').is_sensitive is value
    assert rule(priority='10').priority == 10
    (action,) = rule(actions=[{'op': 'add-trait', 'args': {'name': 'CUSTOM_A', 'format': text}}]).actions
    assert action.args['format'] is value
    (condition,) = rule(conditions=[{'op': 'eq', 'args': {'values': [1, '1.0'], 'force_strings': text}}]).conditions
    assert condition.args['force_strings'] is value


def test_all_problems_are_named():
    text = problems(priority=-1, conditions=[{'op': 'eq', 'args': {}}, {'op': 'x', 'args': {}}], actions=[])
    assert text.count(';') == 3


@pytest.mark.parametrize('document', [None, 'x', 5, [], True])
def test_a_rule_is_an_object(document):
    with pytest.raises(InvalidRules, match='it is not an object'):
        inspection_rules.rule(document)


def test_documents():
    """A document is a list, or a response of the API. The names of rules get a prefix."""
    names = [each.name for each in inspection_rules.parse([{'actions': [ADD], 'name': 'a'}, {'actions': [ADD]}], 'f.')]
    assert names == ['f.a', 'f.2']
    assert inspection_rules.parse({'inspection_rules': []}) == []
    for document in (None, 'x', {'rules': []}):
        with pytest.raises(InvalidRules, match='Rules are a list'):
            inspection_rules.parse(document)
    with pytest.raises(InvalidRules) as error:
        inspection_rules.parse([{'actions': [ADD], 'name': 'a'}, {'actions': [ADD], 'name': 'a'}, {}, 7])
    assert error.value.problems == [
        'rule 3: it has no actions',
        'rule 4: it is not an object',
        '2 rules have the name a',
    ]
    with pytest.raises(InvalidRules, match='1001 rules'):
        inspection_rules.parse([{}] * 1001)


def test_the_standard_rules_are_valid():
    """The standard rules are valid, and run after the rules of operators."""
    rules = inspection_rules.standard()
    assert all(each.name.startswith('standard.') and each.priority < 0 for each in rules)
    assert {action.args['map'] for each in rules for action in each.actions} == {
        'accelerators', 'architecture', 'cpu-flags', 'cpu-microarchitecture', 'cpu-model', 'cpu-vendor',
        'disk-protocols', 'disks', 'firmware-settings', 'nic-models', 'nic-speeds', 'nics', 'pci',
    }  # fmt: skip
    assert traits.is_trait('CUSTOM_A')
