"""/v1/inspection_rules"""

from typing import Any

from ironic_traits.api import responses
from ironic_traits.api.responses import Response
from ironic_traits.api.v1.inspection_rule_fields import RULES, with_name
from ironic_traits.api.v1.record_controllers import RecordsController
from ironic_traits.api.v1.rule_runs import RuleApplicationController, RulePreviewController
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.records import inspection_rules


class InspectionRulesController(RecordsController):
    """Inspection rules, which derive traits from the data of inspections."""

    records = RULES
    children = {'preview': RulePreviewController(), 'apply': RuleApplicationController()}

    def post(self, context: Context, grant: Grant, /, *, body: Any) -> Response:
        response = super().post(context, grant, body=with_name(body))
        response.headers = _warnings(context, response.body)
        return response

    def patch(self, context: Context, grant: Grant, ident: str, /, *, body: Any) -> Response:
        rule = RULES.change(context, grant, body)
        return Response(rule, headers=_warnings(context, rule))


def _warnings(context: Context, rule: dict[str, Any]) -> dict[str, str]:
    """Return the header with the warnings about a rule that was written, {} without warnings."""
    return responses.warnings(inspection_rules.warnings(context, rule['uuid']))
