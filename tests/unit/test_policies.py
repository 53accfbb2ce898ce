"""Each route names a policy rule whose operations include the route, or says that it is public."""

import ast
import inspect
import textwrap

import pytest

from ironic_traits import policies
from ironic_traits.api.description.operations import operations
from ironic_traits.policies import unserved
from tests.support import syntax

#: Routes that need no authentication: version discovery.
PUBLIC = ('GET /', 'GET /v1', 'GET /placement')
RULES = {rule.name: rule for rule in policies.list_rules()}


@pytest.mark.parametrize('operation', operations(), ids=str)
def test_operation_names_its_rule(operation):
    assert bool(operation.route.rules) == (str(operation) not in PUBLIC)
    for name in operation.route.rules:
        assert str(operation) in [f'{each["method"]} {each["path"]}' for each in RULES[name].operations], name


@pytest.fixture(scope='module')
def trees():
    """The syntax tree of each method of a route."""
    sources = (textwrap.dedent(inspect.getsource(each.route.method)) for each in operations())
    return dict(zip(map(str, operations()), syntax.trees(sources), strict=True))


@pytest.mark.parametrize('operation', operations(), ids=str)
def test_the_decorator_checks_policy(operation, trees):
    """The decorator checks policy. The method only checks rules that depend on the body or on another node."""
    method = trees[str(operation)].body[0]
    calls = {ast.unparse(call.func) for call in ast.walk(method) if isinstance(call, ast.Call)}
    assert calls.isdisjoint({'context.can', 'context.limit_to'})


def test_rules_have_existing_routes():
    existing = set(map(str, operations()))
    for rule in (rule for rule in RULES.values() if rule not in unserved.RULES):
        for operation in getattr(rule, 'operations', []):
            assert f'{operation["method"]} {operation["path"]}' in existing
