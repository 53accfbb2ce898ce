"""The conditions of inspection rules.

A condition on a fact that is missing is not met, and its negation is. ``is-none``, ``is-empty`` and ``is-false`` take a
missing fact for ``null``.
"""

import dataclasses
import ipaddress
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from ironic_traits.matching import regular_expressions, rule_values
from ironic_traits.matching.regular_expressions import InvalidExpression
from ironic_traits.matching.rule_values import Missing, Scope, Unusable, shown

#: Maximum number of items of a loop.
MAX_ITEMS = 1000
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
class Result:
    """Whether a condition is met.

    :ivar reason: the condition with its values, for messages.
    :ivar warnings: [sentence, …].
    """

    is_met: bool
    reason: str
    warnings: tuple[str, ...] = ()


def check(condition: Condition, scope: Scope) -> Result:
    """Check a condition.

    :raises Unusable: it cannot be checked in reasonable time, or has no items where it needs some.
    """
    if condition.loop is None:
        return _check_one(condition, scope)
    try:
        scopes = item_scopes(condition.loop, scope)
    except Missing as missing:
        return Result(condition.multiple == 'all', f'the loop of {condition.op}: {missing} is missing')
    if not scopes:
        return Result(condition.multiple == 'all', f'the loop of {condition.op} has no items')
    results = []
    for each in scopes:
        results.append(_check_one(condition, each))
        if results[-1].is_met and condition.multiple in ('any', 'first'):
            break
    # As in the real service, "first" means that the first item that meets the condition ends the loop.
    decisive = {'all': next((result for result in results if not result.is_met), results[-1])}
    return decisive.get(condition.multiple, results[-1])


def item_scopes(loop: Any, scope: Scope) -> list[Scope]:
    """Return the scope of each item of a loop.

    :raises Missing: the loop is a reference without a value.
    :raises Unusable: it has too many items, or is neither a list nor an object.
    """
    items = rule_values.expand(loop, scope)
    if isinstance(items, dict):
        items = [items]
    if not isinstance(items, list):
        raise Unusable(f'the loop is over {shown(items)}, which is neither a list nor an object')
    if len(items) > MAX_ITEMS:
        raise Unusable(f'the loop has {len(items)} items, more than {MAX_ITEMS}')
    return [dataclasses.replace(scope, item=item) for item in items]


def _check_one(condition: Condition, scope: Scope) -> Result:
    scope.spend(rule_values.STEP)
    values: dict[str, Any] = {}
    missing = None
    for name, value in condition.args.items():
        try:
            # Expressions have braces of their own. Only loops put items into them.
            keep = name == 'regex' and not (condition.loop is not None and '{item' in value)
            values[name] = value if keep else rule_values.expand(value, scope)
        except Missing as error:
            values[name], missing = None, str(error)
    if missing is not None and condition.op not in _NULLABLE:
        is_met, warnings = False, ()
    else:
        is_met, warnings = OPERATORS[condition.op].function(scope, **values)
    reason = f'{missing} is missing' if missing else ', '.join(f'{key}: {shown(each)}' for key, each in values.items())
    return Result(is_met != condition.is_inverted, f'{"!" * condition.is_inverted}{condition.op} ({reason})', warnings)


#: Whether a condition is met, and its warnings.
_Outcome = tuple[bool, tuple[str, ...]]


def _compare(compare: Callable[[Any, Any], bool]) -> Callable[..., _Outcome]:
    def function(scope: Scope, values: Any, force_strings: bool = False) -> _Outcome:
        if not isinstance(values, list):
            raise Unusable(f'{shown(values)} is not a list of values')
        if force_strings:
            values = [rule_values.as_text(value) for value in values]
        pairs = itertools.pairwise(values)
        return all(compare(*(pair if force_strings else _comparable(*pair))) for pair in pairs), ()

    return function


def _comparable(left: Any, right: Any) -> tuple[Any, Any]:
    """Return two values of one type unchanged, a number and the text of one as numbers, anything else as text."""
    if type(left) is type(right):
        return left, right
    numbers = _number(left), _number(right)
    if None not in numbers:
        return numbers
    return rule_values.as_text(left), rule_values.as_text(right)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        # Python also reads 1_000, nan and inf.
        return value if not isinstance(value, str) else float(value) if value.strip('0123456789.-') == '' else None
    except ValueError:
        return None


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def function(left: Any, right: Any) -> bool:
        try:
            return compare(left, right)
        except TypeError:
            raise Unusable(f'{shown(left)} and {shown(right)} have no order') from None

    return function


def _same(left: Any, right: Any) -> bool:
    left, right = _comparable(left, right)
    return bool(left == right)


def _is_empty(scope: Scope, value: Any) -> _Outcome:
    return value in (None, '', [], {}, 'None', '[]', '{}'), ()


def _is_none(scope: Scope, value: Any) -> _Outcome:
    return value is None, ()


def _is_true(scope: Scope, value: Any) -> _Outcome:
    return (value.lower() in ('yes', 'true') if isinstance(value, str) else value in (True,) or _is_nonzero(value)), ()


def _is_false(scope: Scope, value: Any) -> _Outcome:
    if isinstance(value, str):
        return value.lower() in ('no', 'false'), ()
    return value is None or (isinstance(value, int | float) and not value), ()


def _is_nonzero(value: Any) -> bool:
    return isinstance(value, int | float) and bool(value)


def _in_net(scope: Scope, address: Any, subnet: Any) -> _Outcome:
    try:
        return ipaddress.ip_address(str(address)[:100]) in ipaddress.ip_network(str(subnet)[:100], strict=False), ()
    except ValueError as error:
        raise Unusable(str(error)) from None


def _search(search: Callable[[Any, str], bool]) -> Callable[..., _Outcome]:
    def function(scope: Scope, value: Any, regex: Any) -> _Outcome:
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


def _one_of(scope: Scope, value: Any, values: Any = ()) -> _Outcome:
    if not isinstance(values, list | tuple):
        raise Unusable(f'{shown(values)} is not a list of values')
    scope.spend(len(values) * 100)
    return any(_same(value, each) for each in values), ()


def _has(scope: Scope, value: Any, member: Any) -> _Outcome:
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


#: The operators of conditions.
OPERATORS: Mapping[str, Operator] = {
    'eq': Operator(_compare(lambda left, right: bool(left == right)), ('values',), ('force_strings',)),
    'lt': Operator(_compare(_ordered(lambda left, right: left < right)), ('values',), ('force_strings',)),
    'gt': Operator(_compare(_ordered(lambda left, right: left > right)), ('values',), ('force_strings',)),
    'is-empty': Operator(_is_empty, ('value',)),
    'in-net': Operator(_in_net, ('address', 'subnet')),
    'matches': Operator(_search(regular_expressions.matches), ('value', 'regex')),
    'contains': Operator(_search(regular_expressions.contains), ('value', 'regex')),
    'one-of': Operator(_one_of, ('value',), ('values',)),
    'is-none': Operator(_is_none, ('value',)),
    'is-true': Operator(_is_true, ('value',)),
    'is-false': Operator(_is_false, ('value',)),
    'has': Operator(_has, ('value', 'member')),
}
#: Operators that take a missing fact for null.
_NULLABLE = {'is-empty', 'is-none', 'is-false'}
