"""Every verb in every state, compared with Ironic 39.0.0.

``tests/data/ironic-provision.json`` has the status of the real service for each state and verb. If the state accepts
the verb, it also has the next state and target of Ironic's state machine.
"""

import json
import pathlib

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.deploy import states
from tests.support.client import message

TABLE = json.loads((pathlib.Path(__file__).parents[2] / 'data' / 'ironic-provision.json').read_text())
WITH = {
    'clean': {'clean_steps': [{'interface': 'deploy', 'step': 'erase'}]},
    'rescue': {'rescue_password': 'hush-hush'},
    'service': {'service_steps': [{'interface': 'vendor', 'step': 'log_passthrough'}]},
}


def expected(state, verb):
    """Return the recorded result with the intended differences."""
    recorded = TABLE[state][verb]
    if recorded['status'] == 500:
        # The real fake-hardware refuses to rebuild a node without an image.
        return recorded | {'status': 202}
    if (state, verb) == ('inspect wait', 'abort'):
        # The real fake-hardware never waits in an inspection, so it cannot abort one.
        return recorded | {'status': 202}
    if verb == 'clean' and recorded['status'] == 202:
        # A manual clean ends in the state that it began in. The recorded machine does not show this.
        return recorded | {'target': 'manageable'}
    if (state, verb) == ('wait call-back', 'abort'):
        # Recorded at 1.82. From 1.110 on, a deploy can be aborted while it waits.
        return recorded | {'status': 202}
    if (state, verb) in (('service wait', 'abort'), ('service hold', 'abort')):
        # The real service also aborts the failure if the step is abortable. The recorded machine does not show this.
        return recorded | {'state': 'active', 'target': None}
    return recorded


@pytest.fixture
def node_in(app, client):
    """Function that creates a node in a state, and returns its uuid."""

    def make(state, **more):
        uuid = client.node()['uuid']
        with app.service.write() as connection:
            changes = {'provision_state': state, 'power_state': 'power off', **more}
            connection.execute(sa.update(tables.nodes).where(tables.nodes.c.uuid == uuid).values(changes))
        return uuid

    return make


def test_the_states_of_the_table_are_those_of_the_machine():
    assert set(TABLE) == set(states.TRANSITIONS)
    assert {verb for verbs in TABLE.values() for verb in verbs} == {*states.VERBS, 'bogus'}


@pytest.mark.parametrize('state', TABLE)
def test_every_verb(app, client, node_in, state):
    for verb in TABLE[state]:
        recorded = expected(state, verb)
        uuid = node_in(state)
        body = {'target': verb, **WITH.get(verb, {})}
        response = client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', body)
        assert response.status_int == recorded['status'], (verb, response.text)
        shown = client.get(f'/v1/nodes/{uuid}/states')
        if recorded['status'] != 202:
            assert shown['provision_state'] == state, verb
            if recorded['status'] == 400:
                beginning = f'The requested action "{verb}" can not be performed on node "{uuid}" while it is in state'
                assert message(response) == f'{beginning} "{state}".'
            continue
        assert response.headers['Location'].endswith(f'/v1/nodes/{uuid}/states')
        assert (shown['provision_state'], shown['target_provision_state']) == (recorded['state'], recorded['target']), (
            verb
        )
        assert shown['provision_updated_at']
        with app.service.read() as connection:
            row = connection.execute(
                sa.select(tables.nodes.c.reservation, tables.transitions.c.action)
                .outerjoin(tables.transitions, tables.transitions.c.node_id == tables.nodes.c.id)
                .where(tables.nodes.c.uuid == uuid)
            ).one()
        # There is work for the node exactly in the working states.
        assert bool(row.action) is bool(row.reservation) is (recorded['state'] in states.WORKING), verb


@pytest.mark.parametrize(('verb', 'since'), [('unhold', 85), ('service', 87)])
def test_versions_of_the_newest_verbs(client, node_in, verb, since):
    """As in Ironic, a version before the verb is refused with 406 only in the states that accept the verb."""
    for state, status in (('clean hold' if verb == 'unhold' else 'active', 406), ('enroll', 400)):
        path = f'/v1/nodes/{node_in(state)}/states/provision'
        assert client.ask('PUT', path, {'target': verb}, version=f'1.{since - 1}').status_int == status


_OLDER = [(verb, each.since) for verb, each in states.VERBS.items() if each.since < 85]


@pytest.mark.parametrize(('verb', 'since'), _OLDER)
def test_versions_of_verbs(client, verb, since):
    uuid = client.node()['uuid']
    for minor in (since - 1, since):
        response = client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': verb}, version=f'1.{minor}')
        if minor == since:
            assert response.status_int != 406
        elif minor:
            assert response.status_int == 406
            assert f'1.{since}' in message(response)


def test_verbs_for_a_locked_node(app, client, node_in):
    """As in Ironic, they are refused with 409, also if the state does not allow the verb."""
    app.service.conf.set_override('node_locked_retry_attempts', 0, group='deploy')
    uuid = node_in('available')
    path = f'/v1/nodes/{uuid}/states/'
    assert client.ask('PUT', f'{path}provision', {'target': 'active'}).status_int == 202
    for target in ('active', 'deleted', 'provide'):
        response = client.ask('PUT', f'{path}provision', {'target': target})
        assert response.status_int == 409, target
        assert message(response).startswith(f'Node {uuid} is locked by host 127.0.0.1')
    assert client.ask('PUT', f'{path}power', {'target': 'power off'}).status_int == 409
    response = client.ask('DELETE', f'/v1/nodes/{uuid}')
    assert (response.status_int, 'is locked by host' in message(response)) == (409, True)
    assert client.get(f'/v1/nodes/{uuid}?fields=reservation') == {'reservation': '127.0.0.1'}


