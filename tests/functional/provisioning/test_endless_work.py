"""Work that does not end has a time limit, and an operator can break the lock."""

import datetime
import logging

import pytest
import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.deploy import base, states
from ironic_traits.inventory.inspection import outcomes
from ironic_traits.inventory.provisioning import transitions as carried
from tests.support.client import Client
from tests.support.service import finish_work, make_app

#: {action: (initial state, body, option with the limit, state after the timeout, error)}. {} in the error stands for
#: the node.
ENDLESS = {
    'verify': ('enroll', {'target': 'manage'}, 'deploy_callback_timeout', 'enroll', '"verify" did not finish'),
    'inspect': (
        'manageable',
        {'target': 'inspect'},
        'inspect_wait_timeout',
        'inspect failed',
        'timeout reached while inspecting the node',
    ),
    'clean': (
        'manageable',
        {'target': 'provide'},
        'clean_callback_timeout',
        'clean failed',
        'Timeout reached while cleaning the node. Please check if the ramdisk responsible for the cleaning is running '
        "on the node. Failed on step {'interface': 'vendor', 'step': 'log_passthrough',",
    ),
    'deploy': (
        'available',
        {'target': 'active'},
        'deploy_callback_timeout',
        'deploy failed',
        'Timeout reached while waiting for callback for node {node}',
    ),
    'undeploy': (
        'active',
        {'target': 'deleted'},
        'deploy_callback_timeout',
        'error',
        '"undeploy" did not finish',
    ),
    'rescue': (
        'active',
        {'target': 'rescue', 'rescue_password': 'hush-hush'},
        'rescue_callback_timeout',
        'rescue failed',
        'Timeout reached while waiting for rescue ramdisk callback for node',
    ),
}


@pytest.fixture
def endless(app, monkeypatch):
    """The application, with a driver whose work never ends."""
    monkeypatch.setattr(app.service.drivers['fake-hardware'], 'work', lambda task: base.Later(3600))
    return app


def begin(app, client, action):
    """Begin the work on a new node, and return the node's uuid."""
    state, body = ENDLESS[action][:2]
    uuid = client.node()['uuid']
    with app.service.write() as connection:
        changes = {'provision_state': state, 'power_state': states.POWER_OFF}
        connection.execute(sa.update(tables.nodes).where(tables.nodes.c.uuid == uuid).values(changes))
    assert client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', body).status_int == 202
    finish_work(app)
    return uuid


def pass_time(app, seconds):
    """Move the times of all transitions back, as if some seconds had passed."""
    with app.service.write() as connection:
        for row in connection.execute(sa.select(tables.transitions)).all():
            span = datetime.timedelta(seconds=seconds)
            earlier = {'due_at': row.due_at - span, 'begun_at': row.begun_at - span}
            connection.execute(
                sa.update(tables.transitions).where(tables.transitions.c.node_id == row.node_id).values(earlier)
            )


def make_due(app):
    """Make all transitions due."""
    with app.service.write() as connection:
        connection.execute(sa.update(tables.transitions).values(due_at=tables.transitions.c.begun_at))


@pytest.mark.parametrize('action', ENDLESS)
def test_work_has_a_time_limit(endless, client, action):
    """The work ends at the limit, even if the driver asks for a later call."""
    _, _, option, failed, error = ENDLESS[action]
    uuid = begin(endless, client, action)
    limit = endless.service.conf.deploy[option]
    pass_time(endless, limit - 60)
    finish_work(endless)
    assert client.get(f'/v1/nodes/{uuid}')['provision_state'] != failed
    pass_time(endless, 60)
    finish_work(endless)
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['provision_state'], node['reservation']) == (failed, None)
    expected = error.replace('{node}', uuid)
    assert node['last_error'].startswith(expected)
    assert node['fault'] == ('clean failure' if action == 'clean' else None)


def test_no_limit(database_url, monkeypatch):
    with make_app(database_url, deploy__inspect_wait_timeout=0) as app:
        client = Client(app)
        monkeypatch.setattr(app.service.drivers['fake-hardware'], 'work', lambda task: base.Later(3600))
        uuid = begin(app, client, 'inspect')
        for _ in range(3):
            pass_time(app, 10**6)
            finish_work(app)
        assert client.get(f'/v1/nodes/{uuid}')['provision_state'] == 'inspect wait'


