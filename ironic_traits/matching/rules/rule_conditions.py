"""The conditions of inspection rules.

A condition on a fact that is not known is not met, and neither is its negation. Only ``is-none`` and ``is-empty`` ask
whether it is known. A condition that compares what has no order, or what is no address, is not met in the same way.
"""

import dataclasses
import ipaddress
import itertools
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from ironic_traits.matching.rules import regular_expressions, rule_values
from ironic_traits.matching.rules.regular_expressions import InvalidExpression
from ironic_traits.matching.rules.rule_values import TemplateScope, Unknown, Unusable, is_unknown, shown

#: Maximum number of items of a loop.
MAX_ITEMS = 1000
_NUMBER = re.compile(r'[+-]?[0-9]{1,400}(\.[0-9]{1,400})?')
#: The numbers and words of a version, without the v in front of a number.
_PARTS = re.compile(r'[0-9]+|(?!v[0-9])[a-z]+')
_MAX_VERSION = 200
#: How the results of a loop count.
MULTIPLE = ('any', 'all', 'first', 'last')


@dataclasses.dataclass(frozen=True)
class Condition:
    """A condition that has been validated.

    :ivar op: its operator, without the exclamation mark.
    :ivar is_inverted: whether it had one.
    :ivar loop: the items of its loop, or a template of them; None for no loop.
    """

    op: str
    args: Mapping[str, Any]
    is_inverted: bool = False
    loop: Any = None
    multiple: str = 'any'


@dataclasses.dataclass(frozen=True)
class ConditionResult:
    """Whether a condition is met.

    :ivar reason: the condition with its values, for messages.
    :ivar warnings: [sentence, …].
    """

    is_met: bool
    reason: str
    warnings: tuple[str, ...] = ()


def check(condition: Condition, scope: TemplateScope) -> ConditionResult:
    """Check a condition.

    :raises Unusable: it cannot be checked in reasonable time, or has no items where it needs some.
    """
    if condition.loop is None:
        return _check_one(condition, scope)
    try:
        scopes = item_scopes(condition.loop, scope)
    except Unknown as unknown:
        # No item meets a condition, so "all" is not met, either: a node without disks has no NVMe disks.
        return ConditionResult(False, f'the loop of {condition.op} has no items: {unknown}')
    results = []
    for each in scopes:
        results.append(_check_one(condition, each))
        if results[-1].is_met and condition.multiple in ('any', 'first'):
            break
    # As in the real service, "first" means that the first item that meets the condition ends the loop.
    decisive = {'all': next((result for result in results if not result.is_met), results[-1])}
    return decisive.get(condition.multiple, results[-1])


def item_scopes(loop: Any, scope: TemplateScope) -> list[TemplateScope]:
    """Return the scope of each item of a loop: at least one.

    The items of an object among the facts are its values. An object that the rule itself contains is one item, as in
    the real service, and so are the members of a list that it contains: those with unknown facts are unknown.

    :raises Unknown: the loop is a reference to a fact that is not known.
    :raises Unusable: it has too many items, or is neither a list nor an object.
    """
    if not isinstance(loop, str):
        return [
            dataclasses.replace(scope, item=_item(each, scope))
            for each in _some([loop] if isinstance(loop, dict) else loop)
        ]
    items = _some(rule_values.expand(loop, scope))
    if isinstance(items, dict):
        return [dataclasses.replace(scope, item=item, key=key) for key, item in items.items()]
    return [dataclasses.replace(scope, item=item) for item in items]


def _some(items: Any) -> Any:
    if not isinstance(items, list | dict):
        raise Unusable(f'the loop is over {shown(items)}, which is neither a list nor an object')
    if len(items) > MAX_ITEMS:
        raise Unusable(f'the loop has {len(items)} items, more than {MAX_ITEMS}')
    return items


def _item(value: Any, scope: TemplateScope) -> Any:
    """Return an item of a loop that a rule contains, with None for each text whose facts are not known."""
    if isinstance(value, dict):
        return {key: _item(each, scope) for key, each in value.items()}
    if isinstance(value, list):
        return [_item(each, scope) for each in value]
    try:
        return rule_values.expand(value, scope)
    except Unknown:
        return None


