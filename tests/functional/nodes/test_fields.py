"""The service implements the table of nodes (ironic_traits/resources/nodes.py) for each field and filter."""

import pytest

from ironic_traits.resources.fields import Argument, When
from ironic_traits.resources.nodes import NODES
from tests.support.cleaning import empty
from tests.support.client import Client, message
from tests.support.service import make_app

VALUES = {
    Argument.BOOLEAN: 'true',
    Argument.CONDUCTOR_GROUP: 'a',
    Argument.FAULT: 'power failure',
    Argument.LONG_TEXT: 'a',
    Argument.OPTIONAL_FIELDS: 'chassis_uuid',
    Argument.SOURCE: 'hook',
    Argument.TEXT: 'a',
    Argument.TEXTS: 'a',
    Argument.TRAITS: 'CUSTOM_A',
    Argument.UUID: 'aaaaaaaa-0000-4000-8000-000000000001',
}
UUIDS = ('uuid', 'instance_uuid')


class Recorder:
    """A policy enforcer that allows everything, and records the checked rules.

    :ivar rules: names of the rules.
    """

    def __init__(self):
        self.rules = set()

    def authorize(self, rule, target, context):
        self.rules.add(rule)
        return True


@pytest.fixture(scope='module')
def client(shared_database_url):
    # Another module may have left a node with the uuid.
    empty(shared_database_url)
    with make_app(shared_database_url) as app:
        yield Client(app)


def _value(name):
    if name in UUIDS:
        return VALUES[Argument.UUID]
    if name == 'driver':
        return 'fake-hardware'
    if name in ('automated_clean', *(name for name, default in NODES.settable.items() if default is False)):
        return False
    if name == 'console_enabled':
        return True
    return NODES.settable.get(name)


@pytest.mark.parametrize('name', NODES.since)
def test_fields_are_set_by_the_requests_of_the_table(client, name):
    when = NODES[name].settable
    response = client.ask('POST', '/v1/nodes', {'driver': 'fake-hardware', name: _value(name)})
    assert response.status_int == (201 if When.AT_CREATION in when else 400), response.text
    if response.status_int == 201 and _value(name) is not None:
        assert response.json[name] == _value(name)
    uuid = response.json['uuid'] if response.status_int == 201 else client.node()['uuid']
    value = _value(name)
    if value is None:
        operation = {'op': 'remove', 'path': f'/{name}'}
    else:
        operation = {'op': 'replace', 'path': f'/{name}', 'value': value}
    response = client.ask('PATCH', f'/v1/nodes/{uuid}', [operation])
    assert response.status_int == (200 if When.LATER in when else 400), response.text
    if response.status_int == 400:
        assert message(response).startswith(f'Cannot patch /{name}.')
    client.ask('DELETE', f'/v1/nodes/{uuid}')


@pytest.mark.parametrize('name', NODES.list_filters)
def test_filters_need_their_version(client, name):
    each = NODES.list_filters[name]
    value = {'provision_state': 'active'}.get(name, VALUES[each.type])
    path = f'/v1/nodes?{each.argument}={value}'
    statuses = {}
    for minor in (each.since - 1, each.since):
        statuses[minor] = client.ask('GET', path, version=f'1.{minor}').status_int if minor else 406
    # No chassis has the uuid.
    assert statuses == {each.since - 1: 406, each.since: 404 if name == 'chassis_uuid' else 200}


@pytest.mark.parametrize('name', NODES.settable)
def test_a_patch_asks_the_rule_of_its_field(client, name):
    uuid = client.node()['uuid']
    operation = {'op': 'remove', 'path': f'/{name}'}
    if name == 'automated_clean':
        # Only switching it off asks the rule.
        operation = {'op': 'replace', 'path': f'/{name}', 'value': False}
    client.app.service.enforcer = recorder = Recorder()
    try:
        client.ask('PATCH', f'/v1/nodes/{uuid}', [operation])
    finally:
        client.app.service.enforcer = None
    rule = NODES[name].change_rule
    assert (rule.name if rule else 'baremetal:node:update') in recorder.rules
    rules_of_fields = {each.name for each in NODES.change_rules}
    assert recorder.rules & rules_of_fields == ({rule.name} if rule else set())
