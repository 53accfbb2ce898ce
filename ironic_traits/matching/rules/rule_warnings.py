"""Warnings about inspection rules that are valid, but probably do not do what their author meant."""

from collections.abc import Iterator
from typing import Any

from ironic_traits.matching.rules import rule_values
from ironic_traits.matching.rules.inspection_rules import Rule
from ironic_traits.matching.rules.rule_actions import Action
from ironic_traits.matching.rules.rule_changes import InvalidPath, node_path
from ironic_traits.matching.rules.rule_conditions import Condition

#: Facts that are lists, in what ramdisks send.
_LISTS = {
    'inventory[cpu][flags]',
    'inventory[disks]',
    'inventory[interfaces]',
    'plugin_data[pci_devices]',
}


#: Actions whose path is one of a node.
_NODE_ACTIONS = ('set-attribute', 'extend-attribute', 'del-attribute')
#: What rules compare a fact with to ask whether it is known.
_EMPTY: tuple[Any, ...] = (None, '', 'None', 'null', [], {})


def warnings(rule: Rule) -> list[str]:
    """Return a sentence for each doubtful part of a rule.

    Doubtful are conditions that search the text of a list, or ask for an empty value, and actions that fail on each
    node.
    """
    of_conditions = [
        f'{place}: {sentence}' for place, condition in _conditions(rule) for sentence in _sentences(condition)
    ]
    return of_conditions + failing(rule)


def failing(rule: Rule) -> list[str]:
    """Return a sentence for each action of a rule that changes a field of the node that rules cannot change."""
    return [
        f'action {number} ({action.op}) fails on each node: {error}'
        for number, action in enumerate(rule.actions, 1)
        if (error := _invalid_path(action))
    ]


def _invalid_path(action: Action) -> str:
    """Return why an action cannot change the field that it names; '' if it can, or if its path has references."""
    path = action.args.get('path', '')
    if action.op in _NODE_ACTIONS and not (isinstance(path, str) and '{' in path):
        try:
            node_path(path)
        except InvalidPath as error:
            return str(error)
    return ''


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