@pytest.mark.parametrize(
    ('body', 'limit'),
    [
        ({'target': 'power on'}, 60),
        ({'target': 'rebooting'}, 60),
        ({'target': 'soft power off'}, 600),
        ({'target': 'power on', 'timeout': 5}, 5),
        ({'target': 'soft rebooting', 'timeout': 5}, 5),
    ],
)
def test_power_has_a_time_limit(endless, client, body, limit):
    path = f'/v1/nodes/{client.node()["uuid"]}'
    assert client.ask('PUT', f'{path}/states/power', body).status_int == 202
    finish_work(endless)
    pass_time(endless, limit - 2)
    finish_work(endless)
    assert client.get(path)['target_power_state']
    pass_time(endless, 2)
    finish_work(endless)
    node = client.get(path)
    assert (node['target_power_state'], node['power_state'], node['reservation']) == (None, None, None)
    target = body['target']
    assert node['last_error'] == (
        f"Failed to change power state to '{states.POWER_TARGETS[target]}' by '{target}': "
        f'Failed to set node power state to {target}.'
    )
    assert client.ask('PUT', f'{path}/states/power', body).status_int == 202


@pytest.mark.parametrize('action', ENDLESS)
def test_a_lock_is_broken(endless, client, action):
    """The result of a worker that still works on the node is discarded."""
    failed = ENDLESS[action][3]
    uuid = begin(endless, client, action)
    make_due(endless)
    claim = carried.claim(endless.service, uuid)
    assert client.ask('DELETE', f'/v1/nodes/{uuid}/lock').status_int == 204
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['provision_state'], node['reservation']) == (failed, None)
    assert node['last_error'] == 'The lock of the node was broken by request.'
    assert outcomes.settle(Context(endless.service, None, 0, ''), claim, base.Done(power_state='power on')) is False
    assert client.get(f'/v1/nodes/{uuid}')['provision_state'] == failed
    again = client.ask('DELETE', f'/v1/nodes/{uuid}/lock')
    assert (again.status_int, again.json['code']) == (409, 'baremetal.node.not_locked')


def test_a_lock_without_work_is_broken(app, client):
    """No request can cause this, but after a bug the operator can still unlock the node."""
    uuid = client.node()['uuid']
    with app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).values(reservation='gone', target_power_state='power on'))
    assert client.ask('DELETE', f'/v1/nodes/{uuid}/lock').status_int == 204
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['reservation'], node['target_power_state']) == (None, None)


def test_a_power_change_is_given_up(endless, client):
    uuid = client.node()['uuid']
    client.ask('PUT', f'/v1/nodes/{uuid}/states/power', {'target': 'rebooting'})
    finish_work(endless)
    assert client.ask('DELETE', f'/v1/nodes/{uuid}/lock', version='1.37').status_int == 406
    assert client.ask('DELETE', f'/v1/nodes/{uuid}/lock').status_int == 204
    node = client.get(f'/v1/nodes/{uuid}')
    assert node['last_error'] == (
        "Failed to change power state to 'power on' by 'rebooting': The lock of the node was broken by request."
    )
    assert (node['reservation'], node['target_power_state'], node['provision_state']) == (None, None, 'enroll')


def test_who_broke_a_lock_is_logged(database_url, caplog):
    with make_app(database_url, api__auth_strategy='noauth2') as app:
        client = Client(app)
        headers = {'X-Auth-Token': 'admin', 'OpenStack-System-Scope': 'all', 'X-Roles': 'admin,member,reader'}
        body = {'driver': 'fake-hardware', 'name': 'one'}
        assert client.ask('POST', '/v1/nodes', body, headers=headers).status_int == 201
        power = {'target': 'power on'}
        assert client.ask('PUT', '/v1/nodes/one/states/power', power, headers=headers).status_int == 202
        with caplog.at_level(logging.WARNING):
            assert client.ask('DELETE', '/v1/nodes/one/lock', headers=headers).status_int == 204
        assert 'Node one: user admin of project None broke its lock, and gave up power' in caplog.text
        node = client.ask('GET', '/v1/nodes/one', headers=headers).json
        assert node['last_error'].endswith('The lock of the node was broken by user admin.')
