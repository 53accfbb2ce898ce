"""/v1/inspection_rules/preview and /v1/inspection_rules/apply: runs of inspection rules over stored data."""

from typing import Any

import orjson
from oslo_config import cfg

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.expose import Body, expose
from ironic_traits.api.patch import given_fields
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import node_selection
from ironic_traits.api.v1.rule_reports import AppliedRules, RulePreview, application, document_preview, preview
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.inspection import rule_applications, rule_previews
from ironic_traits.inventory.inspection.rule_previews import Draft
from ironic_traits.matching.rules import inspection_rules, rule_files
from ironic_traits.matching.rules.inspection_rules import InvalidRules
from ironic_traits.matching.rules.rule_evaluation import Evaluation, InvalidInventory
from ironic_traits.resources.additions import Addition

#: As ``/v1/inspection_rules``.
SINCE = Addition(96)
#: Nodes on a page of a preview, unless the request says how many.
_PAGE = 100


class _Selection(types.Base):
    """The nodes to run rules on, and the page."""

    where = types.OBJECT
    nodes = [types.TEXT]
    limit = types.PositiveInteger(maximum=10**9)
    marker = types.UUID


class PreviewBody(_Selection):
    """What to preview: rules, on stored data of nodes or on the data in the body."""

    rules = [types.OBJECT]
    without = [types.TEXT]
    inventory = types.OBJECT
    node = types.OBJECT


class ApplyBody(_Selection):
    """The nodes to run the rules in force on, and the digest of a preview."""

    digest = types.TEXT


def _max_size(conf: cfg.ConfigOpts) -> int:
    return max(conf.api.max_request_body_size, conf.inspection.max_data_size)


class RulePreviewController(Resource):
    """Previews of runs of inspection rules."""

    since = SINCE

    @expose(rule_previews.RULE, RulePreview, since=SINCE, body=Body(PreviewBody, max_size=_max_size))
    def post(self, context: Context, grant: Grant, /, *, body: Any) -> dict[str, Any]:
        fields = given_fields(body)
        draft = _draft(context, fields)
        if 'inventory' in fields:
            return document_preview(_of_document(context, fields, draft))
        if 'node' in fields:
            raise failures.InvalidInput(reason="'node' has the fields of a node for 'inventory', which is missing.")
        selection = node_selection.parse(context, fields)
        limit = _limit(context, fields, _PAGE)
        return preview(rule_previews.preview_nodes(context, grant, draft, selection, limit, fields.get('marker')))


class RuleApplicationController(Resource):
    """Runs of the inspection rules in force over stored data."""

    since = SINCE

    @expose(rule_applications.RULE, AppliedRules, since=SINCE, body=ApplyBody)
    def post(self, context: Context, grant: Grant, /, *, body: Any) -> dict[str, Any]:
        fields = given_fields(body)
        if 'digest' not in fields:
            raise failures.InvalidInput(reason="The request needs the 'digest' of a preview of the rules in force.")
        node_selection.check_digest(fields['digest'])
        selection = node_selection.parse(context, fields)
        limit = _limit(context, fields, context.conf.api.max_limit)
        return application(
            rule_applications.execute(context, grant, selection, fields['digest'], limit, fields.get('marker'))
        )


def _limit(context: Context, fields: dict[str, Any], default: int) -> int:
    return min(fields.get('limit', default), context.conf.api.max_limit)


def _draft(context: Context, fields: dict[str, Any]) -> Draft:
    """Return the rules of a preview that are not in force.

    :raises failures.InvalidInput: they do not follow the grammar, or would show secrets.
    """
    documents = fields.get('rules', [])
    if len(orjson.dumps(documents)) > rule_files.MAX_RULES_SIZE:
        # It takes long to compile the regular expressions of megabytes of rules.
        raise failures.InvalidInput(reason=f"'rules' may have at most {rule_files.MAX_RULES_SIZE} bytes.")
    try:
        rules = inspection_rules.parse(documents)
    except InvalidRules as error:
        raise failures.InvalidInput(reason='. '.join(error.problems)) from error
    if any(rule.is_sensitive for rule in rules) and not context.sees_secrets('show_password'):
        raise failures.InvalidInput(
            reason='Sensitive rules see secrets. Only who may see the secrets of nodes can preview others than those '
            'that are in force.'
        )
    return Draft(rules, node_selection.names(fields, 'without'))


def _of_document(context: Context, fields: dict[str, Any], draft: Draft) -> Evaluation:
    superfluous = sorted(fields.keys() & {'where', 'nodes', 'limit', 'marker'})
    if superfluous:
        raise failures.InvalidInput(reason=f"'inventory' cannot be combined with {', '.join(superfluous)}.")
    try:
        return rule_previews.preview_document(context, draft, fields['inventory'], fields.get('node', {}))
    except InvalidInventory as error:
        raise failures.InvalidInput(reason=f"'inventory' is no data of an inspection: {error}.") from error
