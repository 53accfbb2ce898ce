"""The conversion of ironic-inspector's rules."""

import doctest

import pytest

from ironic_traits.matching.rules import inspection_rules, inspector_rules, rule_evaluation

FACTS = rule_evaluation.facts_of(
    {
        'inventory': {
            'cpu': {'count': 8, 'architecture': 'x86_64'},
            'memory': {'physical_mb': 65536},
            'disks': [{'size': 5}, {'size': 100}],
            'bmc_address': '192.0.2.7',
            'hostname': 'n1',
        },
        'extra': {'system': {'product': {'name': 'ProLiant'}}},
    },
    {'driver_info': {'ipmi_address': '192.0.2.7'}, 'name': 'n1'},
)
ADD = {'action': 'add-trait', 'name': 'CUSTOM_A'}


def test_examples():
    result = doctest.testmod(inspector_rules)
    assert result.attempted
    assert result.failed == 0


def is_matched(condition):
    conversion = inspector_rules.convert([{'conditions': [condition], 'actions': [ADD]}])
    assert conversion.problems == []
    evaluation = rule_evaluation.evaluate(inspection_rules.parse(conversion.rules), FACTS)
    assert evaluation.is_good
    return bool(evaluation.traits)


@pytest.mark.parametrize(('op', 'field', 'value', 'expected'), [
    ('eq', 'inventory.cpu.architecture', 'x86_64', True),
    ('ne', 'data://inventory.cpu.architecture', 'x86_64', False),
    ('eq', 'cpus', 8, True),
    ('eq', 'cpu_arch', 'x86_64', True),
    ('ge', 'memory_mb', 65536, True),
    ('gt', 'memory_mb', 65536, False),
    ('le', '$.memory_mb', 65536, True),
    ('lt', 'memory_mb', 65537, True),
    ('in-net', 'inventory.bmc_address', '192.0.2.0/24', True),
    ('matches', 'inventory.hostname', 'n[0-9]', True),
    ('contains', 'extra.system.product.name', 'Pro', True),
    ('eq', "extra['system'].product.name", 'ProLiant', True),
    ('eq', 'node://driver_info.ipmi_address', '192.0.2.7', True),
    ('is-empty', 'node://driver_info.deploy_kernel', None, True),
    ('eq', 'inventory.disks[0].size', 5, True),
    # No condition is true for a missing field.
    ('ne', 'inventory.none', 'x', False),
    ('ge', 'inventory.none', 5, False),
])  # fmt: skip
def test_conditions(op, field, value, expected):
    assert is_matched({'op': op, 'field': field, 'value': value}) is expected


@pytest.mark.parametrize(('op', 'value', 'multiple', 'invert', 'expected'), [
    ('gt', 50, 'any', False, True),
    ('gt', 50, 'all', False, False),
    ('gt', 50, 'first', False, False),
    ('lt', 50, 'first', False, True),
    ('lt', 500, 'all', False, True),
    ('gt', 500, 'all', True, True),
    ('gt', 50, 'any', True, True),
])  # fmt: skip
def test_several_values(op, value, multiple, invert, expected):
    condition = {'op': op, 'field': 'inventory.disks[*].size', 'value': value, 'multiple': multiple, 'invert': invert}
    assert is_matched(condition) is expected
    assert not is_matched(condition | {'field': 'inventory.none[*].size'})


def test_actions():
    document = {
        'description': 'Set what IPMI needs, if it is not there',
        'scope': 'rack1',
        'actions': [
            {'action': 'set-attribute', 'path': '/driver_info/ipmi_address', 'value': '{data[inventory][bmc_address]}'},
            {'action': 'set-attribute', 'path': 'extra/arch', 'value': '{data[cpu_arch]}'},
            {'action': 'extend-attribute', 'path': 'extra/names', 'value': '{data[extra][x]}', 'unique': True},
            {'action': 'set-capability', 'name': 'boot_mode', 'value': 'uefi'},
            {'action': 'add-trait', 'name': 'CUSTOM_{data.inventory.hostname}'},
            {'action': 'remove-trait', 'name': 'CUSTOM_B'},
            {'action': 'fail', 'message': 'no {node.name}'},
        ],
    }
    conversion = inspector_rules.convert({'rules': [document, document]})
    assert conversion.problems == []
    assert [rule['name'] for rule in conversion.rules] == [
        'set-what-ipmi-needs-if-it-is-not-there',
        'set-what-ipmi-needs-if-it-is-not-there-2',
    ]
    assert "the scope 'rack1' is left out" in conversion.notes[1]
    args = [action['args'] for action in conversion.rules[0]['actions']]
    assert args == [
        {'path': '/driver_info/ipmi_address', 'value': '{inventory[bmc_address]}'},
        {'path': 'extra/arch', 'value': '{inventory[cpu][architecture]}'},
        {'path': 'extra/names', 'value': '{plugin_data[extra][x]}', 'unique': True},
        {'name': 'boot_mode', 'value': 'uefi'},
        {'name': 'CUSTOM_{inventory[hostname]}', 'format': True},
        {'name': 'CUSTOM_B'},
        {'msg': 'no {node.name}'},
    ]


