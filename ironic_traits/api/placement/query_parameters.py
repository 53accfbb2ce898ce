"""Parsing of query parameters of the Placement API: traits, aggregates, resources."""

import re

from oslo_utils import uuidutils

from ironic_traits.api.placement.schemas import MAX_INTEGER
from ironic_traits.placement import failures

#: The minor versions that brought forbidden traits, and ``in:`` (one of several traits).
FORBIDDEN_SINCE = 22
ANY_SINCE = 39
#: The minor versions that brought repeated ``member_of``, and forbidden aggregates.
MEMBER_OF_REPEATED_SINCE = 24
NOT_MEMBER_OF_SINCE = 32

#: Maximum number of names in one parameter, including its repetitions. With more, databases take long to plan queries.
MAX_NAMES = 100

_INVALID = 'Invalid query string parameters: '
_INTEGER = re.compile(r'-?[0-9]+')
_DIGITS = len(str(MAX_INTEGER))


def required(name: str, values: list[str], minor: int) -> tuple[list[set[str]], set[str]]:
    """Parse a parameter of traits: ``A,!B`` (A, and not B) or ``in:A,B`` (A or B). All repetitions apply together.

    :param minor: the version. Before 1.39, only the last repetition counts.
    :returns: (sets of traits, one trait of each being required: [{trait, …}, …]; forbidden traits: {trait, …}).
    :raises failures.BadRequest: a value is malformed, or a trait is both required and forbidden.
    """
    required_sets: list[set[str]] = []
    forbidden: set[str] = set()
    _check_count(name, values)
    for value in values if minor >= ANY_SINCE else values[-1:]:
        if value.startswith('in:'):
            required_sets.append(_one_of(name, value, minor))
        else:
            names = [each.strip() for each in value.split(',')]
            required_sets += [{each} for each in names if not each.startswith('!')]
            forbidden |= {each[1:] for each in names if each.startswith('!')}
            _check_names(name, value, minor, {each.removeprefix('!') for each in names}, forbidden)
    conflicts = [', '.join(sorted(names)) for names in required_sets if names <= forbidden]
    if conflicts:
        keys = ', '.join(sorted(f'{name}: ({names})' for names in conflicts))
        raise failures.ConflictingTraits(keys=keys, names=', '.join(conflicts))
    return required_sets, forbidden


def member_of(name: str, values: list[str], minor: int) -> tuple[list[set[str]], set[str]]:
    """Parse a parameter of aggregates: ``A``, ``in:A,B`` (A or B), ``!A`` (not A) or ``!in:A,B`` (neither A nor B).

    :param values: its values, one for each repetition. All of them apply together.
    :returns: (sets of aggregates, one of each being required: [{uuid, …}, …]; forbidden aggregates: {uuid, …}).
    :raises failures.BadRequest: a value is malformed, or needs a later version.
    """
    if len(values) > 1 and minor < MEMBER_OF_REPEATED_SINCE:
        raise failures.BadRequest(reason=f'Multiple {name} parameters are not supported')
    required_sets: list[set[str]] = []
    forbidden: set[str] = set()
    _check_count(name, values)
    for value in values:
        positive = value.removeprefix('!')
        if ',' in value and not positive.startswith('in:'):
            raise failures.BadRequest(
                reason="Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword using the "
                f'valid microversion. Got: {value}'
            )
        uuids = _uuids('member_of', positive.removeprefix('in:').split(','))
        if positive == value:
            required_sets.append(uuids)
        elif minor < NOT_MEMBER_OF_SINCE:
            raise failures.BadRequest(
                reason=f'Forbidden {name} parameters are not supported in the specified microversion'
            )
        else:
            forbidden |= uuids
    return required_sets, forbidden


def resources(value: str) -> dict[str, int]:
    """Parse a parameter of resources: ``VCPU:2,MEMORY_MB:1024``.

    :returns: {resource class: amount}.
    :raises failures.BadRequest: it is not well-formed.
    """
    form = (
        'Badly formed resources parameter. Expected resources query string parameter in form: '
        '?resources=VCPU:2,MEMORY_MB:1024. Got: '
    )
    if not value.strip():
        raise failures.BadRequest(reason=f'{form}empty string.')
    _check_count('resources', [value])
    amounts = {}
    for item in value.split(','):
        name, colon, text = item.partition(':')
        if not colon or ':' in text:
            raise failures.BadRequest(reason=f'{form}{item}.')
        if not _INTEGER.fullmatch(text.strip()):
            raise failures.BadRequest(
                reason=f'Requested resource {name} expected positive integer amount. Got: {text}.'
            )
        # No inventory is larger than MAX_INTEGER, and databases cannot compare integers of any size. So larger amounts
        # become MAX_INTEGER + 1, which no provider has either.
        amount = int(text) if len(text.strip()) <= _DIGITS else MAX_INTEGER + 1
        if amount < 1:
            raise failures.BadRequest(reason=f'Requested resource {name} requires amount >= 1. Got: {amount}.')
        amounts[name] = min(amount, MAX_INTEGER + 1)
    return amounts


def _check_count(name: str, values: list[str]) -> None:
    if sum(value.count(',') + 1 for value in values) > MAX_NAMES:
        raise failures.BadRequest(reason=f'{_INVALID}{name} may have at most {MAX_NAMES} items.')


def _one_of(name: str, value: str, minor: int) -> set[str]:
    example = 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC'
    if minor < ANY_SINCE:
        raise failures.BadRequest(
            reason=f"{_INVALID}The format '{example}' only supported since microversion 1.39. Got: {value}"
        )
    names = {each.strip() for each in value.removeprefix('in:').split(',')}
    if '' in names:
        raise failures.BadRequest(
            reason=f"{_INVALID}Expected '{name}' parameter value of the form: {example}. Got an empty trait in: {value}"
        )
    if any(each.startswith('!') for each in names):
        raise failures.BadRequest(
            reason=f"{_INVALID}The format '{example}' does not support forbidden traits. Got: {value}"
        )
    return names


def _check_names(name: str, value: str, minor: int, names: set[str], forbidden: set[str]) -> None:
    can_forbid = minor >= FORBIDDEN_SINCE
    form = f"Expected '{name}' parameter value of the form: HW_CPU_X86_VMX,{'!' if can_forbid else ''}CUSTOM_MAGIC."
    if '' in names:
        raise failures.BadRequest(reason=f'{_INVALID}{form} Got an empty trait in: {value}')
    if (forbidden and not can_forbid) or any(each.startswith('!') for each in names):
        raise failures.BadRequest(reason=f'{_INVALID}{form} Got: {value}')


def _uuids(name: str, values: list[str]) -> set[str]:
    for value in values:
        if not uuidutils.is_uuid_like(value):
            raise failures.BadRequest(
                reason=f"{_INVALID}Expected '{name}' parameter to contain valid UUID(s). Got: {value}"
            )
    return set(values)
