"""Templates of inspection rules: the examples of the module, the grammar, and hostile templates."""

import doctest

import pytest

from ironic_traits.matching.rules import rule_values
from ironic_traits.matching.rules.rule_values import InvalidTemplate, TemplateScope, Unknown, Unusable

FACTS = {
    'cpu': {'flags': ['fpu', 'vme'], 'count': 8, 'model name': 'Xeon', '0': 'zero'},
    'disks': [{'size': 5, 'rotational': False}],
    'none': None,
    'bmc_password': 'hush',
    'ipmi': {'user': 'admin', 'password': 'hush', 'auth_token': 'hush'},
}
PARTS = [
    {'name': name, 'version': version}
    for name, version in (*(('BIOS', '2.19.1'), ('2', '5'), ('same', '7'), ('same', '7'), ('NIC', '1'), ('NIC', '2')),)
] + ['BIOS', None]
PLUGIN_DATA = {'dmi': {'x': 1.5}, 'parts': PARTS}
SCOPE = TemplateScope({'name': 'n1', 'extra': {'rack': 'r 7'}}, FACTS, PLUGIN_DATA, item={'path': 'a'}, key='k')


def test_examples():
    result = doctest.testmod(rule_values)
    assert result.attempted
    assert result.failed == 0


@pytest.mark.parametrize(('template', 'value'), [
    ('text', 'text'),
    ('', ''),
    ('{{x}} }}', '{x} }'),
    ('{inventory[cpu][count]}', 8),
    ('{inventory[cpu][count]} CPUs', '8 CPUs'),
    ('{inventory[cpu][flags]}', ['fpu', 'vme']),
    ('{inventory[cpu][flags][1]}', 'vme'),
    ('{inventory[cpu][model name]}', 'Xeon'),
    ('{inventory[cpu][0]}', 'zero'),
    ('{inventory[disks][0][rotational]}', False),
    ('{plugin_data[parts][BIOS][version]}', '2.19.1'),
    ('{plugin_data[parts][2][version]}', '7'),
    ('{plugin_data[parts][same][version]}', '7'),
    ('{node.extra[rack]}', 'r 7'),
    ('{node.name}/{plugin_data[dmi][x]}', 'n1/1.5'),
    ('{item[path]}', 'a'),
    ('{item}', {'path': 'a'}),
    ('{item.key}: {item[path]}', 'k: a'),
    ([{'a': '{node.name}'}, 3], [{'a': 'n1'}, 3]),
])  # fmt: skip
def test_values(template, value):
    rule_values.check(template, in_loop=True)
    assert rule_values.expand(template, SCOPE) == value


@pytest.mark.parametrize('template', [
    *('{', '}', '{}', '{0}', '{x}', '{inventory}', '{plugin_data}', '{node}', '{inventory.cpu}', '{inventory[]}'),
    *('{node.name.upper}', '{node.__class__}', '{inventory[__class__]}', '{item.x}', '{item.keys}'),
    *('{item.key.x}', '{inventory[cpu]!r}'),
    *('{inventory[cpu]:>1000000000}', '{inventory[cpu][count]:{node.name}}', '{inventory[a]b}', '{inventory[a[b]]}'),
    *('{node.name()}', '{node[name]}', '{inventory[a]\n}', '{node.name\0}', '{inventory' + '[a]' * 21 + '}'),
    *('{{{x}}}', '{item' + '[a]' * 1000 + '}', '{inventory[' + 'a' * 256 + ']}', '{config[x]}', '{Node.name}'),
])  # fmt: skip
def test_invalid_templates(template):
    with pytest.raises(InvalidTemplate):
        rule_values.check([{'a': template}], in_loop=True)


def test_an_item_needs_a_loop():
    with pytest.raises(InvalidTemplate, match='there is no loop'):
        rule_values.check('{item}', in_loop=False)


