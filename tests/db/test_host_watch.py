"""The health check of servers that are frozen, while threads use connections."""

import select
import socket
import sys
import threading
import time
import types

import pytest
import sqlalchemy as sa

from ironic_traits.db.drivers import timeouts
from ironic_traits.db.failover import host_watch, hosts

#: Records of the pool: of connections to the first host, and to the second one.
FIRST, SECOND = (types.SimpleNamespace(info={hosts.HOST: number}) for number in range(2))
LIMITS = timeouts.Limits(connect=2, lock=30, statement=40)


def fail(host):
    raise ConnectionError('The server does not respond.')


@pytest.fixture
def watch():
    """A function (function that probes a host) that returns a HostWatch."""
    created = []

    def start(probe):
        its_hosts = hosts.Hosts(sa.make_url('postgresql+psycopg2://one,two/name'), LIMITS)
        its_hosts.probe = lambda host, *target: probe(host)
        created.append(host_watch.HostWatch(sa.create_engine(its_hosts.url), its_hosts))
        return created[-1]

    yield start
    for each in created:
        each.end()


@pytest.fixture
def frequent_switches():
    """Let threads switch as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_connections_that_are_taken_during_a_check(watch):
    """They end with the others of a dead host. Those to another host do not."""
    pairs = [socket.socketpair() for _ in range(3)]
    late, elsewhere, early = (pair[0] for pair in pairs)

    def probe(host):
        if host == 0:
            watching.take(late, FIRST)
            fail(host)

    watching = watch(probe)
    watching.take(elsewhere, SECOND)
    watching.take(early, FIRST)
    deadline = time.monotonic() + 30
    while not all(map(is_ended, (early, late))):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not is_ended(elsewhere)
    for pair in pairs:
        for each in pair:
            each.close()


def is_ended(connection):
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


def test_threads_take_connections_during_a_check(watch, frequent_switches):
    """A failed check ends the connections in use while other threads take and return connections."""
    watching = watch(fail)
    for connection in (old := [object() for _ in range(10_000)]):
        watching.take(connection, FIRST)
    time.sleep(host_watch._SLOW)
    ended = threading.Event()

    def use():
        mine = [object() for _ in range(10)]
        while not ended.is_set():
            for connection in mine:
                watching.take(connection, FIRST)
            for connection in mine:
                watching.give(connection, None)

    thread = threading.Thread(target=use)
    thread.start()
    try:
        for _ in range(300):
            watching._check(0)
    finally:
        ended.set()
        thread.join()
    for connection in old:
        watching.give(connection, None)
    assert not watching._in_use
