"""Workers perform transitions in spite of delays, failures and killed workers."""

import concurrent.futures

import pytest
import sqlalchemy as sa
from oslo_context import context as oslo_context

from ironic_traits.context import Context
from ironic_traits.db import tables
from ironic_traits.deploy import base, states
from ironic_traits.inventory.inspection import outcomes
from ironic_traits.inventory.provisioning import transitions as carried
from ironic_traits.worker.performer import Performer
from tests.support.client import Client
from tests.support.service import finish_work, make_app
from tests.support.transitions import LONG, MORE, ask, pass_time, put_in, state

#: {verb: (initial state, state of the wait, final state)}.
WAYS = {
    'manage': ('enroll', 'verifying', 'manageable'),
    'provide': ('manageable', 'clean wait', 'available'),
    'inspect': ('manageable', 'inspect wait', 'manageable'),
    'adopt': ('manageable', 'adopting', 'active'),
    'clean': ('manageable', 'clean wait', 'manageable'),
    'active': ('available', 'wait call-back', 'active'),
    'rebuild': ('active', 'wait call-back', 'active'),
    'rescue': ('active', 'rescue wait', 'rescue'),
    'unrescue': ('rescue', 'unrescuing', 'active'),
    'deleted': ('active', 'deleting', 'available'),
}
FAILED = {
    'manage': 'enroll',
    'provide': 'clean failed',
    'inspect': 'inspect failed',
    'adopt': 'adopt failed',
    'clean': 'clean failed',
    'active': 'deploy failed',
    'rebuild': 'deploy failed',
    'rescue': 'rescue failed',
    'unrescue': 'unrescue failed',
    'deleted': 'error',
}


@pytest.mark.parametrize('verb', WAYS)
def test_delays(app, client, verb):
    """The node waits in its wait state, without a busy worker."""
    begin, waiting, end = WAYS[verb]
    action = states.VERBS[verb].action
    uuid = client.node(driver_info={'fake_delays': {action: LONG}})['uuid']
    put_in(app, uuid, begin)
    ask(client, uuid, verb, **MORE.get(verb, {}))
    finish_work(app)
    node = client.get(f'/v1/nodes/{uuid}')
    assert node['provision_state'] == waiting
    # A waiting node has no lock, so it can be aborted if its state allows it.
    assert bool(node['reservation']) is (waiting in states.WORKING)
    pass_time(app)
    finish_work(app)
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['provision_state'], node['target_provision_state'], node['last_error']) == (end, None, None)
    assert node['reservation'] is None
    assert node['power_state']


@pytest.mark.parametrize('verb', FAILED)
def test_failures(app, client, verb):
    action = states.VERBS[verb].action
    uuid = client.node(driver_info={'fake_failures': [action]})['uuid']
    put_in(app, uuid, WAYS[verb][0])
    ask(client, uuid, verb, **MORE.get(verb, {}))
    finish_work(app)
    node = client.get(f'/v1/nodes/{uuid}')
    assert node['provision_state'] == FAILED[verb]
    assert f'fake-hardware is configured to fail "{action}".' in node['last_error']
    target = 'manageable' if verb == 'clean' else states.TARGETS.get(FAILED[verb])
    assert (node['target_provision_state'], node['reservation']) == (target, None)
    broken = action == 'clean'
    assert node['maintenance'] is broken
    assert node['fault'] == ('clean failure' if broken else None)


def test_recovery_from_a_failed_clean(app, client):
    uuid = client.node(driver_info={'fake_failures': ['clean']})['uuid']
    put_in(app, uuid, 'manageable')
    ask(client, uuid, 'provide')
    finish_work(app)
    client.ask('DELETE', f'/v1/nodes/{uuid}/maintenance')
    assert client.get(f'/v1/nodes/{uuid}?fields=fault,maintenance_reason') == {
        'fault': None,
        'maintenance_reason': None,
    }
    client.ask('PATCH', f'/v1/nodes/{uuid}', [{'op': 'remove', 'path': '/driver_info/fake_failures'}])
    for verb, end in (('manage', 'manageable'), ('provide', 'available')):
        ask(client, uuid, verb)
        finish_work(app)
        assert state(client, uuid) == end
    assert client.get(f'/v1/nodes/{uuid}?fields=last_error') == {'last_error': None}


