"""Measure the longest waits of keep-alive connections: python -m benchmarks.tail http://127.0.0.1:6385

Each connection shows one node after the other, without a pause. One process drives all connections, with few
instructions for each request, so that the waits are those of the server. For each number of connections, a line has
the requests per second, percentiles of the latency in milliseconds, the longest latency, the ratio of the 99.9th
percentile to the median, and how many requests the slowest and the fastest connection got.

With --claims TRAIT, every other request reserves a node with the trait for ten minutes.
"""

import argparse
import functools
import json
import random
import re
import selectors
import socket
import statistics
import time
import urllib.parse
import uuid

from benchmarks.http import Connection
from benchmarks.load import cpu_seconds
from benchmarks.reserve import RESERVATION_VERSION

_LENGTH = re.compile(rb'\r\ncontent-length: *([0-9]+)', re.IGNORECASE)


class Client:
    """One keep-alive connection, which always waits for a response.

    :param address: (host, port).
    :param requests: [function that returns a request as bytes, …] to choose from.
    """

    def __init__(self, address, requests):
        self._requests = requests
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b''
        self._sent_at = 0.0
        self.times = []

    def send(self):
        """Send the next request."""
        self._received = b''
        self._sent_at = time.perf_counter()
        self.socket.sendall(random.choice(self._requests)())

    def receive(self):
        """Read what has arrived, and send the next request if the response is complete."""
        self._received += self.socket.recv(1 << 20)
        head, found, body = self._received.partition(b'\r\n\r\n')
        if not self._received or (found and not head.startswith(b'HTTP/1.1 20')):
            raise SystemExit(f'refused: {self._received[:200]!r}')
        if found and len(body) == int(_LENGTH.search(head)[1]):
            self.times.append(time.perf_counter() - self._sent_at)
            self.send()


def measure(address, requests, connections, seconds, pids):
    """Send requests on some connections for some seconds, and print the figures."""
    clients = [Client(address, requests) for _ in range(connections)]
    selector = selectors.DefaultSelector()
    for client in clients:
        selector.register(client.socket, selectors.EVENT_READ, client)
    for warming in (True, False):
        for client in clients:
            client.times.clear()
            if warming:
                client.send()
        before, start = cpu_seconds(pids), time.perf_counter()
        while time.perf_counter() < start + (min(1, seconds) if warming else seconds):
            for key, _ in selector.select(1):
                key.data.receive()
    cpu, duration = cpu_seconds(pids) - before, time.perf_counter() - start
    now = time.perf_counter()
    # The final latency of a request that still waits is at least this long.
    times = [each for client in clients for each in (*client.times, now - client._sent_at)]
    counts = sorted(len(client.times) for client in clients)
    for client in clients:
        client.socket.close()
    quantiles = statistics.quantiles(times, n=1000)
    p50, p99, p999 = (quantiles[position] * 1000 for position in (499, 989, 998))
    print(
        f'{connections:4} connections  {len(times) / duration:6.0f}/s  p50 {p50:6.1f}  p99 {p99:6.1f}  '
        f'p99.9 {p999:6.1f}  max {max(times) * 1000:6.1f} ms  p99.9/p50 {p999 / p50:5.1f}  '
        f'requests per connection {counts[0]} to {counts[-1]}  cpu {cpu / len(times) * 1000:.2f} ms',
        flush=True,
    )


def request(method, path, host, body=''):
    """Return a request as bytes."""
    head = f'{method} {path} HTTP/1.1\r\nHost: {host}\r\nX-OpenStack-Ironic-API-Version: {RESERVATION_VERSION}\r\n'
    content = f'Content-Type: application/json\r\nContent-Length: {len(body)}\r\n' if body else ''
    return f'{head}{content}Accept: application/json\r\n\r\n{body}'.encode()


def claim(path, host, trait):
    """Return a request for a reservation of a node with a trait."""
    body = {'instance_uuid': str(uuid.uuid4()), 'required': [trait], 'expires_in': 600}
    return request('POST', path, host, json.dumps(body))


def main():
    """Measure with each number of connections."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='http://HOST:PORT of the service, with nodes in it')
    parser.add_argument(
        '--connections', type=lambda text: [int(each) for each in text.split(',')], default=[8, 64, 256]
    )
    parser.add_argument('--seconds', type=float, default=10)
    parser.add_argument('--pid', type=lambda text: {int(each) for each in text.split(',')}, default=set())
    parser.add_argument('--path', help='show this path instead of nodes')
    parser.add_argument('--claims', metavar='TRAIT', help='reserve nodes with this trait, too')
    arguments = parser.parse_args()
    url = urllib.parse.urlparse(arguments.url)
    _, page = Connection(arguments.url).ask('GET', '/v1/nodes?fields=uuid&limit=500')
    paths = [arguments.path] if arguments.path else [f'/v1/nodes/{node["uuid"]}' for node in json.loads(page)['nodes']]
    prefix, host = url.path.rstrip('/'), url.netloc
    requests = [functools.partial(request, 'GET', f'{prefix}{path}', host) for path in paths]
    if arguments.claims:
        requests += [functools.partial(claim, f'{prefix}/v1/reservations', host, arguments.claims)] * len(requests)
    for connections in arguments.connections:
        measure((url.hostname, url.port or 80), requests, connections, arguments.seconds, arguments.pid)


if __name__ == '__main__':
    main()
