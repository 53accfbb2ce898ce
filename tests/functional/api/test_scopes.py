"""The 403 of a caller who has the role, but not the scope, says which scope the request requires."""

import pytest

from tests.support.client import Client, message
from tests.support.service import make_app, upgraded

ADMIN = {'X-Auth-Token': 'admin', 'OpenStack-System-Scope': 'all', 'X-Roles': 'admin,member,reader'}
PROJECT = {'X-Auth-Token': 'demo:demo', 'X-Roles': 'admin,member,reader'}
DOMAIN = {'X-Auth-Token': 'demo', 'X-Domain-Id': 'default', 'X-Roles': 'admin,member,reader'}
REQUIRES = '. Your roles allow it with system scope only, and the token has {} scope.'
DENIED = 'Access was denied to the following resource: {}'
#: {rule that needs system scope: request that it guards}.
SYSTEM = {
    'baremetal:chassis:create': ('POST', '/v1/chassis', {}),
    'baremetal:chassis:get': ('GET', '/v1/chassis', None),
    'baremetal:conductor:get': ('GET', '/v1/conductors', None),
    'baremetal:driver:get': ('GET', '/v1/drivers', None),
    'baremetal:deploy_template:create': ('POST', '/v1/deploy_templates', {}),
    'baremetal:inspection_rule:get': ('GET', '/v1/inspection_rules', None),
    'baremetal:mirror:get': ('GET', '/v1/mirrors', None),
    'baremetal:shards:get': ('GET', '/v1/shards', None),
    'baremetal:change:list': ('GET', '/v1/changes', None),
    'baremetal:explanation:get': ('POST', '/v1/explanations', {'query': 'resources=VCPU:1'}),
    'baremetal:trait:update': ('PUT', '/v1/traits/CUSTOM_A', {}),
}


@pytest.fixture
def client(tmp_path):
    with make_app(upgraded(f'sqlite:///{tmp_path}/a.sqlite'), api__auth_strategy='noauth2') as app:
        yield Client(app)


@pytest.mark.parametrize('rule', SYSTEM)
def test_system_scope(client, rule):
    """A token of the right scope without the role gets the rule only, as before."""
    for headers, scope in ((PROJECT, 'project'), (DOMAIN, 'domain')):
        response = client.ask(*SYSTEM[rule], headers=headers)
        assert (response.status_int, message(response)) == (403, DENIED.format(rule) + REQUIRES.format(scope))
    for headers in (ADMIN, PROJECT):
        response = client.ask(*SYSTEM[rule], headers=headers | {'X-Roles': 'nobody'})
        assert (response.status_int, message(response)) == (403, DENIED.format(rule))


def test_nodes_that_are_seen_and_hidden(client):
    """Of a node that the caller sees, the message says what is missing. A hidden one does not exist."""
    for name, owner in (('own', 'demo'), ('foreign', 'other')):
        body = {'driver': 'fake-hardware', 'name': name, 'owner': owner}
        assert client.ask('POST', '/v1/nodes', body, headers=ADMIN).status_int == 201
    move = [{'op': 'add', 'path': '/shard', 'value': 'a'}]
    seen = client.ask('PATCH', '/v1/nodes/own', move, headers=PROJECT)
    assert (seen.status_int, message(seen)) == (
        403,
        DENIED.format('baremetal:node:update:shard') + REQUIRES.format('project'),
    )
    answers = []
    for name in ('foreign', 'nosuch'):
        for method, path, body in (('PATCH', f'/v1/nodes/{name}', move), ('DELETE', f'/v1/nodes/{name}/lock', None)):
            response = client.ask(method, path, body, headers=PROJECT)
            answers.append((response.status_int, message(response).replace(name, 'X')))
    assert answers[:2] == answers[2:]
    assert 'scope' not in str(answers)
    for headers in (PROJECT | {'X-Roles': 'reader'}, ADMIN | {'X-Roles': 'reader'}):
        response = client.ask('PUT', '/v1/nodes/own/maintenance', {}, headers=headers)
        assert (response.status_int, 'scope' in message(response)) == (403, False)
