"""/v1/runbooks"""

import functools
from typing import Any

import wsme.types

from ironic_traits import failures
from ironic_traits.api import patch as patches
from ironic_traits.api import types
from ironic_traits.api.expose import Body, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.v1.record_controllers import RecordsController
from ironic_traits.api.v1.records import FIELDS_QUERY
from ironic_traits.api.v1.runbook_fields import RUNBOOKS, TRAITS_SINCE, Runbook, Traits
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.records import runbooks
from ironic_traits.resources.runbooks import RUNBOOKS as TABLE

_UPDATE = 'baremetal:runbook:update'
_UPDATE_RULES = (_UPDATE, *(rule.name for rule in TABLE.change_rules))
_TRAIT = types.Trait()
_READABLE = functools.partial(RUNBOOKS.allowed, for_all=True)
_HOW_TO_PUT = (
    'A single runbook trait may be added via PUT /v1/runbooks/<runbook identifier>/traits/<trait> with no body, or all '
    'runbook traits may be replaced via PUT /v1/runbooks/<runbook identifier>/traits with the list of traits specified '
    'in the request body.'
)


class RunbookTraitsController(Resource):
    """The traits of a runbook."""

    @expose('baremetal:runbook:get', Traits, of=RUNBOOKS.allowed, since=TRAITS_SINCE)
    def get_all(self, context: Context, runbook_ident: str, /) -> dict[str, list[str]]:
        return {'traits': runbooks.traits(context, runbook_ident)}

    @expose(_UPDATE, of=RUNBOOKS.allowed, since=TRAITS_SINCE, body=Body(Traits, optional=True))
    def put(self, context: Context, runbook_ident: str, trait: str | None = None, /, *, body: Any) -> Response | None:
        names = body.traits if body else wsme.types.Unset
        if (names is wsme.types.Unset) == (trait is None):
            raise failures.InvalidInput(reason=_HOW_TO_PUT)
        if trait is not None:
            runbooks.add_trait(context, runbook_ident, _TRAIT.validate(trait))
            return Response(status=204, location=f'/v1/runbooks/{runbook_ident}/traits/{trait}')
        if names is None or None in names:
            raise failures.InvalidInput(reason="'traits' must be a list of strings, without null.")
        runbooks.replace_traits(context, runbook_ident, names)
        return None

    @expose(_UPDATE, of=RUNBOOKS.allowed, since=TRAITS_SINCE)
    def delete(self, context: Context, runbook_ident: str, trait: str | None = None, /) -> None:
        runbooks.remove_traits(context, runbook_ident, trait)


class RunbooksController(RecordsController):
    """Runbooks: steps for cleaning and servicing."""

    records = RUNBOOKS
    members = {'traits': RunbookTraitsController()}

    def get_all(self, context: Context, grant: Grant, /, **query: Any) -> dict[str, Any]:
        project = query.get('project')
        if project not in (None, context.project_id) and not context.may('baremetal:runbook:list_all'):
            raise context.forbidden('baremetal:runbook:list_all')
        return super().get_all(context, grant, **query)

    @expose('baremetal:runbook:get', Runbook, of=_READABLE, since=RUNBOOKS.served_since, query=FIELDS_QUERY)
    def get_one(self, context: Context, grant: Grant, runbook_ident: str, /, *, fields: Any = None) -> dict[str, Any]:
        return RUNBOOKS.show(context, grant, fields)

    def post(self, context: Context, grant: Grant, /, *, body: Any) -> Response:
        if context.system_scope != 'all':
            _check_project(context, body)
            body.owner = context.project_id
        return super().post(context, grant, body=body)

    # Before the body is read, one of the rules must allow it; then all those of the fields in the body.
    @expose(
        _UPDATE_RULES,
        Runbook,
        of=RUNBOOKS.allowed,
        since=RUNBOOKS.served_since,
        before=RUNBOOKS.before,
        body=[types.PatchOperation],
    )
    def patch(self, context: Context, grant: Grant, runbook_ident: str, /, *, body: Any) -> dict[str, Any]:
        _check_rules(context, grant, sorted({_rule(patches.field(operation)) for operation in body}) or [_UPDATE])
        if any(patches.field(operation) == 'public' and operation.op != 'remove' for operation in body):
            # As in Ironic: a runbook that becomes public, or private, has no owner, unless the same patch sets one.
            body = [types.PatchOperation(op='remove', path='/owner'), *body]
        return RUNBOOKS.change(context, grant, body)


def _check_project(context: Context, body: Any) -> None:
    """Raise unless a caller who does not act on the system may create a runbook.

    :raises failures.Forbidden: the caller has no project.
    :raises failures.InvalidInput: the runbook is public, or for another project.
    """
    if not context.project_id and not context.may('baremetal:runbook:list_all'):
        raise context.forbidden('baremetal:runbook:create')
    if body.owner and body.owner != context.project_id:
        raise failures.InvalidInput(
            reason='Cannot create a runbook as a project scoped admin with an owner other than your own project.'
        )
    if context.project_id and body.public:
        raise failures.InvalidInput(reason='Cannot create a public runbook as a project scoped admin.')


def _rule(name: str) -> str:
    """Return the policy rule for changing a field."""
    rule = TABLE[name].change_rule if name in TABLE else None
    return rule.name if rule else _UPDATE


def _check_rules(context: Context, grant: Grant, rules: list[str]) -> None:
    """Raise Forbidden unless policy allows all of the rules for a runbook."""
    owner = runbooks.owner(context, grant.ident)
    for rule in rules:
        if not RUNBOOKS.may(context, [rule], owner):
            raise context.forbidden(rule)
