"""Each route names a policy rule whose operations include the route, or says that it is public."""

import ast
import inspect
import textwrap

import pytest

from ironic_traits import policies
from ironic_traits.api.description.routes import routes
from ironic_traits.policies import unserved
from tests.support import syntax

#: Routes that need no authentication: version discovery.
PUBLIC = ('GET /', 'GET /v1', 'GET /placement')
RULES = {rule.name: rule for rule in policies.list_rules()}


@pytest.mark.parametrize('route', routes(), ids=str)
def test_route_names_its_rule(route):
    assert route.function.is_public == (str(route) in PUBLIC)
    assert bool(route.function.rules) == (str(route) not in PUBLIC)
    for name in route.function.rules:
        operations = [f'{operation["method"]} {operation["path"]}' for operation in RULES[name].operations]
        assert str(route) in operations, name


@pytest.fixture(scope='module')
def trees():
    """The syntax tree of each method of a route."""
    sources = (textwrap.dedent(inspect.getsource(inspect.unwrap(route.function))) for route in routes())
    return dict(zip(map(str, routes()), syntax.trees(sources), strict=True))


@pytest.mark.parametrize('route', routes(), ids=str)
def test_the_decorator_checks_policy(route, trees):
    """The decorator checks policy. The method only checks rules that depend on the body or on another node."""
    method = trees[str(route)].body[0]
    calls = {ast.unparse(call.func) for call in ast.walk(method) if isinstance(call, ast.Call)}
    assert calls.isdisjoint({'context.can', 'context.limit_to'})


def test_rules_have_existing_routes():
    existing = set(map(str, routes()))
    for rule in (rule for rule in RULES.values() if rule not in unserved.RULES):
        for operation in getattr(rule, 'operations', []):
            assert f'{operation["method"]} {operation["path"]}' in existing
