"""Running workers: heartbeats, metrics, the health check, and the warning about missing workers."""

import datetime
import logging
import time

import sqlalchemy as sa

from ironic_traits.api.layers import worker_check
from ironic_traits.db import tables
from ironic_traits.inventory.provisioning import workers as alive
from ironic_traits.worker.heartbeat import Heartbeat
from tests.support.client import Client
from tests.support.service import ForkedServer, make_app
from tests.support.transitions import ask, pass_time


def rows(app):
    """Return the rows of workers."""
    with app.service.read() as connection:
        return connection.execute(sa.select(tables.workers)).all()


def wait_for_rows(app, number, seconds=30):
    """Wait until there are as many rows of workers, and return them."""
    deadline = time.monotonic() + seconds
    while len(workers := rows(app)) != number:
        assert time.monotonic() < deadline, workers
        time.sleep(0.02)
    return workers


def test_heartbeat_of_a_worker(app, caplog):
    caplog.set_level(logging.INFO)
    with Heartbeat(app.service):
        (row,) = wait_for_rows(app, 1)
        assert row.hostname
        assert (row.drivers, row.conductor_group) == (['fake-hardware'], '')
        assert alive.alive(app.service) == 1
    assert rows(app) == []
    lines = [record.getMessage() for record in caplog.records if record.name == 'ironic_traits.worker.heartbeat']
    assert [line.rpartition(' ')[2] for line in lines] == ['starts', 'stops']


def test_workers_without_heartbeats(app):
    """A worker without heartbeats counts as dead. Its row is deleted later."""
    facts = {'hostname': 'here', 'pid': 1, 'drivers': []}
    for uuid in ('a' * 36, 'b' * 36):
        alive.beat(app.service, uuid, **facts)
    earlier = datetime.timedelta(seconds=app.service.conf.deploy.heartbeat_timeout + 1)
    _age(app, earlier)
    assert alive.alive(app.service) == 0
    alive.beat(app.service, 'a' * 36, **facts)
    assert (alive.alive(app.service), len(rows(app))) == (1, 2)
    _age(app, alive.REMEMBERED)
    alive.beat(app.service, 'a' * 36, **facts)
    assert [row.uuid for row in rows(app)] == ['a' * 36]


def _age(app, duration):
    with app.service.write() as connection:
        for row in connection.execute(sa.select(tables.workers)).all():
            older = sa.update(tables.workers).where(tables.workers.c.id == row.id)
            connection.execute(older.values(heartbeat_at=row.heartbeat_at - duration))


def test_the_longest_wait(app, client):
    assert alive.longest_wait(app.service) == 0
    assert alive.summary(app.service) == '0 workers are alive; no work waits'
    uuid = client.node()['uuid']
    ask(client, uuid, 'manage')
    pass_time(app, 100)
    assert 100 <= alive.longest_wait(app.service) < 160
    # Work with a lease does not count as waiting, nor does work that is due later.
    with app.service.write() as connection:
        now = connection.scalar(sa.select(tables.transitions.c.due_at)) + datetime.timedelta(seconds=100)
        later = now + datetime.timedelta(hours=1)
        connection.execute(sa.update(tables.transitions).values(lease='x', leased_until=later))
    assert alive.longest_wait(app.service) == 0
    with app.service.write() as connection:
        connection.execute(sa.update(tables.transitions).values(lease=None, leased_until=None, due_at=later))
    assert alive.longest_wait(app.service) == 0


def test_metrics_and_health(database_url):
    with make_app(database_url, metrics__enabled=True) as app:
        client = Client(app)
        ask(client, client.node()['uuid'], 'manage')
        pass_time(app, 100)
        text = client.ask('GET', '/metrics').text
        assert '\nironic_traits_workers 0.0\n' in text
        assert '\nironic_traits_work_waiting_seconds 1' in text
        assert 'ironic_traits_build_info{version="0.1.0"} 1.0\n' in text
        plain, detailed = client.ask('GET', '/healthcheck'), client.ask('GET', '/healthcheck?detailed')
        assert (plain.status_int, detailed.status_int) == (200, 200)
        assert 'worker' not in plain.text
        assert '0 workers are alive; work has waited for 10' in detailed.text


def test_warning(app, client, caplog):
    """The warning is logged at most once a minute, and only if work has waited for long."""
    watch = worker_check.WorkerCheck(app.service)
    ask(client, client.node()['uuid'], 'manage')

    def warnings():
        watch._next_look = 0
        watch.look()
        return [each.getMessage() for each in caplog.records if each.name == 'ironic_traits.api.layers.worker_check']

    assert warnings() == []
    pass_time(app, 100)
    (line,) = warnings()
    assert 'is an ironic-traits-worker running?' in line
    assert len(warnings()) == 1


def test_the_warning_of_a_running_service(tmp_path):
    """The service looks for waiting work when requests come in."""
    (tmp_path / 'soon.conf').write_text('[deploy]\nwaiting_warning = 1\n')
    url = f'sqlite:///{tmp_path}/own.sqlite'
    with ForkedServer(url, '--nostart-worker', '--config-file', 'soon.conf', cwd=tmp_path) as server:
        from tests.support.http_client import ask as request
        from tests.support.http_client import make

        uuid = make(server.base)
        request(server.base, 'PUT', f'/v1/nodes/{uuid}/states/provision', {'target': 'manage'})
        time.sleep(worker_check.LOOK_EVERY + 1)
        for _ in range(3):
            request(server.base, 'GET', '/v1')
        printed = server.stop()
    assert printed.count('Work on nodes has waited for a worker') == 1
