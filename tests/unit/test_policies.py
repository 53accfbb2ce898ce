"""Each route checks policy first, by a rule whose operations include the route."""

import ast
import inspect
import textwrap

import pytest

from ironic_traits import policies
from tests.support.routes import routes

#: Routes that need no authentication: version discovery.
PUBLIC = ('GET /', 'GET /v1', 'GET /placement')
RULES = {rule.name: rule for rule in policies.list_rules()}
#: The rules of a patch depend on the fields that it changes.
BY_FIELDS = 'PATCH /v1/nodes/{node_ident}'


@pytest.mark.parametrize('route', routes(), ids=str)
def test_route_checks_policy_first(route):
    method = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(route.function)))).body[0]
    statements = [ast.unparse(statement) for statement in method.body]
    if str(route) in PUBLIC:
        assert 'context.can' not in ast.unparse(method)
        return
    if str(route) == BY_FIELDS:
        assert 'access.node_by_all(' in ast.unparse(method)
        return
    if statements[0].startswith('access.visible_node('):
        # Everything below a node that the caller may not see is a 404, whatever the rule says.
        del statements[0]
    declared = getattr(route.function, 'rule', None)
    calls = ('context.can', 'context.limit_to')
    rules = [
        rule
        for rule in RULES
        if rule == declared or any(statements[0].startswith(f"{call}('{rule}'") for call in calls)
    ]
    assert rules, statements[0]
    operations = [f'{operation["method"]} {operation["path"]}' for operation in RULES[rules[0]].operations]
    assert str(route) in operations


def test_rules_have_existing_routes():
    existing = set(map(str, routes()))
    for rule in RULES.values():
        for operation in getattr(rule, 'operations', []):
            assert f'{operation["method"]} {operation["path"]}' in existing