def test_power_failure(app, client):
    uuid = client.node(driver_info={'fake_failures': ['power']})['uuid']
    assert client.ask('PUT', f'/v1/nodes/{uuid}/states/power', {'target': 'power on'}).status_int == 202
    before = client.get(f'/v1/nodes/{uuid}/states')
    assert (before['target_power_state'], before['power_state']) == ('power on', None)
    finish_work(app)
    after = client.get(f'/v1/nodes/{uuid}/states')
    assert (after['target_power_state'], after['power_state']) == (None, None)
    assert after['last_error'].startswith("Failed to change power state to 'power on' by 'power on': ")


@pytest.mark.parametrize('delays', ['soon', {'deploy': 'soon'}, {'deploy': [1]}, ['deploy']])
def test_invalid_delays(app, client, available, delays):
    """Invalid driver_info fails the transition, but not the worker."""
    uuid = available(driver_info={'fake_delays': delays})
    ask(client, uuid, 'active')
    finish_work(app)
    node = client.get(f'/v1/nodes/{uuid}')
    assert node['provision_state'] == 'deploy failed'
    assert node['last_error'].startswith('Deploy step deploy.deploy failed: fake_delays is not an object')


def test_delays_and_failures_of_all_nodes(database_url):
    options = {'fake_hardware__delays': {'deploy': LONG}, 'fake_hardware__failures': ['verify']}
    with make_app(database_url, **options) as app:
        client = Client(app)
        first, second = client.node()['uuid'], client.node(driver_info={'fake_failures': []})['uuid']
        for uuid in (first, second):
            ask(client, uuid, 'manage')
        finish_work(app)
        assert (state(client, first), state(client, second)) == ('enroll', 'manageable')
        put_in(app, first, 'available')
        ask(client, first, 'active')
        finish_work(app)
        assert state(client, first) == 'wait call-back'


def test_abort(app, client):
    """An abort of a wait ends the work."""
    uuid = client.node(driver_info={'fake_delays': {'clean': LONG, 'inspect': LONG}})['uuid']
    for verb, failed in (('provide', 'clean failed'), ('inspect', 'inspect failed')):
        put_in(app, uuid, 'manageable')
        ask(client, uuid, verb)
        finish_work(app)
        ask(client, uuid, 'abort')
        pass_time(app)
        finish_work(app)
        node = client.get(f'/v1/nodes/{uuid}')
        assert node['provision_state'] == failed
        assert 'was aborted by request' in node['last_error']
        assert node['maintenance'] is False


def test_an_inspection_can_be_aborted_since_1_41(app, client):
    uuid = client.node(driver_info={'fake_delays': {'inspect': LONG}})['uuid']
    put_in(app, uuid, 'manageable')
    ask(client, uuid, 'inspect')
    finish_work(app)
    path = f'/v1/nodes/{uuid}/states/provision'
    assert client.get(f'/v1/nodes/{uuid}/states', version='1.38')['provision_state'] == 'inspecting'
    assert client.ask('PUT', path, {'target': 'abort'}, version='1.40').status_int == 406
    assert client.ask('PUT', path, {'target': 'abort'}, version='1.41').status_int == 202


def test_undeploy_during_the_wait_of_a_deploy(app, client, available):
    uuid = available(driver_info={'fake_delays': {'deploy': LONG}})
    ask(client, uuid, 'active')
    finish_work(app)
    ask(client, uuid, 'deleted')
    finish_work(app)
    assert state(client, uuid) == 'available'


