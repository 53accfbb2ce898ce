"""Random rules and inventories raise only the documented errors, and result only in valid traits."""

import contextlib

import hypothesis
from hypothesis import strategies

from ironic_traits.matching import fact_maps, traits
from ironic_traits.matching.rules import inspection_rules, inspector_rules, rule_actions, rule_conditions
from ironic_traits.matching.rules import rule_evaluation as evaluation
from ironic_traits.matching.rules.inspection_rules import InvalidRules
from ironic_traits.matching.rules.rule_evaluation import InvalidInventory

KEYS = strategies.sampled_from([
    *('inventory', 'plugin_data', 'cpu', 'flags', 'architecture', 'model_name', 'disks', 'rotational', 'vendor'),
    *('name', 'interfaces', 'boot', 'current_boot_mode', 'system_vendor', 'firmware', 'version', 'vendor_id'),
    *('pci_devices', 'product_id', 'class', 'data', 'extra', 'network', 'bios', 'eth0', '0', 'password'),
])  # fmt: skip
TEXTS = strategies.one_of(
    strategies.text(max_size=8),
    strategies.sampled_from([
        *('x86_64', 'aarch64', 'avx2', 'aes', 'Intel', 'uefi', '10de', '030200', 'on', 'CUSTOM_A', 'network', 'cpu'),
        *('{inventory[cpu]}', '{inventory[disks][0]}', '{node.name}', '{item}', '{item[name]}', '{plugin_data[data]}'),
        *('a.b', 'extra/a', 'a{{', '{', '.*', '(', '!!'),
    ]),
)  # fmt: skip
LEAVES = strategies.one_of(strategies.none(), strategies.booleans(), strategies.integers(), strategies.floats(), TEXTS)
VALUES = strategies.recursive(
    LEAVES,
    lambda inner: strategies.lists(inner, max_size=4) | strategies.dictionaries(KEYS, inner, max_size=5),
    max_leaves=15,
)


def part(operators, *more):
    """A condition or an action. Its arguments have the right names and any values."""
    names = strategies.sampled_from(sorted(operators))
    return names.flatmap(
        lambda op: strategies.fixed_dictionaries(
            {
                'op': strategies.sampled_from([op, f'!{op}']) if more else strategies.just(op),
                'args': strategies.fixed_dictionaries(
                    dict.fromkeys(operators[op].required, VALUES),
                    optional=dict.fromkeys(operators[op].optional, VALUES),
                ),
            },
            optional={'loop': VALUES} | dict.fromkeys(more, strategies.sampled_from(['any', 'all', 'last'])),
        )
    )


CONDITIONS = part(rule_conditions.OPERATORS, 'multiple')
#: Add the names of maps, because random values seldom match one.
ACTIONS = part(rule_actions.OPERATORS) | strategies.sampled_from(sorted(fact_maps.MAPS)).map(
    lambda name: {'op': 'add-traits', 'args': {'map': name}}
)
RULES = strategies.fixed_dictionaries(
    {'actions': strategies.lists(ACTIONS, min_size=1, max_size=3)},
    optional={'conditions': strategies.lists(CONDITIONS, max_size=2), 'sensitive': strategies.booleans()},
)
DOCUMENTS = strategies.fixed_dictionaries(
    {'inventory': strategies.dictionaries(KEYS, VALUES, max_size=6)},
    optional={'plugin_data': strategies.dictionaries(KEYS, VALUES, max_size=4), 'data': VALUES, 'pci_devices': VALUES},
)
MANY = hypothesis.settings(derandomize=True, max_examples=400, suppress_health_check=list(hypothesis.HealthCheck))


@hypothesis.given(RULES, DOCUMENTS, strategies.dictionaries(KEYS, VALUES, max_size=3))
@MANY
def test_rules_on_inventories(document, inventory, node):
    rules = []
    with contextlib.suppress(InvalidRules):
        rules = [inspection_rules.rule(document)]
    try:
        found = evaluation.facts_of(inventory, node)
    except InvalidInventory:
        return
    result = evaluation.evaluate([*rules, *inspection_rules.standard()], found)
    assert all(traits.is_trait(name) for name in result.traits)
    assert len(result.traits) <= evaluation.MAX_TRAITS
    for each in result.results:
        assert each.failure is None or (each.failure and not each.traits)


@hypothesis.given(VALUES)
@MANY
def test_anything_as_a_document(document):
    for read, error in ((inspection_rules.parse, InvalidRules), (evaluation.facts_of, InvalidInventory)):
        with contextlib.suppress(error):
            read(document)
    inspector_rules.convert(document)


OLD_CONDITIONS = strategies.fixed_dictionaries(
    {'op': strategies.sampled_from(['eq', 'ne', 'is-empty', 'matches', 'in-net', 'x']), 'field': TEXTS},
    optional={'value': VALUES, 'multiple': TEXTS, 'invert': strategies.booleans()},
)
OLD_ACTIONS = strategies.fixed_dictionaries(
    {'action': strategies.sampled_from(['add-trait', 'set-attribute', 'fail', 'x'])},
    optional={'name': VALUES, 'path': VALUES, 'value': VALUES, 'message': VALUES},
)


@hypothesis.given(strategies.lists(strategies.fixed_dictionaries({
    'conditions': strategies.lists(OLD_CONDITIONS, max_size=2), 'actions': strategies.lists(OLD_ACTIONS, max_size=2),
}), max_size=3))  # fmt: skip
@MANY
def test_rules_of_inspector(documents):
    """Converted rules are valid."""
    conversion = inspector_rules.convert(documents)
    assert len(inspection_rules.parse(conversion.rules)) + len(conversion.problems) == len(documents)
