"""Transitions: workers perform them, in spite of delays, failures and killed workers."""

import concurrent.futures
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.deploy import base, states
from ironic_traits.inventory import transitions as carried
from tests.support.client import Client
from tests.support.service import Server, finish_work, make_app, worker

LONG = 300


@pytest.fixture
def available(app, client):
    """Function that creates an available node, and returns its uuid."""

    def make(**fields):
        uuid = client.node(**fields)['uuid']
        with app.service.write() as connection:
            changes = {'provision_state': states.AVAILABLE, 'power_state': states.POWER_OFF}
            connection.execute(sa.update(tables.nodes).where(tables.nodes.c.uuid == uuid).values(changes))
        return uuid

    return make


def ask(client, uuid, target, **more):
    """Request a provision state, which must be accepted."""
    response = client.ask('PUT', f'/v1/nodes/{uuid}/states/provision', {'target': target, **more})
    assert response.status_int == 202, response.text


def state(client, uuid):
    """Return the provision state of a node."""
    return client.get(f'/v1/nodes/{uuid}/states')['provision_state']


def until(client, uuid, names, seconds=30):
    """Wait until a node is in one of some states, and return it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        node = client.get(f'/v1/nodes/{uuid}')
        if node['provision_state'] in names:
            return node
        time.sleep(0.02)
    raise TimeoutError(node)


def pass_time(app, seconds=LONG):
    """Move the times of all transitions back, as if some seconds had passed."""
    with app.service.write() as connection:
        for row in connection.execute(sa.select(tables.transitions)).all():
            earlier = {
                name: getattr(row, name) - carried.datetime.timedelta(seconds=seconds)
                for name in ('due_at', 'leased_until')
                if getattr(row, name)
            }
            connection.execute(
                sa.update(tables.transitions).where(tables.transitions.c.node_id == row.node_id).values(earlier)
            )


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
MORE = {
    'clean': {'clean_steps': [{'interface': 'bios', 'step': 'factory_reset'}]},
    'rescue': {'rescue_password': 'hush-hush'},
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


def put_in(app, uuid, name):
    """Put a node into a provision state."""
    with app.service.write() as connection:
        changes = {'provision_state': name, 'power_state': states.POWER_OFF}
        connection.execute(sa.update(tables.nodes).where(tables.nodes.c.uuid == uuid).values(changes))


@pytest.mark.parametrize('verb', WAYS)
def test_delays(app, client, verb):
    """The node waits in the state for it, and no worker is busy meanwhile."""
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
    assert node['last_error'] == f'fake-hardware is configured to fail "{action}".'
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
    """Invalid driver_info fails the transition, and not the worker."""
    uuid = available(driver_info={'fake_delays': delays})
    ask(client, uuid, 'active')
    finish_work(app)
    node = client.get(f'/v1/nodes/{uuid}')
    assert node['provision_state'] == 'deploy failed'
    assert node['last_error'].startswith('fake_delays is not an object')


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
    """A wait can be aborted. The work does not continue."""
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
    """The result of a worker whose lease has ended is discarded."""
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
    assert carried.settle(app.service, late, base.WorkFailed('late')) is False
    assert state(client, uuid) == 'deploying'
    assert carried.settle(app.service, second, base.Done(power_state='power on')) is True
    assert carried.settle(app.service, second, base.Done()) is False
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['provision_state'], node['last_error']) == ('active', None)


def test_max_attempts(app, client, available):
    """A transition that kills its workers fails with a reason."""
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
    assert node['last_error'] == 'The driver failed in "deploy": ZeroDivisionError: by zero'


def test_driver_without_a_power_state(app, client, monkeypatch):
    """A manageable node must have one."""
    monkeypatch.setattr(app.service.drivers['fake-hardware'], 'work', lambda task: base.Done())
    uuid = client.node()['uuid']
    ask(client, uuid, 'manage')
    finish_work(app)
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['provision_state'], node['power_state']) == ('enroll', None)
    assert node['last_error'] == "The driver 'fake-hardware' did not determine the power state."


def test_workers_share_the_work(app, client, available, database_url):
    """One worker performs each transition."""
    uuids = [available() for _ in range(30)]
    for uuid in uuids:
        ask(client, uuid, 'active')
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(worker(database_url))
        for uuid in uuids:
            assert until(client, uuid, {'active', 'deploy failed'})['last_error'] is None


def start(url, *options):
    """Start an ironic-traits-worker."""
    program = pathlib.Path(sys.executable).parent / 'ironic-traits-worker'
    return subprocess.Popen([program, '--database', url, *options])


def test_a_worker_is_killed(app, client, available, database_url, tmp_path):
    """kill -9 in the middle of a deploy: another worker takes over, and the node becomes active."""
    config = tmp_path / 'worker.conf'
    # This driver works in the worker itself, so that there is a middle of the deploy.
    config.write_text('[deploy]\nlease_seconds = 1\npoll_interval = 0.01\n')
    uuid = available()
    stubborn = subprocess.Popen(
        [sys.executable, '-c', _STUBBORN, '--database', database_url, '--config-file', config], env=os.environ
    )
    try:
        ask(client, uuid, 'active')
        deadline = time.monotonic() + 30
        while not _leased(app) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert _leased(app)
    finally:
        stubborn.send_signal(signal.SIGKILL)
        stubborn.wait()
    assert state(client, uuid) == 'deploying'
    process = start(database_url, '--config-file', str(config))
    try:
        node = until(client, uuid, {'active', 'deploy failed'})
        assert (node['provision_state'], node['reservation']) == ('active', None)
    finally:
        process.terminate()
        assert process.wait(20) == 0


_STUBBORN = """
import time
from ironic_traits.cmd import worker
from ironic_traits.deploy.fake_hardware import FakeHardware
FakeHardware.work = lambda self, task: time.sleep(300)
worker.main()
"""


def test_a_driver_that_hangs(app, client, available, database_url, tmp_path):
    """The only worker hangs. The work is ended with its lease, and the worker goes on."""
    config = tmp_path / 'worker.conf'
    config.write_text('[deploy]\nlease_seconds = 1\npoll_interval = 0.01\n')
    uuids = [available(), available()]
    for uuid in uuids:
        ask(client, uuid, 'active')
    hanging = subprocess.Popen([sys.executable, '-c', _STUBBORN, '--database', database_url, '--config-file', config])
    try:
        for uuid in uuids:
            node = until(client, uuid, {'active', 'deploy failed'})
            assert node['provision_state'] == 'deploy failed'
            assert node['last_error'] == 'The driver failed in "deploy": TimeoutError: it took longer than 1 seconds'
    finally:
        hanging.terminate()
        assert hanging.wait(20) == 0


def _leased(app):
    with app.service.read() as connection:
        return connection.scalar(sa.select(tables.transitions.c.lease))


def test_the_service_starts_a_worker_again(app, client, available, database_url):
    """The worker ends with the service, also if that is killed."""
    with Server(database_url) as server:
        (first,) = _workers(server.process.pid)
        os.kill(first, signal.SIGKILL)
        uuid = available()
        ask(client, uuid, 'active')
        assert until(client, uuid, {'active'})
        (second,) = _workers(server.process.pid)
        assert second != first
    assert not _is_there(second)
    with Server(database_url) as server:
        (third,) = _workers(server.process.pid)
        server.process.kill()
        server.process.wait()
        deadline = time.monotonic() + 20
        while _is_there(third) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not _is_there(third)


def test_the_service_without_a_worker(app, client, available, database_url):
    """A separate worker does the work."""
    with Server(database_url, '--nostart-worker') as server:
        assert _workers(server.process.pid) == []
        uuid = available()
        ask(client, uuid, 'active')
        assert state(client, uuid) == 'deploying'
        with worker(database_url):
            until(client, uuid, {'active'})


def _workers(parent):
    """Return the pids of the workers that a process started."""
    pids = []
    for entry in pathlib.Path('/proc').iterdir():
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = (entry / 'stat').read_text().rpartition(')')[2].split()
            if int(fields[1]) == parent and b'ironic_traits.cmd.worker' in (entry / 'cmdline').read_bytes():
                pids.append(int(entry.name))
    return pids


def _is_there(pid):
    return pathlib.Path(f'/proc/{pid}').exists()


def test_in_the_end_every_node_is_at_rest(app, database_url):
    """Clients send requests at random while workers run. Nothing fails, and no work stays unfinished."""
    clients = [Client(app) for _ in range(6)]
    uuids = [clients[0].node(driver_info={'fake_delays': {'deploy': 0.02, 'clean': 0.02}})['uuid'] for _ in range(3)]
    statuses = set()

    def work(client, number):
        choose = random.Random(number)
        for _ in range(60):
            path = f'/v1/nodes/{choose.choice(uuids)}'
            verb = choose.choice([*states.VERBS, 'power', 'maintenance', 'patch', 'delete'])
            if verb in states.VERBS:
                body = {'target': verb, **MORE.get(verb, {})}
                response = client.ask('PUT', f'{path}/states/provision', body)
            elif verb == 'power':
                response = client.ask('PUT', f'{path}/states/power', {'target': choose.choice([*states.POWER_TARGETS])})
            elif verb == 'maintenance':
                response = client.ask(choose.choice(['PUT', 'DELETE', 'DELETE']), f'{path}/maintenance')
            elif verb == 'patch':
                name = choose.choice(['retired', 'protected'])
                patch = [{'op': 'add', 'path': f'/{name}', 'value': choose.choice([True, False, False])}]
                response = client.ask('PATCH', path, patch)
            else:
                response = client.ask('DELETE', f'{path}/maintenance')
            statuses.add(response.status_int)

    with worker(database_url), worker(database_url), concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(work, clients, range(len(clients))))
        for uuid in uuids:
            until(clients[0], uuid, states.TRANSITIONS.keys() - states.WORKING - states.WAITING)
    finish_work(app)
    assert max(statuses) < 500
    assert 202 in statuses
    with app.service.read() as connection:
        assert connection.execute(sa.select(tables.transitions)).all() == []
        rows = connection.execute(sa.select(tables.nodes)).all()
    for row in rows:
        assert (row.reservation, row.target_power_state) == (None, None)
        assert row.provision_state not in states.WORKING | states.WAITING
        assert row.target_provision_state in (states.TARGETS.get(row.provision_state), states.MANAGEABLE)