#: {state: statuses of patches, as in Ironic}. The patches change extra, an interface, the class of a node that has one,
#: protected, and retired.
PATCHED = {
    'enroll': (200, 200, 200, 409, 200),
    'verifying': (200, 409, 409, 409, 200),
    'manageable': (200, 200, 200, 409, 200),
    'available': (200, 200, 200, 409, 409),
    'active': (200, 409, 409, 200, 200),
    'deploy failed': (200, 409, 409, 409, 200),
    'error': (200, 409, 409, 409, 200),
    'rescue': (200, 409, 409, 200, 200),
    'adopt failed': (200, 409, 409, 409, 200),
    'inspect wait': (200, 200, 200, 409, 200),
    'inspecting': (409,) * 5,
    'cleaning': (409,) * 5,
    'clean wait': (409,) * 5,
    'deploying': (409,) * 5,
    'wait call-back': (409,) * 5,
    'clean hold': (409,) * 5,
    'deploy hold': (409,) * 5,
    'servicing': (409,) * 5,
    'service wait': (409,) * 5,
    'service hold': (200, 409, 409, 409, 200),
    'service failed': (200, 409, 409, 409, 200),
}


@pytest.mark.parametrize('state', PATCHED)
def test_patches_that_a_state_forbids(client, node_in, state):
    target = states.target(state)
    patches = (
        {'op': 'add', 'path': '/extra/a', 'value': 1},
        {'op': 'add', 'path': '/console_interface', 'value': 'no-console'},
        {'op': 'add', 'path': '/resource_class', 'value': 'silver'},
        {'op': 'add', 'path': '/protected', 'value': True},
        {'op': 'add', 'path': '/retired', 'value': True},
    )
    for patch, status in zip(patches, PATCHED[state], strict=True):
        uuid = node_in(state, target_provision_state=target, resource_class='gold')
        before = client.get(f'/v1/nodes/{uuid}')
        response = client.ask('PATCH', f'/v1/nodes/{uuid}', [patch])
        assert response.status_int == status, (patch, response.text)
        if status == 409:
            assert response.json['code'] == 'baremetal.node.invalid_state'
            assert client.get(f'/v1/nodes/{uuid}') == before


def test_a_node_that_is_stuck_can_be_taken_from_its_instance(client, node_in):
    uuid = node_in(
        'wait call-back', target_provision_state='active', instance_uuid='a8b2c1c0-0000-4000-8000-000000000001'
    )
    patch = [{'op': 'remove', 'path': '/instance_uuid'}]
    assert client.ask('PATCH', f'/v1/nodes/{uuid}', patch).status_int == 409
    client.ask('PUT', f'/v1/nodes/{uuid}/maintenance')
    assert client.ask('PATCH', f'/v1/nodes/{uuid}', patch).status_int == 200
    assert client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'add', 'path': '/extra/a', 'value': 1}]).status_int == 409
    # But not one that is inspected.
    instance = 'a8b2c1c0-0000-4000-8000-000000000002'
    uuid = node_in('inspecting', target_provision_state='manageable', instance_uuid=instance, maintenance=True)
    refused = client.ask('PATCH', f'/v1/nodes/{uuid}', patch)
    assert (refused.status_int, message(refused)) == (
        409,
        f'Cannot update node "{uuid}" while it is in state "inspecting".',
    )


STEP = {'interface': 'bios', 'step': 'factory_reset'}


@pytest.mark.parametrize(
    ('state', 'verb', 'arguments', 'operation'),
    [
        ('available', 'active', {}, 'provisioning'),
        ('active', 'rebuild', {}, 'provisioning'),
        ('manageable', 'clean', {'clean_steps': [STEP]}, 'cleaning'),
        ('active', 'rescue', {'rescue_password': 'hush'}, 'rescuing'),
        ('rescue', 'unrescue', {}, 'unrescuing'),
        ('active', 'service', {'service_steps': [STEP]}, 'service'),
    ],
    ids=lambda value: value if isinstance(value, str) else '',
)
def test_verbs_that_are_refused_in_maintenance(client, node_in, state, verb, arguments, operation):
    uuid = node_in(state, maintenance=True)
    request = 'PUT', f'/v1/nodes/{uuid}/states/provision', {'target': verb, **arguments}
    response = client.ask(*request)
    assert (response.status_int, response.json['code']) == (400, 'baremetal.node.in_maintenance')
    assert message(response) == (
        f"The {operation} operation can't be performed on node {uuid} because it's in maintenance mode."
    )
    client.ask('DELETE', f'/v1/nodes/{uuid}/maintenance')
    assert client.ask(*request).status_int == 202


@pytest.mark.parametrize('state', TABLE)
def test_which_states_allow_deletion(client, node_in, state):
    uuid = node_in(state)
    status = 204 if state in ('enroll', 'manageable', 'adopt failed', 'available') else 409
    response = client.ask('DELETE', f'/v1/nodes/{uuid}')
    assert response.status_int == status
    if status == 409:
        assert f'Can not delete node "{uuid}" while it is in provision state "{state}"' in message(response)
        client.ask('PUT', f'/v1/nodes/{uuid}/maintenance')
        assert client.ask('DELETE', f'/v1/nodes/{uuid}').status_int == 204
