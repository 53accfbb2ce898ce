"""Which fields of a node inspection rules use: only these are read from the database."""

from collections.abc import Iterable, Iterator
from typing import Any

from ironic_traits.matching.rules import rule_values
from ironic_traits.matching.rules.inspection_rules import Rule
from ironic_traits.matching.rules.rule_actions import Action
from ironic_traits.matching.rules.rule_changes import FIELDS
from ironic_traits.matching.rules.rule_conditions import Condition
from ironic_traits.matching.rules.rule_values import InvalidTemplate, Reference


def fields(rules: Iterable[Rule]) -> frozenset[str]:
    """Return the names of the fields that rules refer to, or may change."""
    return frozenset().union(*map(_of_rule, rules))


def _of_rule(rule: Rule) -> frozenset[str]:
    parts: list[Action | Condition] = [*rule.conditions, *rule.actions]
    parts += [condition for action in rule.actions for condition in action.conditions]
    names = {name for part in parts for value in (part.args, part.loop) for name in _of_value(value)}
    changes = any(action.op.endswith(('-attribute', '-capability')) for action in rule.actions)
    return frozenset(names.union(FIELDS) if changes else names)


def _of_value(value: Any) -> Iterator[str]:
    """Yield the fields that the templates in a value refer to."""
    if isinstance(value, dict):
        for each in value.values():
            yield from _of_value(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _of_value(each)
    elif isinstance(value, str):
        try:
            parts = rule_values.parse(value)
        except InvalidTemplate:
            # Such as a regular expression, which is no template.
            return
        yield from (part.keys[0] for part in parts if isinstance(part, Reference) and part.root == 'node')
