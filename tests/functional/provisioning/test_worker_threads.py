"""The threads of a worker: concurrent transitions, and drivers that do not return."""

import threading

import pytest

from ironic_traits.deploy import base
from tests.support.client import Client
from tests.support.service import make_app, worker
from tests.support.transitions import ask, put_in, state, until

MANY = 30


@pytest.fixture
def app(database_url):
    with make_app(database_url, deploy__threads=MANY) as app:
        yield app


@pytest.fixture
def client(app):
    return Client(app)


def begin(client, uuids):
    """Begin the verification of nodes."""
    for uuid in uuids:
        ask(client, uuid, 'manage')


def nodes(client, count):
    """Create nodes, and return their uuids."""
    return [client.node()['uuid'] for _ in range(count)]


def drive(service, monkeypatch, work):
    """Let the driver of a worker call this function."""
    monkeypatch.setattr(service.drivers['fake-hardware'], 'work', work)


def waiting_driver():
    """Return (event that a call sets, event that ends the calls, the driver's function)."""
    under_way, freed = threading.Event(), threading.Event()

    def work(task):
        under_way.set()
        freed.wait(60)
        return base.Done(power_state='power on')

    return under_way, freed, work


def test_many_at_a_time(app, client, database_url, monkeypatch):
    """All calls run at the same time: each waits for all others."""
    uuids = nodes(client, MANY)
    barrier = threading.Barrier(MANY, timeout=60)

    def work(task):
        barrier.wait()
        return base.Done(power_state='power on')

    with worker(database_url, deploy__threads=MANY) as service:
        drive(service, monkeypatch, work)
        begin(client, uuids)
        for uuid in uuids:
            assert until(client, uuid, {'manageable', 'enroll'})['last_error'] is None
            assert state(client, uuid) == 'manageable'


def test_no_more_than_the_limit(app, client, database_url, monkeypatch):
    """More work waits for a free thread, and begins as soon as there is one."""
    under_way, most = [], []

    def work(task):
        under_way.append(task.node['uuid'])
        most.append(len(under_way))
        threading.Event().wait(0.02)
        under_way.remove(task.node['uuid'])
        return base.Done(power_state='power on')

    uuids = nodes(client, 12)
    with worker(database_url, deploy__threads=3) as service:
        drive(service, monkeypatch, work)
        begin(client, uuids)
        for uuid in uuids:
            until(client, uuid, {'manageable'})
    assert max(most) <= 3


def test_calls_that_do_not_return(app, client, database_url, monkeypatch):
    """Calls that do not return fail at the end of their leases. Other work continues."""
    hanging, *others = nodes(client, 3)
    freed = threading.Event()

    def work(task):
        if task.node['uuid'] == hanging:
            freed.wait(60)
            return base.Done(power_state='power on')
        return base.Done(power_state='power off')

    # Two threads: one of them hangs.
    with worker(database_url, deploy__threads=2, deploy__lease_seconds=3) as service:
        drive(service, monkeypatch, work)
        begin(client, [hanging, *others])
        for uuid in others:
            until(client, uuid, {'manageable'})
        assert state(client, hanging) == 'verifying'
        node = until(client, hanging, {'enroll'})
        assert node['last_error'] == 'The driver failed in "verify": TimeoutError: it took longer than 3 seconds'
        freed.set()
        (later,) = nodes(client, 1)
        begin(client, [later])
        until(client, later, {'manageable'})
    # The late result of the call was ignored.
    assert client.get(f'/v1/nodes/{hanging}')['power_state'] is None


def test_too_many_calls_that_do_not_return(app, client, database_url, monkeypatch):
    """The worker ends, so that another one can replace it: a thread cannot be ended."""
    freed, (first, second, left) = threading.Event(), nodes(client, 3)
    with worker(database_url, deploy__threads=1, deploy__lease_seconds=1) as service:
        drive(service, monkeypatch, lambda task: freed.wait(60))
        begin(client, [first, second])
        for uuid in (first, second):
            until(client, uuid, {'enroll'})
        begin(client, [left])
        freed.wait(0.5)
        assert state(client, left) == 'verifying'
        freed.set()
    with worker(database_url):
        until(client, left, {'manageable'})


def test_a_stop_waits_for_calls(app, client, database_url, monkeypatch):
    """A stop waits until the running work is done. No new work begins."""
    under_way, freed, work = waiting_driver()
    (uuid,) = nodes(client, 1)
    with worker(database_url) as service:
        drive(service, monkeypatch, work)
        begin(client, [uuid])
        assert under_way.wait(60)
        threading.Timer(0.2, freed.set).start()
    assert state(client, uuid) == 'manageable'


def test_the_system_has_no_thread_left(app, client, database_url, monkeypatch):
    """If the system has no thread left, the work begins as soon as there is one again."""
    refused, (uuid,) = threading.Event(), nodes(client, 1)

    def start(thread):
        refused.set()
        raise RuntimeError("can't start new thread")

    with worker(database_url):
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, 'start', start)
            begin(client, [uuid])
            assert refused.wait(60)
        until(client, uuid, {'manageable'})


def test_a_node_is_deleted_meanwhile(app, client, database_url, monkeypatch):
    """The worker continues after the deletion of a node on which it works."""
    under_way, freed, work = waiting_driver()
    (uuid,) = nodes(client, 1)
    with worker(database_url) as service:
        drive(service, monkeypatch, work)
        begin(client, [uuid])
        assert under_way.wait(60)
        client.ask('DELETE', f'/v1/nodes/{uuid}/lock')
        put_in(app, uuid, 'enroll')
        assert client.ask('DELETE', f'/v1/nodes/{uuid}').status_int == 204
        freed.set()
        (other,) = nodes(client, 1)
        begin(client, [other])
        until(client, other, {'manageable'})
