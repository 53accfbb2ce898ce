"""The grammar of inspection rules: that of the Bare Metal API 1.96, and what this service adds.

Added are the key ``name``, the conditions ``ge``, ``has`` and ``le``, the actions ``add-traits`` and ``expect``, the
arguments ``format`` and ``normalize`` of actions on traits, loops over a fact (``loop: "{inventory[disks]}"``), and the
key of an item (``{item.key}``).
"""

import dataclasses
import functools
import importlib.resources
import re
from collections.abc import Sequence
from typing import Any

import yaml

from ironic_traits.matching.rules.rule_actions import Action
from ironic_traits.matching.rules.rule_checker import RuleChecker, as_boolean, as_number
from ironic_traits.matching.rules.rule_conditions import Condition

#: Maximum number of rules of a list, of characters of a rule, and of levels of nesting in a rule.
MAX_RULES, MAX_SIZE, MAX_DEPTH = 1000, 65_536, 12
#: The name of a rule is a part of the name of its source, rule:NAME, which has at most 64 characters.
_NAME = re.compile(r'[A-Za-z0-9._-]{1,59}')


class InvalidRules(ValueError):
    """Rules that do not follow the grammar.

    :ivar problems: [sentence, …].
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__('; '.join(problems))
        self.problems = list(problems)


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule that has been validated.

    :ivar priority: rules with a higher one run first.
    :ivar is_sensitive: whether it sees secrets, and its values are not shown.
    """

    name: str
    actions: tuple[Action, ...]
    conditions: tuple[Condition, ...] = ()
    priority: int = 0
    is_sensitive: bool = False
    description: str = ''


def parse(document: Any, prefix: str = '', is_built_in: bool = False) -> list[Rule]:
    """Return the rules of a document: a list, or an object with the key ``inspection_rules``, as the API answers.

    :param prefix: begins the names of all rules.
    :param is_built_in: whether negative priorities and those above 9999 are allowed.
    :raises InvalidRules: it does not follow the grammar. All problems are named.
    """
    items = document.get('inspection_rules') if isinstance(document, dict) else document
    if not isinstance(items, list):
        raise InvalidRules(['Rules are a list'])
    if len(items) > MAX_RULES:
        raise InvalidRules([f'There are {len(items)} rules, more than {MAX_RULES}'])
    rules, problems = [], []
    for number, item in enumerate(items, 1):
        try:
            rules.append(rule(item, prefix, str(number), is_built_in))
        except InvalidRules as error:
            name = item.get('name') if isinstance(item, dict) and isinstance(item.get('name'), str) else number
            problems += [f'rule {name}: {problem}' for problem in error.problems]
    names = [each.name for each in rules]
    problems += [
        f'{names.count(name)} rules have the name {name}' for name in sorted(set(names)) if names.count(name) > 1
    ]
    if problems:
        raise InvalidRules(problems)
    return rules


def rule(document: Any, prefix: str = '', default_name: str = 'rule', is_built_in: bool = False) -> Rule:
    """Return the rule of a document.

    :param default_name: its name, if it has neither a name nor a uuid.
    :raises InvalidRules: it does not follow the grammar. All problems are named.
    """
    if not isinstance(document, dict):
        raise InvalidRules(['it is not an object'])
    if not _is_small(document):
        raise InvalidRules([f'it has more than {MAX_SIZE} characters, or is nested deeper than {MAX_DEPTH}'])
    checker = RuleChecker()
    checker.fields(document, is_built_in)
    name = prefix + str(document.get('name') or document.get('uuid') or default_name)
    if not _NAME.fullmatch(name):
        checker.problems.append(
            f'its name {name[:100]!r} is not 1 to 59 letters, digits, dots, hyphens and underscores'
        )
    conditions = checker.conditions(document.get('conditions') or [])
    actions = checker.actions(document.get('actions'))
    if checker.problems:
        raise InvalidRules(checker.problems)
    is_sensitive, description = bool(as_boolean(document.get('sensitive'))), document.get('description') or ''
    return Rule(name, actions, conditions, as_number(document.get('priority') or 0), is_sensitive, description)


def _is_small(document: Any) -> bool:
    """Whether a document stays within the limits of a rule. It takes bounded time for any document."""
    size, level = 0, [document]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for value in level:
            size += len(value) if isinstance(value, str) else 2
            if size + len(below) > MAX_SIZE:
                return False
            if isinstance(value, dict | list):
                below += [*value, *value.values()] if isinstance(value, dict) else value
        level = below
    return not level


@functools.cache
def standard() -> tuple[Rule, ...]:
    """Return the rules that ship with this package: they give the traits of the processor, the disks and the NICs."""
    text = importlib.resources.files('ironic_traits.matching').joinpath('standard.yaml').read_text('utf-8')
    return tuple(parse(yaml.safe_load(text), 'standard.', is_built_in=True))
