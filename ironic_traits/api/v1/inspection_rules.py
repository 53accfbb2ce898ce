"""/v1/inspection_rules"""

from ironic_traits.api import responses, types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.v1.inspection_rule_fields import (
    RULES,
    InspectionRule,
    InspectionRuleBody,
    InspectionRules,
    with_name,
)
from ironic_traits.api.v1.records import FIELDS_QUERY
from ironic_traits.api.v1.rule_runs import RuleApplicationController, RulePreviewController
from ironic_traits.inventory.records import inspection_rules

SINCE = RULES.served_since


class InspectionRulesController(Resource):
    """Inspection rules, which derive traits from the data of inspections."""

    since = SINCE
    children = {'preview': RulePreviewController(), 'apply': RuleApplicationController()}

    @expose('baremetal:inspection_rule:get', InspectionRules, since=SINCE, query=RULES.query)
    def get_all(self, context, grant, /, **query):
        return RULES.page(context, grant, query)

    @expose('baremetal:inspection_rule:get', InspectionRule, of=RULES.allowed, since=SINCE, query=FIELDS_QUERY)
    def get_one(self, context, grant, rule_ident, /, *, fields=None):
        return RULES.show(context, grant, fields)

    @expose(
        'baremetal:inspection_rule:create',
        InspectionRule,
        since=SINCE,
        before=405,
        body=InspectionRuleBody,
        statuses=(201,),
    )
    def post(self, context, grant, /, *, body):
        response = RULES.create(context, grant, with_name(body))
        response.headers = _warnings(context, response.body)
        return response

    @expose(
        'baremetal:inspection_rule:update',
        InspectionRule,
        of=RULES.allowed,
        since=SINCE,
        before=405,
        body=[types.PatchOperation],
    )
    def patch(self, context, grant, rule_ident, /, *, body):
        rule = RULES.change(context, grant, body)
        return Response(rule, headers=_warnings(context, rule))

    @expose('baremetal:inspection_rule:delete', of=RULES.allowed, since=SINCE, before=405)
    def delete(self, context, grant, rule_ident, /):
        return RULES.delete(context, grant)


def _warnings(context, rule):
    """Return the header with the warnings about a rule that was written, {} without warnings."""
    return responses.warnings(inspection_rules.warnings(context, rule['uuid']))
