"""Checks the parts of inspection rules against the grammar (``inspection_rules``)."""

import dataclasses
import re
from collections.abc import Collection, Mapping
from typing import Any

from oslo_utils import strutils

from ironic_traits import spelling
from ironic_traits.matching import fact_maps
from ironic_traits.matching.rules import rule_actions, rule_conditions, rule_values
from ironic_traits.matching.rules.regular_expressions import InvalidExpression, compiled
from ironic_traits.matching.rules.rule_actions import Action, ActionFailed
from ironic_traits.matching.rules.rule_changes import InvalidPath, path_of
from ironic_traits.matching.rules.rule_conditions import Condition, Operator
from ironic_traits.matching.rules.rule_values import InvalidTemplate

#: The keys of a rule.
KEYS = {'actions', 'conditions', 'description', 'name', 'phase', 'priority', 'sensitive', 'uuid'}
#: Maximum number of conditions, and of actions, of a rule.
MAX_PARTS = 100
MAX_DESCRIPTION, MAX_PRIORITY = 255, 9999
PHASES = ('main',)
#: Arguments that are true or false.
_FLAGS = ('force_strings', 'format', 'normalize', 'unique', 'versions')
#: A reference as an expression that matches its text: in Ironic, the text of a reference to an unknown fact stays.
_GUARD = re.compile(r'\{(node\.|inventory\[|plugin_data\[|item\[)')


