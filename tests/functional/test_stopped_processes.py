"""A process of the service that is stopped for a while. It does not take the database for dead afterwards."""

import contextlib
import threading
import time

import pytest
import sqlalchemy as sa

from ironic_traits.db import tables
from ironic_traits.inventory import node_index
from tests.chaos.proxy import Proxy
from tests.support import freezing
from tests.support.http_client import ask, make
from tests.support.service import ForkedServer

#: Seconds for which a process is stopped: longer than a check of the database may take ([database] connect_timeout).
STOPPED = 3


@pytest.fixture
def proxy(database_server):
    """A proxy to the database server."""
    if database_server is None:
        pytest.skip('SQLite has no server')
    running = Proxy(database_server.port)
    yield running
    running.end()


@pytest.fixture
def running(database_url, proxy):
    """A service that is connected to its database by the proxy."""
    url = sa.make_url(database_url).set(port=proxy.port).render_as_string(hide_password=False)
    with ForkedServer(url, '--nostart-worker') as service:
        # A second after its start, the process counts the nodes, to see if it should keep an index of them. The end of
        # that connection would be an outage.
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
    """It is stopped in the middle of a check. Meanwhile the response comes, or the end of the connection."""
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
        # Until the check has ended.
        time.sleep(1)
    write.join()
    assert responses[0][0] == 204, responses
    assert 'does not answer' not in running.output
