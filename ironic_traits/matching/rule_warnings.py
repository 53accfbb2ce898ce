"""Warnings about inspection rules that are valid, but probably do not do what their author meant."""

from collections.abc import Iterator
from typing import Any

from ironic_traits.matching import rule_values
from ironic_traits.matching.inspection_rules import Rule
from ironic_traits.matching.rule_conditions import Condition

#: Facts that are lists, in what ramdisks send.
_LISTS = {
    'inventory[cpu][flags]',
    'inventory[disks]',
    'inventory[interfaces]',
    'plugin_data[pci_devices]',
}


#: What rules compare a fact with to ask whether it is known.
_EMPTY: tuple[Any, ...] = (None, '', 'None', 'null', [], {})


def warnings(rule: Rule) -> list[str]:
    """Return a sentence for each condition of a rule that searches the text of a list, or asks for an empty value."""
    return [f'{place}: {sentence}' for place, condition in _conditions(rule) for sentence in _sentences(condition)]


def _sentences(condition: Condition) -> Iterator[str]:
    if condition.op == 'contains' and (fact := _list(condition)):
        yield f'contains searches the text of the list {fact}, and also matches within a word. Use has'
    values = condition.args.get('values')
    if not condition.is_inverted and isinstance(values, list) and any(each in _EMPTY for each in values):
        yield f'{condition.op} is not met by a fact that is null, missing or empty. Use is-empty'


def _conditions(rule: Rule) -> Iterator[tuple[str, Condition]]:
    """Generate (place, condition) of a rule, with the conditions that its actions expect."""
    for number, condition in enumerate(rule.conditions, 1):
        yield f'condition {number}', condition
    for number, action in enumerate(rule.actions, 1):
        for condition in action.conditions:
            yield f'action {number} ({action.op})', condition


def _list(condition: Condition) -> str:
    """Return the reference in a condition if it refers to a list; '' otherwise."""
    value = condition.args['value']
    parts = rule_values.parse(value) if isinstance(value, str) else ()
    reference = str(parts[0]) if len(parts) == 1 else ''
    return reference if reference in _LISTS else ''
