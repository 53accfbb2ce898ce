"""Hostile rules and inventories result in an invalid rule, or in a rule that fails.

The limits count work, not seconds. Without the limits, these tests would run for minutes.
"""

import contextlib
import sys

import pytest

from ironic_traits.matching.facts import NodeFacts
from ironic_traits.matching.rules import inspection_rules, rule_evaluation, rule_files, rule_values
from ironic_traits.matching.rules.inspection_rules import InvalidRules
from ironic_traits.matching.rules.rule_evaluation import InvalidInventory

ADD = {'op': 'add-trait', 'args': {'name': 'CUSTOM_A'}}
BOMBS = ['(a+)+b', '(a|a)*b', '(.*a){20}b', '(a?){400}a{400}b', '|'.join(f'[a-z]{{{each}}}b' for each in range(1, 30))]


def nested(depth, leaf=1):
    value = leaf
    for _ in range(depth):
        value = [value]
    return value


def run(inventory, *conditions, actions=(ADD,), **fields):
    rule = inspection_rules.rule({'conditions': list(conditions), 'actions': list(actions), **fields})
    (result,) = rule_evaluation.evaluate([rule], NodeFacts(inventory, inventory, {'extra': {}})).results
    return result


@pytest.mark.parametrize('regex', BOMBS)
@pytest.mark.parametrize('op', ['matches', 'contains'])
def test_regular_expressions(op, regex):
    condition = {'op': op, 'args': {'value': '{inventory[x]}', 'regex': regex}}
    result = run({'x': 'a' * 60_000}, *[{**condition, 'op': f'!{op}'}] * 100)
    assert result.failure is None or 'takes too long' in result.failure


@pytest.mark.parametrize('regex', ['(a{1000}){1000}', 'a{1000}{1000}', '(.{1,500}){2}b', '[' * 400, '(' * 400, 'a\\'])
def test_regular_expressions_that_are_too_large(regex):
    with pytest.raises(InvalidRules, match='regular expression'):
        run({}, {'op': 'matches', 'args': {'value': 'x', 'regex': regex}})


@pytest.mark.parametrize('regex', BOMBS)
def test_regular_expressions_in_inventories(regex):
    """The limits apply to regular expressions in an inventory, which a loop can put into a condition."""
    condition = {'op': '!matches', 'args': {'value': '{inventory[x]}', 'regex': '{item}'}, 'loop': '{inventory[list]}'}
    result = run({'x': 'a' * 60_000, 'list': [regex] * 130}, condition | {'multiple': 'all'})
    assert 'takes too long' in result.failure


@pytest.mark.parametrize('value', [
    *('{0.__class__}', '{node.__init__.__globals__}', '{inventory.__class__.__mro__}', '{inventory[x].y}'),
    *('{inventory[x]!r:>{width}}', '{inventory[a]:1000000000}', '%s' * 100 + '{', '${inventory[x]}}', '{__import__}'),
])  # fmt: skip
def test_format_strings(value):
    for part in (
        {'conditions': [{'op': 'eq', 'args': {'values': [value]}}]},
        {'conditions': [{'op': 'eq', 'args': {'values': []}, 'loop': [value]}]},
        {'actions': [{'op': 'set-attribute', 'args': {'path': 'extra/a', 'value': {'x': [value]}}}]},
        {'actions': [{'op': 'add-trait', 'args': {'name': value, 'normalize': True}}]},
    ):
        with pytest.raises(InvalidRules, match='is no reference'):
            inspection_rules.rule({'actions': [ADD], **part})


@pytest.mark.parametrize(
    'value', ['{node.driver_info}', '{inventory[secret]}', '%(x)s', '${x}', '{{}}', "'; DROP TABLE x"]
)
def test_inventories_with_templates(value):
    """Templates in inventories are never expanded, not even as the items of a loop."""
    action = {'op': 'set-attribute', 'args': {'path': 'extra/a', 'value': '{item}'}, 'loop': '{inventory[list]}'}
    result = run({'list': [value], 'secret': 'hush'}, actions=[action])
    assert [change.value for change in result.effects.changes] == [value]


def test_nested_rules():
    for depth in (15, 500, 100_000):
        with pytest.raises(InvalidRules, match='nested deeper'):
            inspection_rules.rule({'actions': [ADD], 'conditions': nested(depth)})
    with pytest.raises(InvalidRules, match='more than 65536'):
        inspection_rules.rule({'actions': [ADD], 'description': 'x' * 10**7})
    loop = []
    loop.append(loop)
    with pytest.raises(InvalidRules, match='nested deeper'):
        inspection_rules.rule({'actions': [ADD], 'conditions': loop})


def test_rules_that_grow():
    """Rules that grow by aliases of aliases, as in YAML, are refused."""
    value = ['x' * 100]
    for _ in range(9):
        value = [value] * 10
    with pytest.raises(InvalidRules, match='more than 65536 characters'):
        inspection_rules.rule({'actions': [ADD], 'conditions': value})


def test_nested_inventories():
    for depth in (51, 1000, 100_000):
        with pytest.raises(InvalidInventory, match='nested deeper than 50'):
            rule_evaluation.facts_of({'inventory': {'x': nested(depth)}})
    result = run(rule_evaluation.facts_of({'inventory': {'x': nested(45)}}).inventory, {
        'op': 'contains', 'args': {'value': '{inventory[x]}', 'regex': '1'},
    })  # fmt: skip
    assert result.traits == {'CUSTOM_A'}


