"""A short form of benchmarks.leaks: the service leaks no descriptors. The documentation has its memory figures."""

import time

from benchmarks import leaks
from tests.support.http_client import make
from tests.support.service import ForkedServer, upgraded


def test_descriptors_are_given_back(tmp_path):
    with ForkedServer(upgraded(f'sqlite:///{tmp_path}/x.sqlite'), '--nostart-worker') as server:
        node = make(server.base, resource_class='baremetal')
        pids = leaks.forks(server.process.pid)

        def descriptors():
            return leaks.figures(pids)['descriptors']

        # The first requests open connections to the database, which stay open.
        leaks.load(server.base, node, 208, 8)
        deadline = time.monotonic() + 60
        with leaks.idle(server.base, 300):
            assert descriptors() >= 300
        statuses = leaks.load(server.base, node, 416, 8)
        assert set(statuses) == {200, 204, 400, 404}
        # Idle and broken connections are closed. There may be a few more database connections than before.
        while (number := descriptors()) > 80:
            assert time.monotonic() < deadline, number
            time.sleep(0.1)
