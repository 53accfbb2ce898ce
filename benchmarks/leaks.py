"""Look for leaks of memory and descriptors in a service.

    python -m benchmarks.leaks http://HOST:PORT --pid PID

PID is the main process. The benchmark measures its forks. Fill the database with ``benchmarks.seed`` first. Prints the
resident memory, the descriptors and the threads of all these processes: at the beginning, after a tenth of the requests
(which fill the caches), with idle connections, and after all requests. The requests are of many kinds, some of them
invalid. A client breaks off every 50th one.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import os
import pathlib
import socket
import time
import urllib.parse

from benchmarks.http import Connection

#: Seconds after which granian has ended idle threads, and a service has noticed closed connections.
SETTLE = 40
_MATCH = {'required': ['HW_CPU_X86_AVX2'], 'limit': 10}


class Figures(dict):
    """The figures of some processes: MiB of resident memory, descriptors and threads."""

    def __str__(self):
        return f'{self["memory"]:8.1f} MiB {self["descriptors"]:8} descriptors {self["threads"]:6} threads'


def figures(pids):
    """Return the Figures of processes, added up."""
    total = collections.Counter()
    for pid in pids:
        folder = pathlib.Path(f'/proc/{pid}')
        status = dict(line.split(':\t', 1) for line in (folder / 'status').read_text().splitlines())
        total['memory'] += int(status['VmRSS'].split()[0]) / 1024
        total['threads'] += int(status['Threads'])
        total['descriptors'] += len(os.listdir(folder / 'fd'))
    return Figures(total)


def forks(pid):
    """Return the pids of the processes that a process has started."""
    return [int(child) for child in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]


def requests(node):
    """Return [(method, path, body), …] of one round of requests. It leaves nodes and traits as they were."""
    traits = f'/v1/nodes/{node}/traits'
    return [
        ('GET', '/v1/nodes?limit=20&fields=uuid,name,traits', None),
        ('GET', f'/v1/nodes/{node}', None),
        ('PUT', f'{traits}/CUSTOM_LEAKS', None),
        ('GET', traits, None),
        ('DELETE', f'{traits}/CUSTOM_LEAKS', None),
        ('PATCH', f'/v1/nodes/{node}', [{'op': 'add', 'path': '/extra/leaks', 'value': 1}]),
        ('POST', '/v1/matches', _MATCH),
        ('GET', f'/placement/resource_providers/{node}/traits', None),
        ('GET', '/placement/traits?name=startswith:HW_CPU', None),
        ('GET', '/v1/nodes/no-such-node', None),
        ('PUT', traits, {'traits': ['not a trait']}),
        ('GET', '/v1/no-such-route', None),
        ('GET', '/healthcheck', None),
    ]


def send(base, node, number):
    """Send a number of requests on one connection, and return {status: number of responses}."""
    connection, statuses = Connection(base, version='1.82'), collections.Counter()
    each_round = requests(node)
    for count in range(number):
        method, path, body = each_round[count % len(each_round)]
        statuses[connection.ask(method, path, body)[0]] += 1
        if count % 50 == 49:
            _break_off(base)
    connection.close()
    return statuses


def _break_off(base):
    with _connected(base) as connection:
        connection.sendall(b'POST /v1/nodes HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{')


def _connected(base):
    url = urllib.parse.urlsplit(base)
    return socket.create_connection((url.hostname, url.port), timeout=60)


@contextlib.contextmanager
def idle(base, number):
    """Keep a number of connections open, each of which has received one response."""
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(_connected(base)) for _ in range(number)]
        for connection in connections:
            connection.sendall(b'GET /v1 HTTP/1.1\r\nHost: x\r\n\r\n')
            if not connection.recv(65536).startswith(b'HTTP/1.1 200'):
                raise SystemExit('an idle connection got no response')
        yield


def load(base, node, number, clients):
    """Send requests with several clients at once, and return {status: number of responses}."""
    total = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        for statuses in pool.map(lambda _: send(base, node, number // clients), range(clients)):
            total.update(statuses)
    return total


def main():
    """Measure, and print a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='http://HOST:PORT of the service')
    parser.add_argument('--pid', type=int, required=True, help='process id of ironic-traits-api')
    parser.add_argument('--requests', type=int, default=100_000)
    parser.add_argument('--connections', type=int, default=1_000, help='number of idle connections')
    parser.add_argument('--clients', type=int, default=8)
    arguments = parser.parse_args()
    pids = forks(arguments.pid)
    _, listed = Connection(arguments.url).ask_json('GET', '/v1/nodes?limit=1&fields=uuid')
    node = listed['nodes'][0]['uuid']
    print(f'{"at the beginning":28}', figures(pids), flush=True)
    warm = arguments.requests // 10
    load(arguments.url, node, warm, arguments.clients)
    time.sleep(SETTLE)
    print(f'{f"after {warm:,} requests":28}', figures(pids), flush=True)
    with idle(arguments.url, arguments.connections):
        print(f'{f"{arguments.connections:,} idle connections":28}', figures(pids), flush=True)
    begun = time.monotonic()
    statuses = load(arguments.url, node, arguments.requests - warm, arguments.clients)
    seconds = time.monotonic() - begun
    time.sleep(SETTLE)
    print(f'{f"after {arguments.requests:,} requests":28}', figures(pids), flush=True)
    print(f'{seconds:.0f} s, responses by status:', dict(sorted(statuses.items())))


if __name__ == '__main__':
    main()
