"""Facts that are missing, null or empty: inspection rules treat them alike, and derive nothing from them."""

import pytest

from ironic_traits.matching.rules import inspection_rules, rule_conditions, rule_evaluation

UNKNOWN = {'missing': {}, 'null': {'x': None}, 'empty': {'x': ''}, 'blank': {'x': ' \n'}, 'list': {'x': []},
           'object': {'x': {}}}  # fmt: skip
ADD = {'op': 'add-trait', 'args': {'name': 'CUSTOM_A'}}
X, TEXT = '{inventory[x]}', 'a {inventory[x]}'
#: Arguments with which each operator would take a text of an unknown fact for a value.
ARGUMENTS = {
    'eq': [{'values': [X, each]} for each in ('None', '', 'null', '[]', '{{}}', None, [], 0, False)]
    + [{'values': [X, 'None'], 'force_strings': True}, {'values': X}, {'values': [TEXT, 'a ']}],
    'lt': [{'values': [X, 100]}, {'values': [X, 'Z'], 'force_strings': True}],
    'le': [{'values': [X, 0]}],
    'gt': [{'values': [X, 100]}, {'values': [100, X]}, {'values': [X, 'A'], 'force_strings': True}],
    'ge': [{'values': [X, 0]}],
    'in-net': [{'address': X, 'subnet': '0.0.0.0/0'}, {'address': '192.0.2.1', 'subnet': X}],
    'matches': [{'value': X, 'regex': '.*'}, {'value': X, 'regex': r'\w+'}, {'value': TEXT, 'regex': '.*'}],
    'contains': [{'value': X, 'regex': 'N'}, {'value': X, 'regex': ''}],
    'one-of': [{'value': X, 'values': ['None', '', None]}, {'value': 'a', 'values': X}],
    'is-true': [{'value': X}],
    'is-false': [{'value': X}],
    'has': [{'value': X, 'member': 'None'}, {'value': ['None'], 'member': X}],
}
CASES = [(op, args) for op, each in ARGUMENTS.items() for args in each]


def run(inventory, *conditions, actions=(ADD,)):
    rule = inspection_rules.rule({'conditions': list(conditions), 'actions': list(actions)})
    (result,) = rule_evaluation.evaluate([rule], rule_evaluation.facts_of({'inventory': inventory})).results
    return result


def test_each_operator_is_tried():
    assert ARGUMENTS.keys() | {'is-none', 'is-empty'} == rule_conditions.OPERATORS.keys()


@pytest.mark.parametrize('kind', UNKNOWN)
@pytest.mark.parametrize(('op', 'args'), CASES)
def test_neither_a_condition_nor_its_negation_is_met(kind, op, args):
    for name in (op, f'!{op}'):
        result = run(UNKNOWN[kind], {'op': name, 'args': args})
        assert (result.is_matched, result.failure) == (False, None)
        assert result.unmet == f'condition 1, {name} (inventory[x] is not known)'


@pytest.mark.parametrize('kind', UNKNOWN)
@pytest.mark.parametrize('op', ['is-none', 'is-empty'])
def test_whether_a_fact_is_known(kind, op):
    for value in (X, TEXT):
        assert run(UNKNOWN[kind], {'op': op, 'args': {'value': value}}).is_matched
        assert not run(UNKNOWN[kind], {'op': f'!{op}', 'args': {'value': value}}).is_matched
        assert not run({'x': 0}, {'op': op, 'args': {'value': value}}).is_matched


@pytest.mark.parametrize('value', [
    *('n/a', 'Unknown', 'nan', 'inf', '-inf', '0x10', '1_000', '1e3', '1,000', '10 GB', 'v5', '1.2.3'),
    *('²', '٣', '-', '.', True, False, [500], [], {'a': 1}, float('nan'), float('inf')),
])  # fmt: skip
@pytest.mark.parametrize('op', ['lt', 'le', 'gt', 'ge'])
def test_what_is_no_number_has_no_order(op, value):
    for other in (100, '100', 'A', -1):
        for args in ({'values': [X, other]}, {'values': [other, X], 'force_strings': True}):
            for name in (op, f'!{op}'):
                result = run({'x': value}, {'op': name, 'args': args})
                assert (result.is_matched, result.failure) == (False, None)


