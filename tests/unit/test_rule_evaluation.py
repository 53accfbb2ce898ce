"""The evaluation of inspection rules on a node."""

import hypothesis
import pytest
from hypothesis import strategies

from ironic_traits.matching.facts import NodeFacts
from ironic_traits.matching.rules import inspection_rules, rule_evaluation

FACTS = NodeFacts(
    {'cpu': {'count': 8, 'architecture': 'x86_64'}, 'system_vendor': {'product_name': 'ProLiant BL460c'}},
    {'racks': ['A', 'B']},
    {'name': 'n1', 'resource_class': 'gold', 'properties': {'capabilities': 'a:1,b:2'}, 'extra': {'list': [1]}},
)


def evaluate(*rules, facts=FACTS, **options):
    return rule_evaluation.evaluate(inspection_rules.parse(list(rules)), facts, **options)


def rule(name, *actions, **fields):
    return {'name': name, 'actions': [{'op': op, 'args': args} for op, args in actions], **fields}


def add(name, trait, **fields):
    return rule(name, ('add-trait', {'name': trait}), **fields)


def test_traits_and_who_holds_them():
    evaluation = evaluate(add('a', 'CUSTOM_A'), add('b', 'CUSTOM_A'), add('c', 'CUSTOM_C'))
    assert evaluation.traits == {'CUSTOM_A': ['a', 'b'], 'CUSTOM_C': ['c']}
    assert evaluation.is_good


@pytest.mark.parametrize(('args', 'traits'), [
    ({'name': 'CUSTOM_{node.resource_class}', 'normalize': True}, ['CUSTOM_GOLD']),
    ({'name': '{inventory[system_vendor][product_name]}', 'normalize': True}, ['CUSTOM_PROLIANT_BL460C']),
    ({'name': 'HW_ARCH_{inventory[cpu][architecture]}', 'normalize': True}, ['HW_ARCH_X86_64']),
    ({'name': 'CUSTOM_CPUS_{inventory[cpu][count]}', 'format': True}, ['CUSTOM_CPUS_8']),
    ({'name': '{inventory[cpu][count]}', 'normalize': True}, ['CUSTOM_8']),
])  # fmt: skip
def test_computed_names(args, traits):
    assert list(evaluate(rule('a', ('add-trait', args))).traits) == traits


def test_lists_of_names():
    names = {'names': ['CUSTOM_{item}'], 'format': True}
    looped = {'name': 'a', 'actions': [{'op': 'add-traits', 'args': names, 'loop': '{plugin_data[racks]}'}]}
    assert list(evaluate(looped).traits) == ['CUSTOM_A', 'CUSTOM_B']
    assert list(evaluate(rule('a', ('add-traits', {'names': ['HW_CPU_X86_AVX']}))).traits) == ['HW_CPU_X86_AVX']
    names = {'names': '{plugin_data[racks]}', 'normalize': True}
    assert list(evaluate(rule('a', ('add-traits', names))).traits) == ['CUSTOM_A', 'CUSTOM_B']


@pytest.mark.parametrize(('args', 'failure'), [
    ({'name': 'CUSTOM_{node.name}', 'format': True}, "'CUSTOM_n1' is not a trait"),
    ({'name': '{node.x}', 'format': True}, 'add-trait: node.x is not known'),
    ({'name': '{inventory[cpu]}', 'normalize': True}, 'is not a trait'),
    ({'name': '{node.extra[list][0]}', 'format': True}, '1 is not a trait'),
])  # fmt: skip
def test_a_rule_that_fails_does_nothing_and_others_do(args, failure):
    bad = rule(
        'bad', ('add-trait', {'name': 'CUSTOM_X'}), ('set-capability', {'name': 'x', 'value': 1}), ('add-trait', args)
    )
    evaluation = evaluate(bad, add('good', 'CUSTOM_A'))
    assert failure in evaluation.results[0].failure
    assert evaluation.traits == {'CUSTOM_A': ['good']}
    assert evaluation.changes == []
    assert not evaluation.is_good