def _check_one(condition: Condition, scope: TemplateScope) -> ConditionResult:
    scope.spend(rule_values.STEP)
    is_inverted, warnings = condition.is_inverted, ()
    try:
        values = {name: _expand(condition, name, value, scope) for name, value in condition.args.items()}
        is_met, warnings = OPERATORS[condition.op].function(scope, **values)
        is_met = is_met != is_inverted
        reason = ', '.join(f'{key}: {shown(each)}' for key, each in values.items())
    except Unknown as unknown:
        is_met, reason = condition.op in _OF_UNKNOWN and not is_inverted, str(unknown)
    return ConditionResult(is_met, f'{"!" * is_inverted}{condition.op} ({reason})', warnings)


def _expand(condition: Condition, name: str, value: Any, scope: TemplateScope) -> Any:
    if name == 'regex' and not (condition.loop is not None and '{item' in value):
        # Expressions have braces of their own. Only loops put items into them.
        return value
    result = rule_values.expand(value, scope)
    if condition.op == 'eq' and isinstance(value, str) and isinstance(result, list) and any(map(is_unknown, result)):
        # The facts are compared with each other.
        raise Unknown(f'a value of {value} is not known')
    return result


#: Whether a condition is met, and its warnings.
_Outcome = tuple[bool, tuple[str, ...]]


