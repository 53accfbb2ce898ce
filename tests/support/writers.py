"""Clients that write without a pause while the database fails."""

import itertools
import threading
import time

from tests.support.client import Client
from tests.support.reservations import available

WRITERS, FREE = 4, 24


class Writers:
    """Clients that write without a pause: each one alternates between traits of its node and reservations of free
    nodes.

    :param apps: WSGI applications that stand for several processes.
    """

    def __init__(self, apps):
        self.client = Client(apps[0])
        self._clients = [Client(apps[number % len(apps)]) for number in range(WRITERS)]
        self._nodes = [self.client.node()['uuid'] for _ in range(WRITERS)]
        self._free = [available(self.client) for _ in range(FREE)]
        #: [number of the last acknowledged write, …], and of the last write that was sent.
        self._acknowledged, self._sent = [0] * WRITERS, [0] * WRITERS
        #: {uuid of a free node: instances with an acknowledged reservation}.
        self._held = {node: [] for node in self._free}
        self._unexpected, self._successes = [], [time.monotonic()]
        #: Number of responses with 503.
        self.unavailable = 0
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(n,), daemon=True) for n in range(WRITERS)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception):
        self._ended.set()
        for thread in self._threads:
            thread.join(60)

    def wait(self, successes=20, seconds=0):
        """Wait until requests have succeeded, and return the longest time without a success since the call.

        :param seconds: minimum duration of the wait.
        """
        begun, before = time.monotonic(), len(self._successes)
        time.sleep(seconds)
        while len(self._successes) < before + successes:
            assert time.monotonic() - begun < 60, self._unexpected
            time.sleep(0.02)
        times = [begun, *self._successes[before:]]
        return max(later - earlier for earlier, later in itertools.pairwise(times))

    def check(self):
        """Assert that acknowledged writes are stored, and refused ones are not."""
        assert not self._unexpected
        assert not [thread for thread in self._threads if thread.is_alive()]
        for node, acknowledged, sent in zip(self._nodes, self._acknowledged, self._sent, strict=True):
            [trait] = self.client.get(f'/v1/nodes/{node}/traits')['traits']
            assert acknowledged <= int(trait.removeprefix('CUSTOM_')) <= sent
        stored = {}
        for each in self.client.get('/v1/reservations?limit=1000')['reservations']:
            stored.setdefault(each['node_uuid'], []).append(each['instance_uuid'])
        assert all(len(instances) == 1 for instances in stored.values()), stored
        for node, instances in self._held.items():
            assert instances in ([], stored.get(node)), (node, instances, stored.get(node))

    def _write(self, number):
        while not self._ended.is_set():
            self._sent[number] += 1
            count = self._sent[number]
            body = {'traits': [f'CUSTOM_{count}']}
            if self._ask(number, 'PUT', f'/v1/nodes/{self._nodes[number]}/traits', body, (200,)):
                self._acknowledged[number] = count
            node = self._free[count // 4 % FREE]
            instance = f'bbbbbbbb-0000-4000-8000-{number:04}{count:08}'
            if not self._held[node] and self._ask(
                number, 'POST', '/v1/reservations', {'node_uuid': node, 'instance_uuid': instance}, (201, 409)
            ):
                self._held[node].append(instance)
            time.sleep(0.05)

    def _ask(self, number, method, path, body, expected):
        """Send a request. Return whether it has succeeded."""
        response = self._clients[number].ask(method, path, body)
        status = response.status_int
        if status in expected:
            self._successes.append(time.monotonic())
        elif status == 503 and response.headers.get('Retry-After'):
            self.unavailable += 1
        else:
            self._unexpected.append((method, path, status, response.text))
        return status in (200, 201)
