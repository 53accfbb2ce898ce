"""The policy enforcer decides as oslo.policy's own, and remembers its decisions until the rules change."""

import itertools
import threading
from wsgiref import simple_server

import pytest
from oslo_policy import policy

from ironic_traits import policies
from ironic_traits.api.v1.protocol import BARE_METAL
from ironic_traits.context import Context
from ironic_traits.policies import decisions
from ironic_traits.service import Service
from tests.support.concurrency import wait_until
from tests.support.http_servers import serving
from tests.support.personas import IMPLIED
from tests.support.service import make_conf

RULE = 'baremetal:node:create'
#: Each role in the system, in a project, in a domain, and without a scope.
CALLERS = [
    {'roles': roles.split(','), 'user_id': 'user', **scope}
    for roles in IMPLIED.values()
    for scope in ({'system_scope': 'all'}, {'project_id': 'p', 'project_name': 'p'}, {'domain_id': 'd'}, {})
]
TARGETS = [
    {},
    {'node.owner': 'p', 'allocation.owner': 'p', 'project_id': 'p', 'user_id': 'user'},
    {'node.lessee': 'p', 'node.owner': None},
]


@pytest.fixture
def write(tmp_path):
    """Return a function that writes the check of a rule into the policy file."""

    def write(check):
        (tmp_path / 'new').write_text(f'"{RULE}": "{check}"\n')
        (tmp_path / 'new').rename(tmp_path / 'policy.yaml')

    return write


@pytest.fixture
def service(tmp_path, write):
    """A service with a policy file."""
    write('rule:system_admin')
    options = {'api__auth_strategy': 'noauth2', 'oslo_policy__policy_file': str(tmp_path / 'policy.yaml')}
    service = Service(make_conf(f'sqlite:///{tmp_path}/x.sqlite', **options))
    yield service
    service.close()


@pytest.fixture
def decided(monkeypatch):
    """[rule, …] of the decisions of oslo.policy."""
    rules, original = [], policy.Enforcer.enforce

    def enforce(self, rule, *arguments, **options):
        rules.append(rule)
        return original(self, rule, *arguments, **options)

    monkeypatch.setattr(policy.Enforcer, 'enforce', enforce)
    return rules


def caller(service, **ids):
    """Return the context of a new request."""
    return Context(service, BARE_METAL, 82, '', **ids)


def test_decisions_are_those_of_oslo_policy(service):
    """Also the second ones, of other requests."""
    plain = policy.Enforcer(service.conf)
    plain.suppress_default_change_warnings = plain.suppress_deprecation_warnings = True
    plain.register_defaults(policies.list_rules())
    rules, allowed = list(plain.registered_rules)[::5], 0
    for ids, target, rule in itertools.product(CALLERS, TARGETS, rules):
        expected = plain.authorize(rule, target, caller(service, **ids))
        for _ in range(2):
            assert service.enforcer.authorize(rule, target, caller(service, **ids)) == expected, (rule, ids, target)
        allowed += expected
    assert allowed


def test_a_decision_is_made_once(service, decided):
    for _ in range(3):
        assert caller(service, roles=['admin'], system_scope='all').may(RULE)
    assert decided == [RULE]
    assert not caller(service, roles=['member'], system_scope='all').may(RULE)
    assert not caller(service, roles=['admin'], project_id='p').may(RULE)
    assert decided == [RULE] * 3


def test_a_changed_file_is_used_within_a_second(service, write):
    reader = {'roles': ['reader'], 'system_scope': 'all'}
    assert not caller(service, **reader).may(RULE)
    write('role:reader')
    wait_until(lambda: caller(service, **reader).may(RULE))
    write('!')
    wait_until(lambda: not caller(service, **reader).may(RULE))


def test_rules_in_memory_replace_decisions(service):
    admin = {'roles': ['admin'], 'system_scope': 'all'}
    assert caller(service, **admin).may(RULE)
    service.enforcer.set_rules(policy.Rules.from_dict({RULE: '!'}), use_conf=False)
    assert not caller(service, **admin).may(RULE)


def test_another_server_decides_each_time(service, write):
    """Its answer may be different the next time."""
    answers = iter(('True', 'False', 'True'))

    def application(environ, start_response):
        start_response('200 OK', [('Content-Type', 'text/plain')])
        return [next(answers).encode()]

    with serving(simple_server.make_server('127.0.0.1', 0, application)) as server:
        write(f'role:nobody or not not http://127.0.0.1:{server.server_port}/')
        found = [caller(service, roles=['admin'], system_scope='all').may(RULE) for _ in range(3)]
    assert found == [True, False, True]


def test_not_too_many_decisions_are_remembered(service, monkeypatch, decided):
    monkeypatch.setattr(decisions, '_MOST', 2)
    for _ in range(2):
        for number in range(3):
            caller(service, roles=['admin'], user_id=str(number)).may(RULE)
    assert len(decided) == 6
    assert len(service.enforcer._decisions) <= 2


def test_a_decision_by_old_rules_is_not_kept(service, decided, monkeypatch):
    """Other rules are read while a thread decides."""
    admin, original = {'roles': ['admin'], 'system_scope': 'all'}, policy.Enforcer.authorize

    def authorize(self, *arguments):
        result = original(self, *arguments)
        if len(decided) == 1:
            thread = threading.Thread(
                target=self.set_rules, args=(policy.Rules.from_dict({RULE: '!'}),), kwargs={'use_conf': False}
            )
            thread.start()
            thread.join()
        return result

    monkeypatch.setattr(policy.Enforcer, 'authorize', authorize)
    assert [caller(service, **admin).may(RULE) for _ in range(2)] == [True, False]