@pytest.mark.parametrize(('value', 'met'), [
    *((each, {'lt', 'le'}) for each in (99, '99', ' 99 ', 99.9, '99.5', -500, '-500', '9', '0099')),
    *((each, {'le', 'ge'}) for each in (100, '100', '100.0', 100.0, '+100', '100\n')),
    *((each, {'gt', 'ge'}) for each in (101, '101', ' 500 ', 100.1, 10**300, '9' * 300)),
])  # fmt: skip
def test_order_of_numbers(value, met):
    for op, negated in (('lt', '!ge'), ('le', '!gt'), ('gt', '!le'), ('ge', '!lt')):
        for name in (op, negated):
            for limit in (100, '100'):
                condition = {'op': name, 'args': {'values': [X, limit]}}
                assert run({'x': value}, condition).is_matched == (op in met), (name, limit)


@pytest.mark.parametrize('kind', UNKNOWN)
@pytest.mark.parametrize('multiple', ['all', 'any', 'first', 'last'])
@pytest.mark.parametrize('op', ['eq', '!eq', '!is-none', 'is-none'])
def test_no_item_meets_no_condition(kind, multiple, op):
    args = {'values': ['{item}', 'b']} if op.endswith('eq') else {'value': '{item}'}
    result = run(UNKNOWN[kind], {'op': op, 'args': args, 'loop': X, 'multiple': multiple})
    assert not result.is_matched
    assert result.unmet.endswith('has no items: inventory[x] is not known')


@pytest.mark.parametrize(('multiple', 'is_met'), [('all', False), ('any', True), ('first', True), ('last', False)])
def test_items_that_are_not_known(multiple, is_met):
    for op in ('eq', '!eq'):
        value = 'nvme' if op == 'eq' else 'sata'
        condition = {'op': op, 'args': {'values': ['{item[bus]}', value]}, 'loop': X, 'multiple': multiple}
        assert run({'x': [{'bus': None}, {'bus': 'nvme'}, {}]}, condition).is_matched is is_met


def test_an_expectation_notices_that_all_disks_have_gone():
    condition = {'op': '!is-true', 'args': {'value': '{item[rotational]}'}, 'loop': X, 'multiple': 'all'}
    expect = [{'op': 'expect', 'args': {'conditions': [condition], 'msg': 'no disk of {inventory[y]} rotates'}}]
    assert run({'x': [{'rotational': False}]}, actions=expect).effects.mismatches == []
    for facts in UNKNOWN.values():
        (mismatch,) = run(facts, actions=expect).effects.mismatches
        assert mismatch.startswith('no disk of (inventory[y] is not known) rotates: ')
        assert mismatch.endswith('inventory[x] is not known')
    condition = {'op': '!is-true', 'args': {'value': '{item[rotational]}'}}
    expect = [{'op': 'expect', 'args': {'conditions': [condition]}, 'loop': X}]
    assert run({'x': [{'rotational': False}]}, actions=expect).effects.mismatches == []
    for facts in ({'x': [{'rotational': None}]}, *UNKNOWN.values()):
        assert len(run(facts, actions=expect).effects.mismatches) == 1


@pytest.mark.parametrize('kind', UNKNOWN)
@pytest.mark.parametrize(('op', 'args'), [
    ('add-trait', {'name': f'MODEL_{X}', 'normalize': True}),
    ('add-trait', {'name': X, 'normalize': True}),
    ('add-traits', {'names': X, 'normalize': True}),
    ('add-traits', {'names': ['CUSTOM_B', f'CUSTOM_{X}'], 'format': True}),
    ('remove-trait', {'name': f'MODEL_{X}', 'normalize': True}),
    ('set-attribute', {'path': 'resource_class', 'value': f'baremetal.{X}'}),
    ('set-attribute', {'path': 'name', 'value': X}),
    ('set-attribute', {'path': 'extra/a', 'value': {'b': [X]}}),
    ('set-attribute', {'path': f'extra/{X}', 'value': 1}),
    ('extend-attribute', {'path': 'extra/a', 'value': X}),
    ('del-attribute', {'path': f'extra/{X}'}),
    ('set-capability', {'name': 'model', 'value': X}),
    ('unset-capability', {'name': X}),
    ('set-plugin-data', {'path': 'a', 'value': X}),
    ('set-port-attribute', {'port_id': X, 'path': 'extra/a', 'value': 1}),
])  # fmt: skip
def test_an_action_needs_its_facts(kind, op, args):
    result = run(UNKNOWN[kind], actions=[ADD, {'op': op, 'args': args}])
    assert result.failure == f'{op}: inventory[x] is not known'
    assert (result.traits, result.effects.changes) == (set(), [])


@pytest.mark.parametrize('kind', UNKNOWN)
def test_a_message_needs_no_facts(kind):
    actions = [{'op': op, 'args': {'msg': f'the serial is {X}'}} for op in ('log', 'fail')]
    effects = run(UNKNOWN[kind], actions=actions).effects
    assert effects.failure == 'the serial is (inventory[x] is not known)'
    assert effects.messages == [('info', effects.failure)]


