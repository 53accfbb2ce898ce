"""What stands in the query arguments of the Placement API: traits, aggregates, resources."""

import re

from oslo_utils import uuidutils

from ironic_traits.api.placement.schemas import MAX_INTEGER
from ironic_traits.placement import failures

#: The minor versions that brought forbidden traits, and one of several.
FORBIDDEN_SINCE = 22
ANY_SINCE = 39
#: The minor versions that brought ``member_of`` several times, and forbidden aggregates.
MEMBER_OF_REPEATED_SINCE = 24
NOT_MEMBER_OF_SINCE = 32

#: Most traits and most aggregates that one argument, however often it is there, may name: beyond that, databases take
#: long to plan what they are to do.
MOST_NAMES = 100

_INVALID = 'Invalid query string parameters: '
_INTEGER = re.compile(r'-?[0-9]+')
_DIGITS = len(str(MAX_INTEGER))


def required(name, values, minor):
    """Read an argument of traits: ``A,!B`` (A, and not B), ``in:A,B`` (one of them); repeated, all of it holds.

    :param name: of the argument.
    :param values: as often as it is there.
    :param minor: the version; before 1.39 the last of several counts.
    :returns: ([{trait, …}, …] of each of which one is wanted, {trait, …} of which none is).
    :raises failures.BadRequest: it is not well-formed, or wants what it forbids.
    """
    wanted: list[set[str]] = []
    forbidden: set[str] = set()
    _check_count(name, values)
    for value in values if minor >= ANY_SINCE else values[-1:]:
        if value.startswith('in:'):
            wanted.append(_one_of(name, value, minor))
        else:
            names = [each.strip() for each in value.split(',')]
            wanted += [{each} for each in names if not each.startswith('!')]
            forbidden |= {each[1:] for each in names if each.startswith('!')}
            _check_names(name, value, minor, {each.removeprefix('!') for each in names}, forbidden)
    impossible = [', '.join(sorted(names)) for names in wanted if names <= forbidden]
    if impossible:
        keys = ', '.join(sorted(f'{name}: ({names})' for names in impossible))
        raise failures.ConflictingTraits(keys=keys, names=', '.join(impossible))
    return wanted, forbidden


def member_of(name, values, minor):
    """Read an argument of aggregates: ``A``, ``in:A,B`` (one of them), ``!A`` and ``!in:A,B`` (none of them).

    :param name: of the argument.
    :param values: as often as it is there: all of them hold.
    :param minor: the version.
    :returns: ([{uuid, …}, …] of each of which one is wanted, {uuid, …} of which none is).
    :raises failures.BadRequest: it is not well-formed, or came with a later version.
    """
    if len(values) > 1 and minor < MEMBER_OF_REPEATED_SINCE:
        raise failures.BadRequest(reason=f'Multiple {name} parameters are not supported')
    wanted: list[set[str]] = []
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
            wanted.append(uuids)
        elif minor < NOT_MEMBER_OF_SINCE:
            raise failures.BadRequest(
                reason=f'Forbidden {name} parameters are not supported in the specified microversion'
            )
        else:
            forbidden |= uuids
    return wanted, forbidden


def resources(value):
    """Read an argument of resources: ``VCPU:2,MEMORY_MB:1024``.

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
    wanted = {}
    for item in value.split(','):
        name, colon, text = item.partition(':')
        if not colon or ':' in text:
            raise failures.BadRequest(reason=f'{form}{item}.')
        if not _INTEGER.fullmatch(text.strip()):
            raise failures.BadRequest(
                reason=f'Requested resource {name} expected positive integer amount. Got: {text}.'
            )
        # More than anybody could ever give is as good as anything larger, which no database could compare.
        amount = int(text) if len(text.strip()) <= _DIGITS else MAX_INTEGER + 1
        if amount < 1:
            raise failures.BadRequest(reason=f'Requested resource {name} requires amount >= 1. Got: {amount}.')
        wanted[name] = min(amount, MAX_INTEGER + 1)
    return wanted


def _check_count(name, values):
    if sum(value.count(',') + 1 for value in values) > MOST_NAMES:
        raise failures.BadRequest(reason=f'{_INVALID}{name} may name {MOST_NAMES} at most.')


def _one_of(name, value, minor):
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


def _check_names(name, value, minor, names, forbidden):
    allowed = minor >= FORBIDDEN_SINCE
    form = f"Expected '{name}' parameter value of the form: HW_CPU_X86_VMX,{'!' if allowed else ''}CUSTOM_MAGIC."
    if '' in names:
        raise failures.BadRequest(reason=f'{_INVALID}{form} Got an empty trait in: {value}')
    if (forbidden and not allowed) or any(each.startswith('!') for each in names):
        raise failures.BadRequest(reason=f'{_INVALID}{form} Got: {value}')


def _uuids(name, values):
    for value in values:
        if not uuidutils.is_uuid_like(value):
            raise failures.BadRequest(
                reason=f"{_INVALID}Expected '{name}' parameter to contain valid UUID(s). Got: {value}"
            )
    return set(values)
