"""/v1/runbooks"""

import wsme.types

from ironic_traits import failures
from ironic_traits.api import patch as patches
from ironic_traits.api import types
from ironic_traits.api.expose import Body, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.v1.records import FIELDS_QUERY
from ironic_traits.api.v1.runbook_fields import RUNBOOKS, TRAITS_SINCE, Runbook, RunbookBody, Runbooks, Traits
from ironic_traits.inventory.records import runbooks
from ironic_traits.resources.runbooks import RUNBOOKS as TABLE

SINCE = RUNBOOKS.served_since
_UPDATE = 'baremetal:runbook:update'
_UPDATE_RULES = (_UPDATE, *(rule.name for rule in TABLE.change_rules))
_TRAIT = types.Trait()
_HOW_TO_PUT = (
    'A single runbook trait may be added via PUT /v1/runbooks/<runbook identifier>/traits/<trait> with no body, or all '
    'runbook traits may be replaced via PUT /v1/runbooks/<runbook identifier>/traits with the list of traits specified '
    'in the request body.'
)


def allowed(context, grant, text):
    """Return the grant for a runbook, if policy allows the request for it: ``of`` of ``expose``.

    :param grant: ironic_traits.context.Grant.
    :param text: its uuid or name in the request.
    :raises failures.InvalidInput: the text can be neither.
    :raises failures.RecordNotFound: there is no such runbook that the caller may see.
    :raises failures.Forbidden: the caller may see the runbook, but policy does not allow the request.
    """
    return _allowed(context, grant, text, public=False)


def _readable(context, grant, text):
    """Return the grant for a runbook, if it is public, or policy allows the request for it."""
    return _allowed(context, grant, text, public=True)


def _allowed(context, grant, text, public):
    ident = RUNBOOKS.ident(context, text)
    if grant.rules:
        owner = runbooks.owner(context, ident)
        if not (public and owner.public) and not _may(context, grant.rules, owner):
            if owner.public or _may(context, ['baremetal:runbook:get'], owner):
                raise context.forbidden(grant.rules[0])
            raise failures.RecordNotFound(what='Runbook', ident=ident)
    return grant.of(ident)


def _may(context, rules, owner):
    return any(context.may(rule, {'runbook.owner': owner.owner}) for rule in rules)


class RunbookTraitsController(Resource):
    """The traits of a runbook."""

    @expose('baremetal:runbook:get', Traits, of=allowed, since=TRAITS_SINCE)
    def get_all(self, context, runbook_ident, /):
        return {'traits': runbooks.traits(context, runbook_ident)}

    @expose(_UPDATE, of=allowed, since=TRAITS_SINCE, body=Body(Traits, optional=True))
    def put(self, context, runbook_ident, trait=None, /, *, body):
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

    @expose(_UPDATE, of=allowed, since=TRAITS_SINCE)
    def delete(self, context, runbook_ident, trait=None, /):
        runbooks.remove_traits(context, runbook_ident, trait)


class RunbooksController(Resource):
    """Runbooks: steps for cleaning and servicing."""

    since = SINCE
    members = {'traits': RunbookTraitsController()}

    @expose('baremetal:runbook:list', Runbooks, since=SINCE, query=RUNBOOKS.query)
    def get_all(self, context, grant, /, **query):
        project = query.get('project')
        if project not in (None, context.project_id) and not context.may('baremetal:runbook:list_all'):
            raise context.forbidden('baremetal:runbook:list_all')
        return RUNBOOKS.page(context, grant, query)

    @expose('baremetal:runbook:get', Runbook, of=_readable, since=SINCE, query=FIELDS_QUERY)
    def get_one(self, context, grant, runbook_ident, /, *, fields=None):
        return RUNBOOKS.show(context, grant, fields)

    @expose('baremetal:runbook:create', Runbook, since=SINCE, before=405, body=RunbookBody, statuses=(201,))
    def post(self, context, grant, /, *, body):
        if context.system_scope != 'all':
            _check_project(context, body)
            body.owner = context.project_id
        return RUNBOOKS.create(context, grant, body)

    # Before the body is read, one of the rules must allow it; then all those of the fields in the body.
    @expose(_UPDATE_RULES, Runbook, of=allowed, since=SINCE, before=405, body=[types.PatchOperation])
    def patch(self, context, grant, runbook_ident, /, *, body):
        _check_rules(context, grant, sorted({_rule(patches.field(operation)) for operation in body}) or [_UPDATE])
        if any(patches.field(operation) == 'public' and operation.op != 'remove' for operation in body):
            # As in Ironic: a runbook that becomes public, or private, has no owner, unless the same patch sets one.
            body = [types.PatchOperation(op='remove', path='/owner'), *body]
        return RUNBOOKS.change(context, grant, body)

    @expose('baremetal:runbook:delete', of=allowed, since=SINCE, before=405)
    def delete(self, context, grant, runbook_ident, /):
        return RUNBOOKS.delete(context, grant)


def _check_project(context, body):
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


def _rule(name):
    """Return the policy rule for changing a field."""
    rule = TABLE[name].change_rule if name in TABLE else None
    return rule.name if rule else _UPDATE


def _check_rules(context, grant, rules):
    """Raise Forbidden unless policy allows all of the rules for a runbook."""
    owner = runbooks.owner(context, grant.ident)
    for rule in rules:
        if not _may(context, [rule], owner):
            raise context.forbidden(rule)