def test_a_removed_trait_is_held_by_no_rule():
    """No rule holds a removed trait, whatever the priorities of the rules."""
    for priority in (0, 5, 10):
        removal = rule('b', ('remove-trait', {'name': 'CUSTOM_A'}), priority=5)
        evaluation = evaluate(add('a', 'CUSTOM_A', priority=priority), removal, add('c', 'CUSTOM_C'))
        assert list(evaluation.traits) == ['CUSTOM_C']
    both = rule('a', ('remove-trait', {'name': 'CUSTOM_A'}), ('add-trait', {'name': 'CUSTOM_A'}))
    assert list(evaluate(both).traits) == ['CUSTOM_A']


def test_changes():
    evaluation = evaluate(
        rule(
            'a',
            ('set-attribute', {'path': 'properties/cpus', 'value': '{inventory[cpu][count]}'}),
            ('extend-attribute', {'path': 'extra.list', 'value': 1, 'unique': True}),
            ('extend-attribute', {'path': 'extra.list', 'value': 2}),
            ('extend-attribute', {'path': 'extra.new', 'value': 'x'}),
            ('del-attribute', {'path': 'resource_class'}),
            ('del-attribute', {'path': 'extra/none/x'}),
            ('set-capability', {'name': 'c', 'value': '{inventory[cpu][architecture]}'}),
            ('unset-capability', {'name': 'a'}),
            ('set-plugin-data', {'path': 'x.y', 'value': 1}),
            ('extend-plugin-data', {'path': 'racks', 'value': 'C'}),
            ('unset-plugin-data', {'path': 'none'}),
            ('set-port-attribute', {'port_id': 'p', 'path': 'extra/a', 'value': 1}),
            ('log', {'msg': '{node.properties[cpus]} CPUs', 'level': 'Warning'}),
        )
    )
    assert evaluation.is_good
    assert evaluation.node == {
        'name': 'n1',
        'properties': {'capabilities': 'b:2,c:x86_64', 'cpus': 8},
        'extra': {'list': [1, 2], 'new': ['x']},
    }
    assert evaluation.plugin_data == {'x': {'y': 1}, 'racks': ['A', 'B', 'C']}
    assert evaluation.results[0].effects.messages == [('warning', '8 CPUs')]
    assert str(evaluation.changes[-1]) == 'set port p extra.a = 1'
    assert FACTS.plugin_data == {'racks': ['A', 'B']}
    assert FACTS.node['extra'] == {'list': [1]}


@pytest.mark.parametrize(('action', 'failure'), [
    (('set-attribute', {'path': 'name/x', 'value': 1}), 'no object'),
    (('extend-attribute', {'path': 'name', 'value': 1}), 'name is no list'),
    (('set-attribute', {'path': '{plugin_data[racks][0]}', 'value': 1}), 'rules cannot change A'),
    (('set-attribute', {'path': 'extra/a', 'value': 'a\0'}), 'NUL'),
    (('set-attribute', {'path': 'extra/a', 'value': ['a\0']}), 'NUL'),
    (('set-capability', {'name': 'a', 'value': 'x,y:z'}), "'x,y:z' cannot be in a capability"),
])  # fmt: skip
def test_changes_that_cannot_be_made(action, failure):
    assert failure in evaluate(rule('a', action)).results[0].failure


def test_later_rules_see_what_earlier_ones_changed():
    """Later rules see the changes of earlier ones. Rules of equal priority do not."""
    change = rule('a', ('set-plugin-data', {'path': 'tier', 'value': 'gold'}), priority=5)
    has_tier = [{'op': 'eq', 'args': {'values': ['{plugin_data[tier]}', 'gold']}}]
    assert list(evaluate(change, add('b', 'CUSTOM_B', conditions=has_tier)).traits) == ['CUSTOM_B']
    assert not evaluate(change, add('b', 'CUSTOM_B', conditions=has_tier, priority=5)).traits


