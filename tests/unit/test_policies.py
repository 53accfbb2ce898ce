"""Each route asks policy first, by a rule that names the route."""

import ast
import inspect
import textwrap

import pytest

from ironic_traits import policies
from tests.routes import routes

#: Whoever asks may know what is served.
PUBLIC = ('GET /', 'GET /v1', 'GET /placement')
RULES = {rule.name: rule for rule in policies.list_rules()}


@pytest.mark.parametrize('route', routes(), ids=str)
def test_route_asks_first(route):
    method = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(route.function)))).body[0]
    first = ast.unparse(method.body[0])
    if str(route) in PUBLIC:
        assert 'context.can' not in ast.unparse(method)
        return
    declared = getattr(route.function, 'rule', None)
    asked = [rule for rule in RULES if rule == declared or first.startswith(f"context.can('{rule}'")]
    assert asked, first
    named = [f'{operation["method"]} {operation["path"]}' for operation in RULES[asked[0]].operations]
    assert str(route) in named


def test_no_rule_is_left_over():
    served = set(map(str, routes()))
    for rule in RULES.values():
        for operation in getattr(rule, 'operations', []):
            assert f'{operation["method"]} {operation["path"]}' in served