def _values(values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise Unusable(f'{shown(values)} is not a list of values')
    return values


def _equal(scope: TemplateScope, values: Any, force_strings: bool = False) -> _Outcome:
    if force_strings:
        values = [rule_values.as_text(value) for value in _values(values)]
    return all(_same(*pair) for pair in itertools.pairwise(_values(values))), ()


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[..., _Outcome]:
    """Return an operator that orders numbers, also if they are text, or versions. Nothing else has an order."""

    def function(scope: TemplateScope, values: Any, force_strings: bool = False, versions: bool = False) -> _Outcome:
        read: Callable[[Any], Any] = _version if versions else _number
        ordered = [read(value) for value in _values(values)]
        if None in ordered:
            kind = 'version' if versions else 'number'
            raise Unknown(f'{shown(values[ordered.index(None)])} is not a {kind}')
        try:
            return all(compare(*pair) for pair in itertools.pairwise(ordered)), ()
        except TypeError:
            raise Unknown(f'{shown(values)} are versions of different forms') from None

    return function


def _comparable(left: Any, right: Any) -> tuple[Any, Any]:
    """Return values of one type unchanged, a number and the text of one as numbers, anything else as text."""
    if type(left) is type(right):
        return left, right
    numbers = _number(left), _number(right)
    if None not in numbers:
        return numbers
    return rule_values.as_text(left), rule_values.as_text(right)


def _number(value: Any) -> float | None:
    """Return a finite number, or the number that is written in a text; None for anything else."""
    if isinstance(value, str):
        # Python also reads 1_000, nan and inf.
        text = value.strip()
        value = (float(text) if '.' in text else int(text)) if _NUMBER.fullmatch(text) else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _version(value: Any) -> tuple[int | str, ...] | None:
    """Return the numbers and words of a version, in their order; None for what is no version.

    A number and a word in the same place have no order: Python raises a TypeError.

    :raises Unusable: it is a fraction. YAML and JSON read 2.10 so, and the zero is lost.
    """
    if isinstance(value, float):
        raise Unusable(f'{value} is a number: versions need quotes')
    text = str(value).lower()[:_MAX_VERSION] if isinstance(value, str) or type(value) is int else ''
    parts = [int(part) if part.isdigit() else part for part in _PARTS.findall(text)]
    if not any(isinstance(part, int) for part in parts):
        return None
    # 2.0 is the same as 2.
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def _same(left: Any, right: Any) -> bool:
    if is_unknown(left) or is_unknown(right):
        return False
    left, right = _comparable(left, right)
    return bool(left == right)


def _is_unknown(scope: TemplateScope, value: Any) -> _Outcome:
    # Programs in Python write the texts for what they do not know.
    return is_unknown(value) or value in ('None', '[]', '{}'), ()


def _is_true(scope: TemplateScope, value: Any) -> _Outcome:
    return (value.lower() in ('yes', 'true') if isinstance(value, str) else value in (True,) or _is_nonzero(value)), ()


def _is_false(scope: TemplateScope, value: Any) -> _Outcome:
    if isinstance(value, str):
        return value.lower() in ('no', 'false'), ()
    return isinstance(value, int | float) and not value, ()


def _is_nonzero(value: Any) -> bool:
    return isinstance(value, int | float) and bool(value)


def _in_net(scope: TemplateScope, address: Any, subnet: Any) -> _Outcome:
    try:
        network = ipaddress.ip_network(str(subnet)[:100], strict=False)
    except ValueError as error:
        raise Unusable(str(error)) from None
    try:
        found = ipaddress.ip_address(str(address)[:100])
    except ValueError as error:
        raise Unknown(str(error)) from None
    if found.is_unspecified:
        # What BMCs without an address say.
        raise Unknown(f'{found} is no address')
    return found in network, ()


def _search(search: Callable[[Any, str], bool]) -> Callable[..., _Outcome]:
    def function(scope: TemplateScope, value: Any, regex: Any) -> _Outcome:
        text = rule_values.as_text(value)
        try:
            expression = regular_expressions.compiled(str(regex))
        except InvalidExpression as error:
            raise Unusable(str(error)) from None
        scope.spend(regular_expressions.cost(expression, text))
        warnings: tuple[str, ...] = ()
        if isinstance(value, list | dict) and search is regular_expressions.contains:
            kind = 'a list' if isinstance(value, list) else 'an object'
            warnings = (f'contains searches the text of {kind}: {regex} also matches within a word. Use has',)
        return search(expression, text), warnings

    return function


def _one_of(scope: TemplateScope, value: Any, values: Any = ()) -> _Outcome:
    if not isinstance(values, list | tuple):
        raise Unusable(f'{shown(values)} is not a list of values')
    scope.spend(len(values) * 100)
    return any(_same(value, each) for each in values), ()


def _has(scope: TemplateScope, value: Any, member: Any) -> _Outcome:
    if not isinstance(value, list | dict):
        raise Unusable(f'{shown(value)} is neither a list nor an object')
    scope.spend(len(value) * 100)
    return any(_same(each, member) for each in value), ()


@dataclasses.dataclass(frozen=True)
class Operator:
    """What an operator of conditions or actions takes.

    :ivar function: what it does.
    :ivar required: the names of its required arguments, in the order of a list of arguments.
    :ivar optional: the names of the others.
    """

    function: Callable[..., Any]
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


#: The optional arguments of the operators that order values.
_ORDERED = ('force_strings', 'versions')
#: The operators of conditions.
OPERATORS: Mapping[str, Operator] = {
    'eq': Operator(_equal, ('values',), ('force_strings',)),
    'lt': Operator(_ordered(operator.lt), ('values',), _ORDERED),
    'le': Operator(_ordered(operator.le), ('values',), _ORDERED),
    'gt': Operator(_ordered(operator.gt), ('values',), _ORDERED),
    'ge': Operator(_ordered(operator.ge), ('values',), _ORDERED),
    'is-empty': Operator(_is_unknown, ('value',)),
    'in-net': Operator(_in_net, ('address', 'subnet')),
    'matches': Operator(_search(regular_expressions.matches), ('value', 'regex')),
    'contains': Operator(_search(regular_expressions.contains), ('value', 'regex')),
    'one-of': Operator(_one_of, ('value',), ('values',)),
    'is-none': Operator(_is_unknown, ('value',)),
    'is-true': Operator(_is_true, ('value',)),
    'is-false': Operator(_is_false, ('value',)),
    'has': Operator(_has, ('value', 'member')),
}
#: Operators that an unknown fact meets.
_OF_UNKNOWN = ('is-empty', 'is-none')