class RuleChecker:
    """Checks the parts of a rule, and collects their problems.

    :ivar problems: [sentence, …].
    """

    def __init__(self) -> None:
        self.problems: list[str] = []

    def fields(self, document: Mapping[str, Any], is_built_in: bool) -> None:
        """Check everything but conditions and actions."""
        self._check_keys(document, KEYS, 'unknown keys:')
        priority = as_number(document.get('priority', 0))
        if not isinstance(priority, int) or isinstance(priority, bool):
            self.problems.append(f'priority {rule_values.shown(priority)} is not an integer')
        elif not is_built_in and not 0 <= priority <= MAX_PRIORITY:
            self.problems.append(f'priority {priority} is not between 0 and {MAX_PRIORITY}')
        if (document.get('phase') or PHASES[0]) not in PHASES:
            self.problems.append(f'phase {rule_values.shown(document["phase"])} is not main')
        if not isinstance(as_boolean(document.get('sensitive') or False), bool):
            self.problems.append('sensitive is neither true nor false')
        description = document.get('description') or ''
        if not isinstance(description, str) or len(description) > MAX_DESCRIPTION:
            self.problems.append(f'the description is not text of at most {MAX_DESCRIPTION} characters')

    def conditions(self, items: Any, where: str = 'condition', in_loop: bool = False) -> tuple[Condition, ...]:
        """Check conditions, and return those that are valid.

        :param in_loop: whether they belong to an action with a loop, and may refer to its item.
        """
        result = []
        for number, item in self._items(items, where):
            place = f'{where} {number}'
            op = item['op'].strip()
            name = op.removeprefix('!').strip()
            operator = rule_conditions.OPERATORS.get(name)
            multiple = item.get('multiple') or 'any'
            if operator is None:
                self._unknown(place, name, rule_conditions.OPERATORS)
                continue
            if multiple not in rule_conditions.MULTIPLE:
                self.problems.append(f'{place}: multiple is one of {", ".join(rule_conditions.MULTIPLE)}')
            args = self._args(place, item, operator)
            loop = self._loop(place, item, in_loop)
            self._condition_args(f'{place} ({name})', args, in_loop or loop is not None)
            result.append(Condition(name, args, op.startswith('!'), loop, multiple))
        return tuple(result)

    def actions(self, items: Any) -> tuple[Action, ...]:
        """Check actions, and return those that are valid."""
        if not items:
            self.problems.append('it has no actions')
        result = []
        for number, item in self._items(items or [], 'action'):
            place, op = f'action {number}', item['op'].strip()
            operator = rule_actions.OPERATORS.get(op)
            if operator is None:
                self._unknown(place, op, rule_actions.OPERATORS)
                continue
            action = Action(op, self._args(place, item, operator), self._loop(place, item))
            place = f'{place} ({op})'
            if op == 'expect':
                conditions = self.conditions(
                    action.args.get('conditions'), f'{place}, condition', action.loop is not None
                )
                if not conditions:
                    self.problems.append(f'{place}: conditions are a list of at least one')
                action = dataclasses.replace(action, conditions=conditions)
            self._action_args(place, action)
            result.append(action)
        return tuple(result)

    def _items(self, items: Any, what: str) -> list[tuple[int, dict[str, Any]]]:
        """Return the parts of a list that have the form of a condition or an action, with their numbers."""
        if not isinstance(items, list) or len(items) > MAX_PARTS:
            self.problems.append(f'{what}s are a list of at most {MAX_PARTS}')
            return []
        result = []
        for number, item in enumerate(items, 1):
            if isinstance(item, dict) and isinstance(item.get('op'), str) and isinstance(item.get('args'), dict | list):
                result.append((number, item))
                keys = ('op', 'args', 'loop', *(('multiple',) if 'condition' in what else ()))
                self._check_keys(item, keys, f'{what} {number}: unknown keys:')
            else:
                self.problems.append(f'{what} {number} is not an object with "op" and "args"')
        return result

    def _check_keys(self, item: Mapping[str, Any], names: Collection[str], problem: str) -> None:
        """Add a problem if an item has other keys than these."""
        if unknown := sorted(str(key)[:100] for key in item if key not in names):
            hint = spelling.hint(unknown, names)
            self.problems.append(f'{problem} {", ".join(unknown)}{hint and "."}{hint}')

    def _unknown(self, place: str, op: str, operators: Mapping[str, Operator]) -> None:
        hint = spelling.hint(op, operators)
        self.problems.append(f'{place}: {op[:100]!r} is not one of {", ".join(operators)}{hint and "."}{hint}')

    def _args(self, place: str, item: Mapping[str, Any], operator: Operator) -> dict[str, Any]:
        """Return the arguments as an object; a list has them in their order."""
        names, args = (*operator.required, *operator.optional), item['args']
        if isinstance(args, list):
            if len(args) > len(names):
                self.problems.append(f'{place}: {item["op"]} takes at most {len(names)} arguments')
            args = dict(zip(names, args, strict=False))
        if missing := [name for name in operator.required if name not in args]:
            self.problems.append(f'{place}: {item["op"]} needs {", ".join(missing)}')
        self._check_keys(args, names, f'{place}: {item["op"]} does not take')
        return {name: as_boolean(value) if name in _FLAGS else value for name, value in args.items() if name in names}

    def _loop(self, place: str, item: Mapping[str, Any], in_loop: bool = False) -> Any:
        """Return the loop of a part; None if it has no loop. As in the real service, an empty loop is no loop."""
        loop = item.get('loop') or None
        if loop is not None and not isinstance(loop, list | dict) and not rule_values.has_references(_tolerant(loop)):
            self.problems.append(f'{place}: loop is neither a list nor an object nor a reference to one')
        if loop is not None:
            self._templates(place, loop, in_loop)
        return loop

    def _templates(self, place: str, value: Any, in_loop: bool) -> bool:
        """Whether the templates in a value follow the grammar."""
        try:
            rule_values.check(value, in_loop)
        except InvalidTemplate as error:
            self.problems.append(f'{place}: {error}')
            return False
        return True

    def _condition_args(self, place: str, args: Mapping[str, Any], in_loop: bool) -> None:
        for name, value in args.items():
            if name in _FLAGS and not isinstance(value, bool):
                self.problems.append(f'{place}: {name} is neither true nor false')
            elif name != 'regex':
                self._templates(place, value, in_loop)
            elif not isinstance(value, str):
                self.problems.append(f'{place}: regex is not text')
            elif _GUARD.search(value.replace('\\', '')) and not (
                in_loop and rule_values.has_references(_tolerant(value))
            ):
                self.problems.append(
                    f'{place}: the expression has the form of a reference. To ask whether a fact is known, use is-empty'
                )
            elif in_loop and '{item' in value:
                self._templates(place, value, in_loop)
            else:
                try:
                    compiled(value)
                except InvalidExpression as error:
                    self.problems.append(f'{place}: {error}')
            if name == 'values' and not isinstance(value, list) and not rule_values.has_references(_tolerant(value)):
                self.problems.append(f'{place}: values is not a list')

    def _action_args(self, place: str, action: Action) -> None:
        args, in_loop = action.args, action.loop is not None
        is_formatted = rule_actions.is_formatted(action)
        for name, value in args.items():
            if name in ('name', 'names') and action.op in rule_actions.TRAIT_ACTIONS:
                if not is_formatted or self._templates(place, value, in_loop):
                    self._names(place, value, is_formatted, bool(args.get('normalize')))
            elif name != 'conditions':
                self._templates(place, value, in_loop)
            if name in _FLAGS and not isinstance(value, bool):
                self.problems.append(f'{place}: {name} is neither true nor false')
        self._special(place, action)

    def _special(self, place: str, action: Action) -> None:
        """Check what only some actions have."""
        args = action.args
        if action.op == 'add-traits':
            self._add_traits(place, args)
        elif action.op == 'log' and str(args.get('level', 'info')).lower() not in rule_actions.LEVELS:
            self.problems.append(f'{place}: level is one of {", ".join(rule_actions.LEVELS)}')
        elif action.op == 'api-call':
            self.problems.append(f'{place} is not supported: rules do not send requests')
        if 'path' in args and not rule_values.has_references(_tolerant(args['path'])):
            try:
                # A field that rules cannot change is a warning (``rule_warnings``): Ironic takes such a rule.
                path_of(args['path'])
            except InvalidPath as error:
                self.problems.append(f'{place}: {error}')

    def _add_traits(self, place: str, args: Mapping[str, Any]) -> None:
        if ('map' in args) == ('names' in args):
            self.problems.append(f'{place} needs either map or names')
        elif 'map' in args and not (isinstance(args['map'], str) and args['map'] in fact_maps.MAPS):
            self.problems.append(f'{place}: {rule_values.shown(args["map"])} is not one of {", ".join(fact_maps.MAPS)}')

    def _names(self, place: str, value: Any, is_formatted: bool, normalize: bool) -> None:
        """Check the names of traits that are constant."""
        for name in value if isinstance(value, list) else [value]:
            if is_formatted and rule_values.has_references(_tolerant(name)):
                continue
            try:
                rule_actions.trait_name(name, normalize)
            except ActionFailed as error:
                hint = '. Add "format: true" to use a template' if not is_formatted and '{' in str(name) else ''
                self.problems.append(f'{place}: {error}{hint}')


def as_boolean(value: Any) -> Any:
    """Return a value, with true or false for a word that means it, as in the API. Files often have it in quotes."""
    try:
        return strutils.bool_from_string(value, strict=True) if isinstance(value, str) else value
    except ValueError:
        return value


def as_number(value: Any) -> Any:
    """Return a value, with an integer for the text of one."""
    return int(value) if isinstance(value, str) and re.fullmatch('[0-9]{1,9}', value) else value


def _tolerant(value: Any) -> Any:
    """Return a value; None for an invalid template, whose problem is named elsewhere."""
    try:
        rule_values.check(value, in_loop=True)
    except InvalidTemplate:
        return None
    return value