@pytest.mark.parametrize(
    ('automated', 'own', 'cleaned'),
    [(True, None, True), (True, False, False), (False, True, True), (False, None, False)],
)
def test_automated_clean(database_url, automated, own, cleaned):
    with make_app(database_url, deploy__automated_clean=automated) as app:
        client = Client(app)
        uuid = client.node(automated_clean=own, driver_info={'fake_failures': ['clean']})['uuid']
        put_in(app, uuid, 'manageable')
        ask(client, uuid, 'provide')
        finish_work(app)
        assert state(client, uuid) == ('clean failed' if cleaned else 'available')


def test_vifs_are_detached_with_the_instance(app, client, available):
    uuid = available()
    client.ask('POST', f'/v1/nodes/{uuid}/vifs', {'id': 'left'})
    for target, vifs in (('active', [{'id': 'left'}]), ('deleted', [])):
        ask(client, uuid, target)
        finish_work(app)
        assert client.get(f'/v1/nodes/{uuid}/vifs') == {'vifs': vifs}


def test_node_is_deleted_during_a_wait(app, client):
    uuid = client.node(driver_info={'fake_delays': {'inspect': LONG}})['uuid']
    put_in(app, uuid, 'manageable')
    ask(client, uuid, 'inspect')
    finish_work(app)
    client.ask('PUT', f'/v1/nodes/{uuid}/maintenance')
    assert client.ask('DELETE', f'/v1/nodes/{uuid}').status_int == 204
    finish_work(app)
    with app.service.read() as connection:
        assert connection.execute(sa.select(tables.transitions)).all() == []


def test_one_worker_claims_a_transition(app, client, available):
    """One worker claims a transition. The result of a worker whose lease has ended is discarded."""
    uuid = available()
    ask(client, uuid, 'active')
    late = carried.claim(app.service, uuid)
    assert (late.action, late.attempts) == ('deploy', 1)
    assert carried.claim(app.service, uuid) is None
    assert carried.due(app.service, 10) == []
    pass_time(app)
    assert carried.due(app.service, 10) == [uuid]
    second = carried.claim(app.service, uuid)
    assert second.attempts == 2
    assert outcomes.settle(Context(app.service, None, 0, ''), late, base.WorkFailed('late')) is False
    assert state(client, uuid) == 'deploying'
    assert outcomes.settle(Context(app.service, None, 0, ''), second, base.Done(power_state='power on')) is True
    assert outcomes.settle(Context(app.service, None, 0, ''), second, base.Done()) is False
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['provision_state'], node['last_error']) == ('active', None)


def test_max_attempts(app, client, available):
    """A transition that kills its workers fails after max_attempts, with a reason."""
    uuid = available()
    ask(client, uuid, 'active')
    for _ in range(app.service.conf.deploy.max_attempts):
        assert carried.claim(app.service, uuid)
        pass_time(app)
    finish_work(app)
    node = client.get(f'/v1/nodes/{uuid}')
    assert node['provision_state'] == 'deploy failed'
    assert node['last_error'] == '"deploy" was started 3 times, but no worker finished it.'


def test_a_driver_that_is_broken(app, client, available, monkeypatch):
    def break_down(task):
        raise ZeroDivisionError('by zero')

    monkeypatch.setattr(app.service.drivers['fake-hardware'], 'work', break_down)
    uuid = available()
    ask(client, uuid, 'active')
    finish_work(app)
    node = client.get(f'/v1/nodes/{uuid}')
    assert node['provision_state'] == 'deploy failed'
    assert node['last_error'] == (
        'Deploy step deploy.deploy failed: The driver failed in "deploy": ZeroDivisionError: by zero.'
    )


def test_driver_without_a_power_state(app, client, monkeypatch):
    """Manage fails without a power state, because a manageable node must have one."""
    monkeypatch.setattr(app.service.drivers['fake-hardware'], 'work', lambda task: base.Done())
    uuid = client.node()['uuid']
    ask(client, uuid, 'manage')
    finish_work(app)
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['provision_state'], node['power_state']) == ('enroll', None)
    assert node['last_error'] == "The driver 'fake-hardware' did not determine the power state."


def test_log_lines_of_a_worker_name_no_request(app):
    def begin():
        Performer(app.service)
        return oslo_context.get_current()

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(begin).result() is None