def test_expectations():
    conditions = [
        {'op': 'gt', 'args': {'values': ['{inventory[cpu][count]}', 16]}},
        {'op': 'eq', 'args': {'values': ['{node.resource_class}', 'gold']}},
    ]
    expect = {'conditions': conditions, 'msg': 'Gold nodes have 16 CPUs'}
    evaluation = evaluate(rule('a', ('expect', expect), ('add-trait', {'name': 'CUSTOM_A'})))
    assert evaluation.results[0].effects.mismatches == ['Gold nodes have 16 CPUs: gt (values: [8, 16])']
    assert not evaluation.is_good
    assert list(evaluation.traits) == ['CUSTOM_A']
    expect = {'conditions': conditions[1:]}
    assert evaluate(rule('a', ('expect', expect))).is_good
    has_rack = {'op': 'one-of', 'args': {'value': '{item}', 'values': '{plugin_data[racks]}'}}
    looped = {'op': 'expect', 'args': {'conditions': [has_rack], 'msg': 'rack'}, 'loop': ['A', 'C']}
    evaluation = evaluate({'name': 'a', 'actions': [looped]})
    assert evaluation.results[0].effects.mismatches == ["rack: one-of (value: 'C', values: ['A', 'B'])"]


def test_a_rule_can_fail_the_inspection():
    """A rule can fail the inspection. Rules of a lower priority do not run."""
    fail = rule('a', ('fail', {'msg': 'no {node.name}'}), priority=5)
    evaluation = evaluate(fail, add('b', 'CUSTOM_B'))
    assert evaluation.failure == 'no n1'
    assert [result.rule.name for result in evaluation.results] == ['a']
    assert not evaluation.is_good


def test_the_limit_refuses_a_rule_as_a_whole():
    """The limit refuses a rule as a whole. Rules that run earlier have precedence."""
    high = rule('z', ('add-traits', {'names': ['CUSTOM_Y', 'CUSTOM_Z']}), priority=1)
    both = rule('b', ('add-traits', {'names': ['CUSTOM_B', 'CUSTOM_Y', 'CUSTOM_C']}))
    evaluation = evaluate(add('a', 'CUSTOM_A'), both, add('c', 'CUSTOM_Z'), high, limit=4)
    assert list(evaluation.traits) == ['CUSTOM_A', 'CUSTOM_Y', 'CUSTOM_Z']
    assert evaluation.results[2].failure == 'the node would have more than 4 traits with CUSTOM_B, CUSTOM_C, CUSTOM_Y'
    assert not evaluation.is_good
    assert evaluate(both, limit=None).is_good


SECRET = NodeFacts({'bmc_password': 'hush'}, {}, {})


def test_sensitive_rules_hide_values():
    actions = [
        ('log', {'msg': '{inventory[bmc_password]}'}),
        ('expect', {'conditions': [{'op': 'is-empty', 'args': {'value': '{inventory[bmc_password]}'}}]}),
        ('add-trait', {'name': 'CUSTOM_{inventory[bmc_password]}', 'format': True}),
    ]
    for count in (2, 3):
        (result,) = evaluate(rule('a', *actions[:count], sensitive=True), facts=SECRET).results
        texts = [result.failure, result.unmet, *result.effects.mismatches, *result.effects.messages, *result.warnings]
        assert 'hush' not in str(texts)
        assert bool(result.failure) == (count == 3)


def test_sensitive_rules_hide_why_an_inspection_ends():
    """Sensitive rules hide the reason: ``last_error`` and previews are visible to all readers of the node."""
    evaluation = evaluate(rule('a', ('fail', {'msg': '{inventory[bmc_password]}'}), sensitive=True), facts=SECRET)
    assert evaluation.failure == 'rule a: the rule is sensitive'


def test_sensitive_rules_hide_their_warnings():
    words = {'op': 'contains', 'args': {'value': ['x', 'hush'], 'regex': 'hush'}}
    condition = rule('a', ('add-trait', {'name': 'CUSTOM_A'}), conditions=[words], sensitive=True)
    paths = [('set-plugin-data', {'path': path, 'value': 1}) for path in ('hush', 'hush.hush')]
    for rules in ([condition], [rule(name, path, sensitive=True) for name, path in zip('bc', paths, strict=True)]):
        warnings = [each for result in evaluate(*rules, facts=SECRET).results for each in result.warnings]
        assert warnings == ['the rule is sensitive']