@pytest.mark.parametrize('inventory', [
    {'x': ['y' * 1000] * 10_000},
    {'x': list(range(1_000_000))},
    {'x': {str(each): {} for each in range(300_000)}},
])  # fmt: skip
def test_large_inventories(inventory):
    facts = rule_evaluation.facts_of(
        {'inventory': inventory, 'data': [['cpu'] * 4] * 100_000, 'pci_devices': [{}] * 100_000}
    )
    loop = {'op': 'has', 'args': {'value': '{inventory[x]}', 'member': 'y'}, 'loop': ['x'] * 1000}
    rules = inspection_rules.parse([{'name': f'r{each}', 'conditions': [loop], 'actions': [ADD]} for each in range(50)])
    evaluation = rule_evaluation.evaluate([*rules, *inspection_rules.standard()], facts)
    assert all('has more than' in result.failure for result in evaluation.results[:50])
    assert not evaluation.traits


def test_too_many_values():
    with pytest.raises(InvalidInventory, match='more than 2000000 values'):
        rule_evaluation.facts_of({'inventory': {'x': [0] * 2_000_001}})


def test_work_is_limited():
    """The work of one rule, and of all rules together, is limited."""
    condition = {'op': '!has', 'args': {'value': '{inventory[x]}', 'member': 'y'}, 'loop': '{inventory[loop]}'}
    facts = NodeFacts({'x': list(range(1000)), 'loop': list(range(1000))})
    rules = inspection_rules.parse([
        {'name': f'r{each}', 'conditions': [condition | {'multiple': 'all'}], 'actions': [ADD]} for each in range(100)
    ])  # fmt: skip
    results = rule_evaluation.evaluate(rules, facts).results
    assert all(result.failure.endswith('takes too long on this node') for result in results)


def test_loops_that_change_much():
    changes = {'op': 'set-plugin-data', 'args': {'path': 'x.{item}', 'value': 1}, 'loop': '{inventory[loop]}'}
    inventory = {'loop': list(range(1000)), 'x': dict.fromkeys(map(str, range(100_000)), 0)}
    assert 'takes too long' in run(inventory, actions=[changes]).failure
    maps = [{'op': 'add-traits', 'args': {'map': 'pci'}, 'loop': '{inventory[loop]}'}]
    assert 'takes too long' in run(inventory, actions=maps).failure


@pytest.mark.parametrize('text', ['\0', 'a\0b', '\x1b[2J', '\ud800', '４', 'é', '\u202e', '\n'])
def test_characters(text):
    inventory = {'x': text, 'cpu': {'flags': [text], 'architecture': text}, 'pci_devices': [{'vendor_id': text}]}
    add = {'op': 'add-trait', 'args': {'name': 'CUSTOM_{inventory[x]}', 'format': True}}
    reason = 'is not a trait' if text.strip() else 'is not known'
    assert reason in run(inventory, actions=[add]).failure
    add = {'op': 'add-trait', 'args': {'name': 'CUSTOM_X_{inventory[x]}_Y', 'normalize': True}}
    assert all(name.isascii() for name in run(inventory, actions=[add]).traits)
    for op in ('matches', 'contains'):
        # Some of these are not valid expressions.
        with contextlib.suppress(InvalidRules):
            run(inventory, {'op': op, 'args': {'value': '{inventory[x]}', 'regex': text}})
    maps = [{'op': 'add-traits', 'args': {'map': name}} for name in ('cpu-flags', 'architecture', 'pci')]
    assert run(inventory, actions=maps).traits == set()


def test_numbers():
    limit = sys.get_int_max_str_digits()
    inventory = {'x': 10 ** (limit + 1), 'y': float('nan'), 'z': float('inf')}
    result = run(inventory, {'op': 'contains', 'args': {'value': '{inventory[x]}', 'regex': '0'}})
    assert 'a number is too long' in result.failure
    assert not run(inventory, {'op': 'eq', 'args': {'values': ['{inventory[y]}', 'nan']}}).failure


@pytest.mark.parametrize(('content', 'message'), [
    ('[' * 100_000, 'nested deeper than 100'),
    ('{a: ' * 100_000, 'nested deeper than 100'),
    ('- a\n b: ]', 'mapping values are not allowed'),
    ('!!python/object/apply:os.system [true]', 'could not determine a constructor'),
    ('a: &a [*a]', 'Rules are a list'),
    ('\0', 'control characters|special characters'),
    ('', '^the file is empty$'),
    ('# nothing\n', '^the file is empty$'),
    ('x' * (2**20 + 1), 'larger than'),
])  # fmt: skip
def test_files_with_rules(content, message, tmp_path):
    path = tmp_path / 'x.yaml'
    path.write_text(content)
    with pytest.raises(InvalidRules, match=message):
        rule_files.read_rules(str(path))


@pytest.mark.parametrize(('content', 'message'), [
    (b'[' * 100_000, 'it is not JSON'),
    (b'{"inventory": NaN}', 'it is not JSON'),
    (b'\xff\xfe', 'it is not JSON'),
    (b' \n', '^the file is empty$'),
    (b'{"inventory": {"x": "\\ud800"}}', 'it is not JSON'),
    (b'[]', 'not an object with the key "inventory"'),
    (b'{"inventory": []}', 'not an object with the key "inventory"'),
    (b'{"inventory": {}, "plugin_data": [1]}', '"plugin_data" is not an object'),
    (b' ' * (rule_files.MAX_INVENTORY_SIZE + 1), 'larger than'),
])  # fmt: skip
def test_files_with_inventories(content, message, tmp_path):
    path = tmp_path / 'x.json'
    path.write_bytes(content)
    with pytest.raises(InvalidInventory, match=message):
        rule_files.read_inventory(str(path))


def test_limits():
    assert rule_evaluation.MAX_WORK >= rule_values.MAX_WORK