@pytest.mark.parametrize(('rule', 'problem'), [
    ('x', 'it is not an object'),
    ({'conditions': 5}, 'it is not an object'),
    ({'actions': []}, 'it has no actions'),
    ({'actions': [{'action': 'frob'}]}, "the action {'action': 'frob'} has no counterpart"),
    ({'actions': [{'action': 'add-trait', 'name': 'CUSTOM_A', 'x': 1}]}, 'x of the action'),
    ({'actions': [{'action': 'add-trait', 'name': 'gold node'}]}, "'gold node' is not a trait"),
    ({'actions': [{'action': 'set-attribute', 'path': 'uuid', 'value': 1}]}, 'rules cannot change uuid'),
    ({'actions': [ADD], 'conditions': [{'op': 'like', 'field': 'x'}]}, 'has no counterpart'),
    ({'actions': [ADD], 'conditions': [{'op': 'eq', 'field': 'a[*].b[*]', 'value': 1}]}, 'has no counterpart'),
    ({'actions': [ADD], 'conditions': [{'op': 'eq', 'field': '$..x', 'value': 1}]}, 'is no plain path'),
    ({'actions': [ADD], 'conditions': [{'op': 'eq', 'field': 'file://x', 'value': 1}]}, 'is no plain path'),
    ({'actions': [ADD], 'conditions': [{'op': 'eq', 'field': '', 'value': 1}]}, 'has no counterpart'),
    ({'actions': [ADD], 'conditions': [{'op': 'eq', 'field': '__class__', 'value': 1}]}, 'is no reference'),
])  # fmt: skip
def test_rules_without_counterpart(rule, problem):
    conversion = inspector_rules.convert([rule, {'actions': [ADD]}])
    assert problem in conversion.problems[0]
    assert [each['name'] for each in conversion.rules] == ['rule-2']


def test_documents_that_are_no_rules():
    assert inspector_rules.convert('x').problems == ['Rules are a list']
    assert inspector_rules.convert({'actions': [ADD]}).rules[0]['name'] == 'rule-1'


@pytest.mark.parametrize(('field', 'reference'), [
    ('all_interfaces.eth0.lldp_processed.switch_port_id', '{plugin_data[parsed_lldp][eth0][switch_port_id]}'),
    ('interfaces.eth0.mac_address', '{plugin_data[valid_interfaces][eth0][mac_address]}'),
    ('ipmi_address', '{inventory[bmc_address]}'),
    ('ipmi_v6address', '{inventory[bmc_v6address]}'),
])  # fmt: skip
def test_fields_with_other_places(field, reference):
    condition = {'op': 'is-empty', 'field': f'data://{field}'}
    conversion = inspector_rules.convert([{'conditions': [condition], 'actions': [ADD]}])
    assert (conversion.rules[0]['conditions'][0]['args'], conversion.notes) == ({'value': reference}, [])


def test_fields_that_nothing_fills():
    """A note says so: the rule is valid, but never applies."""
    fields = ('capabilities_of_mine.a', 'inventory.gpus[0]', 'extra.system.product', 'inventory.cpu.count')
    conditions = [{'op': 'eq', 'field': field, 'value': 1} for field in fields]
    conversion = inspector_rules.convert([{'description': 'A', 'conditions': conditions, 'actions': [ADD]}])
    assert (len(conversion.rules), conversion.problems) == (1, [])
    reason = 'so what needs it has no effect'
    assert conversion.notes == [
        f'a: neither ramdisks nor inspection hooks fill plugin_data[capabilities_of_mine], {reason}',
        f'a: neither ramdisks nor inspection hooks fill inventory[gpus], {reason}',
        'a: plugin_data[extra] needs the hook extra-hardware in [inspection] hooks',
    ]
    action = {'action': 'set-attribute', 'path': '/extra/a', 'value': '{data[nothing][a]}'}
    (note,) = inspector_rules.convert([{'actions': [action]}]).notes
    assert 'plugin_data[nothing]' in note
