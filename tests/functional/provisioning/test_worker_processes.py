"""Workers as processes: several of them, killed ones, and those that the service starts."""

import concurrent.futures
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.deploy import states
from tests.support.client import Client
from tests.support.service import ForkedServer, Server, finish_work, worker
from tests.support.terminal import is_running
from tests.support.transitions import MORE, ask, state, until


def test_workers_share_the_work(app, client, available, database_url):
    """Exactly one worker performs each transition."""
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
    """After kill -9 in the middle of a deploy, another worker takes over, and the node becomes active."""
    config = tmp_path / 'worker.conf'
    # This driver works in the worker itself, so that the deploy takes some time.
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


_RECORDING = """
import os, pathlib, time
from ironic_traits.cmd import worker
from ironic_traits.deploy import base
from ironic_traits.deploy.fake_hardware import FakeHardware

def work(self, task):
    with pathlib.Path(os.environ['RECORD']).open('a') as record:
        print(task.step['step'], file=record)
    time.sleep(float(os.environ['SECONDS']) if task.step['step'] == 'burn' else 0)
    return base.Done(power_state='power on')

FakeHardware.work = work
worker.main()
"""


def test_a_worker_is_killed_in_a_step(client, available, database_url, tmp_path):
    """After kill -9 in the second of three steps, another worker repeats the second step, but not the first one."""
    config, record = tmp_path / 'worker.conf', tmp_path / 'record'
    config.write_text('[deploy]\nlease_seconds = 1\npoll_interval = 0.01\n')
    record.touch()

    def run(seconds):
        command = [sys.executable, '-c', _RECORDING, '--database', database_url, '--config-file', config]
        return subprocess.Popen(command, env=os.environ | {'RECORD': str(record), 'SECONDS': str(seconds)})

    uuid = available()
    steps = [
        {'interface': 'management', 'step': name, 'args': {}, 'priority': priority}
        for name, priority in (('burn', 50), ('finish', 10))
    ]
    first = run(300)
    try:
        ask(client, uuid, 'active', deploy_steps=steps)
        deadline = time.monotonic() + 30
        while 'burn' not in record.read_text() and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    node = client.get(f'/v1/nodes/{uuid}')
    assert (node['provision_state'], node['deploy_step']) == ('deploying', steps[0])
    second = run(0)
    try:
        node = until(client, uuid, {'active', 'deploy failed'})
        assert (node['provision_state'], node['deploy_step']) == ('active', {})
        assert record.read_text().split() == ['deploy', 'burn', 'burn', 'finish']
    finally:
        second.terminate()
        assert second.wait(20) == 0


def test_a_driver_that_hangs(app, client, available, database_url, tmp_path):
    """If the only worker hangs, the work ends with its lease, and the worker continues."""
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
            assert node['last_error'] == (
                'Deploy step deploy.deploy failed: The driver failed in "deploy": TimeoutError: it took longer than 1 '
                'seconds.'
            )
    finally:
        hanging.terminate()
        assert hanging.wait(20) == 0


def _leased(app):
    with app.service.read() as connection:
        return connection.scalar(sa.select(tables.transitions.c.lease))


def test_the_service_starts_a_worker_again(app, client, available, database_url):
    """The service restarts its worker. The worker ends with the service, also if that is killed."""
    with Server(database_url) as server:
        (first,) = _workers(server.process.pid)
        os.kill(first, signal.SIGKILL)
        uuid = available()
        ask(client, uuid, 'active')
        assert until(client, uuid, {'active'})
        (second,) = _workers(server.process.pid)
        assert second != first
    assert not is_running(second)
    with Server(database_url) as server:
        (third,) = _workers(server.process.pid)
        server.process.kill()
        server.process.wait()
        deadline = time.monotonic() + 20
        while is_running(third) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not is_running(third)


def test_the_service_without_a_worker(app, client, available, database_url):
    """A separate worker works for a service without a worker."""
    with ForkedServer(database_url, '--nostart-worker') as server:
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


def test_in_the_end_every_node_is_at_rest(app, database_url):
    """After random requests of clients, no request has failed with 5xx, and no work is unfinished."""
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
