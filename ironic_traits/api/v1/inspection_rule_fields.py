"""The fields of an inspection rule."""

import re
from typing import Any

import wsme
import wsme.types
from oslo_utils import uuidutils

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.v1.records import Records
from ironic_traits.context import Context
from ironic_traits.inventory.records import inspection_rules
from ironic_traits.inventory.records.inspection_rules import INSPECTION_RULES as KIND
from ironic_traits.matching.rules.inspection_rules import InvalidRules

_DIGITS = re.compile('[0-9]{1,9}')
#: Paths below the noun, which cannot be names of rules.
_PATHS = ('preview', 'apply')


class _Parts(wsme.types.UserType):
    """Conditions or actions. Only their form is checked here.

    :param in_loops: {key of a part that has a loop: value if the client does not set it}.
    """

    basetype = str
    name = 'parts'
    schema = {'type': 'array'}

    def __init__(self, **in_loops: str) -> None:
        self._in_loops = in_loops

    def validate(self, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError(f'{value!r:.100} is not a list')
        return [self._stored(each) if isinstance(each, dict) else each for each in value]

    def _stored(self, part: dict[str, Any]) -> dict[str, Any]:
        """Return a part as Ironic shows it: only parts with a loop have the keys about loops."""
        if part.get('loop'):
            return part | {key: value for key, value in self._in_loops.items() if key not in part}
        return {key: value for key, value in part.items() if key not in ('loop', *self._in_loops)}


class _Priority(types.Integer):
    """A priority. python-ironicclient sends it as text, which Ironic refuses."""

    name = 'priority'

    def validate(self, value: Any) -> int:
        return super().validate(int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value)


class _Ident(types.Uuid):
    """A uuid, or any text: Ironic's guide gives rules names in the place of uuids."""

    name = 'uuid or name'
    schema = {'type': 'string'}

    def validate(self, value: Any) -> str:
        return super().validate(value) if uuidutils.is_uuid_like(value) else types.TEXT.validate(value)


class InspectionRuleBody(types.Base):
    """The fields of an inspection rule that clients may set."""

    _resource = KIND.resource

    uuid = _Ident()
    name = types.TEXT
    description = types.TEXT_255
    priority = _Priority()
    sensitive = types.BOOLEAN
    phase = types.TEXT
    conditions = _Parts(multiple='any')
    actions = _Parts()


class InspectionRule(types.Stored, InspectionRuleBody):
    """An inspection rule in a response."""


def with_name(body: Any) -> Any:
    """Return the body of a new rule. A ``uuid`` that is none becomes its name, as in files of rules.

    :raises failures.InvalidInput: it has a name, too.
    """
    if isinstance(body.uuid, str) and not uuidutils.is_uuid_like(body.uuid):
        if body.name:
            raise failures.InvalidInput(reason=f'{body.uuid[:100]!r} is not a uuid, and the rule has a name')
        body.name, body.uuid = body.uuid, wsme.Unset
    return body


def _check(context: Context, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Raise unless a rule may change in this way.

    :raises failures.InvalidInput: it does not follow the grammar, or would not be sensitive any more.
    :raises failures.RecordExists: a rule of a file has the name.
    """
    if old.get('sensitive') and not new['sensitive']:
        raise failures.InvalidInput(
            reason="Couldn't apply patch. Reason: Inspection rules cannot have the sensitive flag unset."
        )
    problems = _problems(new)
    if old.get('sensitive'):
        # The sentences quote the rule, which its author may not see any more.
        shown = [problem for problem in problems if not problem.startswith(('condition', 'action'))]
        hidden = ['its conditions or actions would be invalid; why is not shown, because the rule is sensitive']
        problems = [*shown, *(hidden if shown != problems else [])]
    if problems:
        raise failures.InvalidInput(reason=f'The inspection rule is invalid: {"; ".join(problems)}')
    if new['name'] in context.service.rules.reserved:
        raise failures.RecordExists(what='rule', key=f'with name {new["name"]}, from a file,')


def _problems(values: dict[str, Any]) -> list[str]:
    """Return sentences about what is wrong with a rule."""
    problems = []
    name = values['name']
    if name is not None and (uuidutils.is_uuid_like(name) or name in _PATHS):
        problems.append(f'{name} cannot be its name: uuids, {" and ".join(_PATHS)} have a meaning of their own')
    try:
        inspection_rules.parsed(values)
    except InvalidRules as error:
        problems += error.problems
    return problems


RULES = Records(
    kind=KIND,
    rule='baremetal:inspection_rule',
    returns=InspectionRule,
    body=InspectionRuleBody,
    list_action='get',
    before=405,
    check=_check,
    optional=frozenset({'name'}),
)
