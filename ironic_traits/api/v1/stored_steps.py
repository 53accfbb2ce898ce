"""The steps of deploy templates and of runbooks in requests."""

import re
from typing import Any

import wsme.types

from ironic_traits import failures, spelling
from ironic_traits.deploy.steps import INTERFACES

_DIGITS = re.compile('[0-9]{1,18}')


class Steps(wsme.types.UserType):
    """The steps of a resource, each with its arguments and an integer for its order.

    :param resource: name of the resource, for messages.
    :param required: the keys that each step must have; the last one is that of the integer.
    """

    basetype = str
    name = 'steps'

    def __init__(self, resource: str, required: tuple[str, ...]) -> None:
        self._resource = resource
        self._required = required

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its values."""
        number = {'oneOf': [{'type': 'integer', 'minimum': 0}, {'type': 'string', 'pattern': f'^{_DIGITS.pattern}$'}]}
        properties = {
            'interface': {'enum': list(INTERFACES)},
            'step': {'type': 'string', 'minLength': 1},
            'args': {'type': 'object'},
            self._required[-1]: number,
        }
        step = {'type': 'object', 'properties': properties, 'required': list(self._required)}
        return {'type': 'array', 'minItems': 1, 'items': step | {'additionalProperties': False}}

    def validate(self, value: Any) -> list[dict[str, Any]]:
        if not isinstance(value, list):
            raise self._invalid("'steps' is not of type 'array'")
        if not value:
            raise self._invalid('[] should be non-empty')
        steps = [self._step(each) for each in value]
        _check_duplicates(steps)
        return steps

    def _step(self, step: Any) -> dict[str, Any]:
        """Return a step as it is stored.

        :raises failures.InvalidInput: it is invalid. The message does not quote the arguments, which may have
            passwords.
        """
        if not isinstance(step, dict):
            raise self._invalid("a step is not of type 'object'")
        keys = {*self._required, 'args'}
        for name in sorted(step.keys() - keys):
            hint = spelling.hint(name, keys)
            raise self._invalid(f"Additional properties are not allowed ('{name}' was unexpected).{hint}")
        for name in self._required:
            if name not in step:
                raise self._invalid(f"'{name}' is a required property")
        if step['interface'] not in INTERFACES:
            raise self._invalid(f'{step["interface"]!r} is not one of {list(INTERFACES)}')
        if not isinstance(step['step'], str):
            raise self._invalid(f"{step['step']!r} is not of type 'string'")
        if not step['step']:
            raise self._invalid("'' should be non-empty")
        if not isinstance(step.get('args', {}), dict):
            raise self._invalid("the 'args' of a step are not of type 'object'")
        number = self._required[-1]
        values = {'interface': step['interface'], 'step': step['step']}
        return values | {'args': step.get('args', {}), number: self._integer(step[number])}

    def _integer(self, value: Any) -> int:
        if isinstance(value, str) and _DIGITS.fullmatch(value):
            return int(value)
        if isinstance(value, str):
            raise self._invalid(f"{value!r} does not match '^[0-9]+$'")
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._invalid(f"{value!r} is not of type 'integer'")
        if value < 0:
            raise self._invalid(f'{value} is less than the minimum of 0')
        return value

    def _invalid(self, reason: str) -> failures.InvalidInput:
        return failures.InvalidInput(reason=f'Schema error for {self._resource}: {reason}')


def _check_duplicates(steps: list[dict[str, Any]]) -> None:
    pairs = [(each['interface'], each['step']) for each in steps]
    repeated = sorted({pair for pair in pairs if pairs.count(pair) > 1})
    if repeated:
        names = '; '.join(f'interface: {interface}, step: {step}' for interface, step in repeated)
        # Ironic says "deploy template" of runbooks, too.
        raise failures.InvalidInput(
            reason='Deploy template invalid: Duplicate deploy steps. A template cannot have multiple deploy steps with '
            f'the same interface and step. Duplicates: {names}.'
        )
