"""The fields of a runbook."""

import re

import wsme.types

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.v1 import node_ident
from ironic_traits.api.v1.records import Records
from ironic_traits.deploy.steps import INTERFACES
from ironic_traits.inventory.runbooks import RUNBOOKS as KIND
from ironic_traits.inventory.runbooks import TRAITS_SINCE
from ironic_traits.matching import traits

_KEYS = ('interface', 'step', 'order')
_DIGITS = re.compile('[0-9]{1,18}')


class Steps(wsme.types.UserType):
    """The steps of a runbook, each with its arguments and its order as an integer."""

    basetype = str
    name = 'steps'

    def validate(self, value):
        if not isinstance(value, list):
            raise _invalid("'steps' is not of type 'array'")
        if not value:
            raise _invalid('[] should be non-empty')
        steps = [_step(each) for each in value]
        _check_duplicates(steps)
        return steps


class RunbookBody(types.Base):
    """The fields of a runbook that clients may set."""

    uuid = types.UUID
    name = types.Text(minimum=1, maximum=255)
    description = types.TEXT_255
    extra = types.OBJECT
    public = types.BOOLEAN
    owner = types.TEXT_255
    disable_ramdisk = types.BOOLEAN
    steps = Steps()


class Runbook(RunbookBody):
    """A runbook in a response."""

    created_at = types.MOMENT
    updated_at = types.MOMENT
    traits = [str]
    links = types.LINKS


class Runbooks(types.Base):
    """A page of runbooks."""

    runbooks = [Runbook]
    next = str


class Traits(types.Base):
    """The traits of a runbook."""

    traits = [types.Trait()]


def _check(context, old, new):
    name = new['name']
    # As in Ironic, a PATCH may set any name at all versions.
    if not old and context.minor < TRAITS_SINCE and not traits.is_trait(name):
        raise failures.InvalidTrait(name, traits.nearest(name), 'name')
    if not node_ident.is_ident(name):
        raise failures.InvalidInput(
            reason=f"Invalid name {name!r} for a runbook: a name has 1 to 255 letters, digits, '-', '.', '_' and '~'."
        )
    changes = old and (new['owner'] != old['owner'] or new['public'] != old['public'])
    if changes and new['owner'] is not None and new['public']:
        raise failures.InvalidInput(
            reason="Couldn't apply patch. Reason: There cannot be an owner for a public runbook"
        )


RUNBOOKS = Records(kind=KIND, body=RunbookBody, check=_check)


def _step(step):
    """Return a step as it is stored.

    :raises failures.InvalidInput: it is invalid. The message does not quote the arguments, which may have passwords.
    """
    if not isinstance(step, dict):
        raise _invalid("a step is not of type 'object'")
    for name in _KEYS:
        if name not in step:
            raise _invalid(f"'{name}' is a required property")
    for name in sorted(step.keys() - {*_KEYS, 'args'}):
        raise _invalid(f"Additional properties are not allowed ('{name}' was unexpected)")
    if step['interface'] not in INTERFACES:
        raise _invalid(f'{step["interface"]!r} is not one of {list(INTERFACES)}')
    if not isinstance(step['step'], str):
        raise _invalid(f"{step['step']!r} is not of type 'string'")
    if not step['step']:
        raise _invalid("'' should be non-empty")
    if not isinstance(step.get('args', {}), dict):
        raise _invalid("the 'args' of a step are not of type 'object'")
    values = {'interface': step['interface'], 'step': step['step']}
    return values | {'args': step.get('args', {}), 'order': _order(step['order'])}


def _order(value):
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    if isinstance(value, str):
        raise _invalid(f"{value!r} does not match '^[0-9]+$'")
    if not isinstance(value, int) or isinstance(value, bool):
        raise _invalid(f"{value!r} is not of type 'integer'")
    if value < 0:
        raise _invalid(f'{value} is less than the minimum of 0')
    return value


def _check_duplicates(steps):
    pairs = [(each['interface'], each['step']) for each in steps]
    repeated = sorted({pair for pair in pairs if pairs.count(pair) > 1})
    if repeated:
        names = '; '.join(f'interface: {interface}, step: {step}' for interface, step in repeated)
        raise failures.InvalidInput(
            reason='Deploy template invalid: Duplicate deploy steps. A template cannot have multiple deploy steps with '
            f'the same interface and step. Duplicates: {names}.'
        )


def _invalid(reason):
    return failures.InvalidInput(reason=f'Schema error for runbook: {reason}')
