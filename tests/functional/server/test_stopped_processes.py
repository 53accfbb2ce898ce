"""A process of the service that was stopped for a while does not consider the database dead."""

import contextlib
import threading
import time

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory.search import node_index
from tests.chaos.proxy import Proxy
from tests.support import freezing
from tests.support.http_client import ask, make
from tests.support.service import ForkedServer

#: Seconds for which a process is stopped. This is longer than [database] connect_timeout, the limit of a check.
STOPPED = 3


@pytest.fixture
def proxy(database_server):
    """A proxy in front of the database server."""
    if database_server is None:
        pytest.skip('SQLite has no server')
    running = Proxy(database_server.port)
    yield running
    running.end()


@pytest.fixture
def running(database_url, proxy):
    """A service that reaches its database through the proxy."""
    url = sa.make_url(database_url).set(port=proxy.port).render_as_string(hide_password=False)
    with ForkedServer(url, '--nostart-worker') as service:
        # A second after its start, the process counts the nodes, to decide about an index. The end of that connection
        # would be an outage.
        time.sleep(node_index.FIRST_PAUSE + 1)
        yield service


@contextlib.contextmanager
def locked_nodes(url):
    """Keep the locks of all nodes."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.update(tables.nodes).values(generation=tables.nodes.c.generation + 1))
        yield
    engine.dispose()


def wait_for_check(proxy):
    """Wait until the service checks the database. Its connection gets no response yet."""
    time.sleep(0.5)
    proxy.cut()
    before, deadline = proxy.connections, time.monotonic() + 60
    while proxy.connections == before:
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.parametrize('is_dropped', [False, True], ids=['response', 'end'])
def test_a_stopped_process_does_not_take_the_database_for_dead(running, proxy, database_url, is_dropped):
    """The process is stopped during a check. The response, or the end of the connection, arrives during the stop."""
    path = f'/v1/nodes/{make(running.base)}/traits/CUSTOM_A'
    responses = []
    write = threading.Thread(target=lambda: responses.append(ask(running.base, 'PUT', path)))
    with locked_nodes(database_url):
        write.start()
        wait_for_check(proxy)
        freezing.freeze(running.process.pid)
        time.sleep(STOPPED)
        if is_dropped:
            proxy.drop()
        proxy.join_again()
        time.sleep(0.5)
        freezing.thaw(running.process.pid)
        # Wait until the check has ended.
        time.sleep(1)
    write.join()
    assert responses[0][0] == 204, responses
    assert 'does not answer' not in running.output