@pytest.mark.parametrize('kind', UNKNOWN)
def test_a_loop_over_nothing(kind):
    loop = {'op': 'add-trait', 'args': {'name': 'CUSTOM_{item}'}, 'loop': X}
    result = run(UNKNOWN[kind], actions=[ADD, loop])
    assert result.traits == {'CUSTOM_A'}
    assert result.warnings == ['the loop of add-trait has no items: inventory[x] is not known']


def test_items_without_what_an_action_needs_are_left_out():
    loop = {'op': 'add-trait', 'args': {'name': 'DISK_{item[vendor]}', 'normalize': True}, 'loop': X}
    result = run({'x': [{'vendor': None}, {'vendor': 'Dell'}, {'vendor': ''}, {}]}, actions=[loop])
    assert result.traits == {'CUSTOM_DISK_DELL'}
    assert result.warnings == ['add-trait leaves out 3 of 4 items: item[vendor] is not known']
    loop['args'] |= {'name': 'DISK_{item}_{inventory[model]}'}
    assert run({'x': ['a', 'b']}, actions=[loop]).failure == 'add-trait: inventory[model] is not known'


def test_loops_that_a_rule_contains():
    """Only the items whose facts are unknown are left out. An object is one item, as in Ironic."""
    args = {'path': '{item[path]}', 'value': '{item[value]}'}
    items = [{'path': f'extra/{name}', 'value': f'{{inventory[{name}]}}'} for name in ('x', 'y')]
    result = run({'x': None, 'y': 'b'}, actions=[{'op': 'set-attribute', 'args': args, 'loop': items}])
    assert [str(each) for each in result.effects.changes] == ["set node extra.y = 'b'"]
    result = run({'x': 'a'}, actions=[{'op': 'set-attribute', 'args': args, 'loop': items[0]}])
    assert [str(each) for each in result.effects.changes] == ["set node extra.x = 'a'"]


def test_the_items_of_an_object_are_its_values():
    lldp = {'eth0': {'switch': 'Rack 7', 'port': 'xe-0/0/1'}, 'eth1': {'switch': None}, 'eth2': {}}
    name = {'name': '{item.key} {item[switch]} {item[port]}', 'normalize': True}
    result = run({'x': lldp}, actions=[{'op': 'add-trait', 'args': name, 'loop': X}])
    assert result.traits == {'CUSTOM_ETH0_RACK_7_XE_0_0_1'}
    for op, multiple, is_met in (('eq', 'any', True), ('!eq', 'any', False), ('eq', 'all', False)):
        condition = {'op': op, 'args': {'values': ['{item[switch]}', 'Rack 7']}, 'loop': X, 'multiple': multiple}
        assert run({'x': lldp}, condition).is_matched is is_met, (op, multiple)
    assert not run({'x': ['a']}, {'op': '!eq', 'args': {'values': ['{item.key}', 'b']}, 'loop': X}).is_matched


def test_null_within_a_fact_has_no_text():
    facts = {'x': [None, {'vendor': None, 'name': 'sda'}], 'y': [None, 'None']}
    for op, args in (('contains', {'value': X, 'regex': 'None'}), ('has', {'value': X, 'member': 'None'})):
        assert not run(facts, {'op': op, 'args': args}).is_matched
    assert run(facts, {'op': 'has', 'args': {'value': '{inventory[y]}', 'member': 'None'}}).is_matched
    assert not run(facts, {'op': 'eq', 'args': {'values': '{inventory[y]}'}}).is_matched
    assert not run(facts, {'op': '!eq', 'args': {'values': '{inventory[y]}'}}).is_matched


@pytest.mark.parametrize('address', ['n/a', '::/0', '0.0.0.0', '::', 'x'])
def test_what_is_no_address_is_in_no_network(address):
    for op in ('in-net', '!in-net'):
        result = run({'x': address}, {'op': op, 'args': {'address': X, 'subnet': '0.0.0.0/0'}})
        assert (result.is_matched, result.failure) == (False, None)


def test_constants_are_no_facts():
    assert run({'x': 'a'}, {'op': '!eq', 'args': {'values': [X, '']}}).is_matched
    assert run({'x': 'a'}, {'op': '!eq', 'args': {'values': [X, None]}}).is_matched
    change = {'op': 'set-attribute', 'args': {'path': 'description', 'value': None}}
    assert run({}, actions=[change]).effects.changes[0].value is None