@pytest.mark.parametrize(('template', 'reference'), [
    ('{inventory[x]}', 'inventory[x]'),
    ('{inventory[none]}', 'inventory[none]'),
    ('{inventory[cpu][flags][2]}', 'inventory[cpu][flags][2]'),
    ('{inventory[cpu][flags][-1]}', 'inventory[cpu][flags][-1]'),
    ('{inventory[cpu][flags][²]}', 'inventory[cpu][flags][²]'),
    ('{inventory[cpu][flags][' + '9' * 200 + ']}', 'inventory[cpu][flags]'),
    ('{inventory[cpu][count][real]}', 'inventory[cpu][count][real]'),
    ('{inventory[none][x]}', 'inventory[none][x]'),
    ('{node.extra[x]} {node.name}', 'node.extra[x]'),
    ('{plugin_data[keys]}', 'plugin_data[keys]'),
])  # fmt: skip
def test_unknown(template, reference):
    with pytest.raises(Unknown) as error:
        rule_values.expand(template, SCOPE)
    assert str(error.value).startswith(reference)


def test_an_item_is_unknown_outside_loops():
    with pytest.raises(Unknown, match='item'):
        rule_values.expand('{item}', TemplateScope())


def test_facts_are_no_templates():
    """A value of the inventory that looks like a template is not expanded."""
    scope = TemplateScope(inventory={'x': '{node.driver_info[ipmi_password]}', 'y': '{0.__class__}'})
    assert rule_values.expand('{inventory[x]}', scope) == '{node.driver_info[ipmi_password]}'
    assert rule_values.expand('a {inventory[y]}', scope) == 'a {0.__class__}'


def test_secrets_are_masked_unless_the_rule_is_sensitive():
    assert rule_values.expand('{inventory[bmc_password]}', SCOPE) == '******'
    ipmi = {'user': 'admin', 'password': '******', 'auth_token': '******'}
    assert rule_values.expand('{inventory[ipmi]}', SCOPE) == ipmi
    assert 'hush' not in rule_values.expand('all: {inventory[ipmi]}', SCOPE)
    sensitive = TemplateScope(inventory=FACTS, is_sensitive=True)
    assert rule_values.expand('{inventory[ipmi][password]}', sensitive) == 'hush'
    assert rule_values.expand('{inventory[ipmi]}', sensitive) == FACTS['ipmi']


def test_values_are_copies():
    value = rule_values.expand('{inventory[cpu][flags]}', SCOPE)
    value.append('x')
    assert FACTS['cpu']['flags'] == ['fpu', 'vme']


@pytest.mark.parametrize('fact', [
    *('x' * 70_000, ['x' * 10_000] * 10, list(range(20_000)), [[0] * 5000] * 5),
    {str(each): 1 for each in range(20_000)},
])  # fmt: skip
def test_facts_that_are_too_large(fact):
    with pytest.raises(Unusable, match=r'inventory\[x\] has more than'):
        rule_values.expand('{inventory[x]}', TemplateScope(inventory={'x': fact}))


def test_texts_that_are_too_long():
    scope = TemplateScope(inventory={'x': 'x' * 60_000, 'number': 10**5000})
    with pytest.raises(Unusable, match='is longer than'):
        rule_values.expand('{inventory[x]}{inventory[x]}', scope)
    with pytest.raises(Unusable, match='too long'):
        rule_values.expand('a {inventory[number]}', scope)


@pytest.mark.parametrize(('value', 'text'), [
    ('a', "'a'"),
    ('\x1b[2J', r"'\x1b[2J'"),
    ('x' * 100, "'" + 'x' * 78 + '…'),
    (list(range(9)), '[0, 1, 2, 3, 4, 5, … 3 more]'),
    (None, 'None'),
])  # fmt: skip
def test_values_in_messages(value, text):
    assert rule_values.shown(value) == text


@pytest.mark.parametrize(('template', 'reason'), [
    ('{plugin_data[parts][NIC][version]}', 'different items have the name NIC'),
    ('{plugin_data[parts][iLO][version]}', 'is not known'),
    ('{plugin_data[parts][99]}', 'is not known'),
    ('{inventory[cpu][flags][fpu]}', 'is not known'),
])  # fmt: skip
def test_items_of_a_name_that_are_not_known(template, reason):
    with pytest.raises(Unknown, match=reason):
        rule_values.expand(template, SCOPE)
