"""The lookout for servers that are frozen, while threads use connections."""

import sys
import threading

import pytest
import sqlalchemy as sa

from ironic_traits.db import hosts, lookout, timeouts

LIMITS = timeouts.Limits(connect=2, lock=30, statement=40)


@pytest.fixture
def watching():
    """A lookout for a server that does not respond."""

    def probe(host):
        raise ConnectionError('The server does not respond.')

    its_hosts = hosts.Hosts(sa.make_url('postgresql+psycopg2://one,two/name'), LIMITS)
    created = lookout.Lookout(its_hosts, probe, lambda: None)
    yield created
    created.end()


@pytest.fixture
def frequent_switches():
    """Let threads switch as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_take_connections_during_a_check(watching, frequent_switches):
    """A failed check ends the connections in use while other threads take and return connections."""
    for connection in (old := [object() for _ in range(10_000)]):
        watching.take(connection, None)
    ended = threading.Event()

    def use():
        mine = [object() for _ in range(10)]
        while not ended.is_set():
            for connection in mine:
                watching.take(connection, None)
            for connection in mine:
                watching.give(connection, None)

    thread = threading.Thread(target=use)
    thread.start()
    try:
        for _ in range(300):
            watching._check()
    finally:
        ended.set()
        thread.join()
    for connection in old:
        watching.give(connection, None)
    assert not watching._in_use