def test_only_sensitive_rules_see_secrets():
    """Only sensitive rules see values that the API masks. A change of a value changes both views."""
    facts = NodeFacts({}, {}, {'driver_info': {'token': '******'}}, {'driver_info': {'token': 'HUSH'}})
    change = rule('change', ('set-attribute', {'path': 'driver_info/x', 'value': 'CUSTOM_X'}), priority=5)
    names = {'names': ['{node.driver_info[x]}', 'CUSTOM_{node.driver_info[token]}'], 'format': True}
    shown = rule('a', ('add-traits', names))
    assert "'CUSTOM_******' is not a trait" in evaluate(change, shown, facts=facts).results[1].failure
    assert list(evaluate(change, {**shown, 'sensitive': True}, facts=facts).traits) == ['CUSTOM_HUSH', 'CUSTOM_X']
    assert evaluate(change, facts=facts).unmasked == {'driver_info': {'token': 'HUSH', 'x': 'CUSTOM_X'}}


def test_facts_of_documents():
    stored = rule_evaluation.facts_of({'inventory': {'a': 1}, 'plugin_data': {'b': 2}}, {'name': 'n'})
    posted = rule_evaluation.facts_of({'inventory': {'a': 1}, 'b': 2}, {'name': 'n'})
    assert stored == posted == NodeFacts({'a': 1}, {'b': 2}, {'name': 'n'})
    assert rule_evaluation.facts_of({'inventory': {}, 'plugin_data': None}) == NodeFacts({})


TRAITS = [f'CUSTOM_{letter}' for letter in 'ABCDEF']
ACTIONS = strategies.one_of(
    strategies.tuples(strategies.sampled_from(['add-trait', 'remove-trait']), strategies.sampled_from(TRAITS)).map(
        lambda pair: {'op': pair[0], 'args': {'name': pair[1]}}
    ),
    strategies.sampled_from(TRAITS).map(
        lambda trait: {'op': 'set-plugin-data', 'args': {'path': 'tier', 'value': trait}}
    ),
    strategies.sampled_from(['{plugin_data[tier]}', '{node.name}', '{inventory[x]}']).map(
        lambda name: {'op': 'add-trait', 'args': {'name': name, 'format': True}}
    ),
)
CONDITIONS = strategies.sampled_from(TRAITS).map(
    lambda trait: {'op': 'eq', 'args': {'values': ['{plugin_data[tier]}', trait]}}
)
RULES = strategies.lists(
    strategies.fixed_dictionaries({
        'actions': strategies.lists(ACTIONS, min_size=1, max_size=3),
        'conditions': strategies.lists(CONDITIONS, max_size=1),
        'priority': strategies.integers(0, 2),
    }),
    max_size=6,
)  # fmt: skip


@hypothesis.given(RULES, strategies.randoms(use_true_random=False), strategies.integers(1, 4))
@hypothesis.settings(derandomize=True)
def test_order_and_repetition_change_nothing(documents, random, limit):
    """A second evaluation, or another order of the rules, gives the same result."""
    rules = [inspection_rules.rule(document, default_name=f'r{number}') for number, document in enumerate(documents)]
    facts = NodeFacts({'x': 'CUSTOM_X'}, {'tier': 'CUSTOM_A'}, {'name': 'CUSTOM_N'})
    first = rule_evaluation.evaluate(rules, facts, limit)
    assert rule_evaluation.evaluate(rules, facts, limit) == first
    shuffled = list(rules)
    random.shuffle(shuffled)
    assert rule_evaluation.evaluate(shuffled, facts, limit).traits == first.traits
    assert len(first.traits) <= limit


@hypothesis.given(RULES, strategies.permutations(range(6)))
@hypothesis.settings(derandomize=True)
def test_names_of_rules_change_no_trait(documents, names):
    """Names of rules change no trait, although they decide the order of rules with equal priority."""
    facts = NodeFacts({'x': 'CUSTOM_X'}, {'tier': 'CUSTOM_A'}, {'name': 'CUSTOM_N'})

    # If two rules of one priority change the same value, the last one by name wins.
    changing = [each['priority'] for each in documents if _changes(each)]
    hypothesis.assume(len(set(changing)) == len(changing))
    held = []
    for order in (range(6), names):
        rules = [
            inspection_rules.rule(document, default_name=f'r{name}')
            for document, name in zip(documents, order, strict=False)
        ]
        held.append(rule_evaluation.evaluate(rules, facts).traits.keys())
    assert held[0] == held[1]


def _changes(document):
    return any(action['op'] == 'set-plugin-data' for action in document['actions'])
