"""Streams of changes: python -m benchmarks.streams http://127.0.0.1:6385 --pid PID[,PID…] [--streams 200]

PID names the processes of the service that answer requests. [changes] max_streams must allow the streams, in each
process. The benchmark prints the CPU and the memory of the processes without streams, with idle streams, and with one
change per second for each stream. It also prints the lag of the changes.
"""

import argparse
import contextlib
import http.client
import json
import selectors
import socket
import statistics
import time
import urllib.parse

from benchmarks.mirror import cpu

_REQUEST = 'GET /v1/changes HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n\r\n'
_HEADERS = {'Content-Type': 'application/json', 'X-OpenStack-Ironic-API-Version': '1.82'}


def main():
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('url')
    parser.add_argument('--pid', required=True, type=lambda text: [int(pid) for pid in text.split(',')])
    parser.add_argument('--streams', type=int, default=200)
    parser.add_argument('--seconds', type=int, default=60)
    options = parser.parse_args()
    node = send(options.url, 'POST', '/v1/nodes', {'driver': 'fake-hardware'})['uuid']
    measure('no streams', options, lambda deadline: time.sleep(deadline - time.monotonic()))
    with selectors.DefaultSelector() as selector:
        for _ in range(options.streams):
            selector.register(connect(options.url), selectors.EVENT_READ)
        measure(f'{options.streams} idle streams', options, lambda deadline: read(selector, deadline))
        delays = []
        measure(
            'and one change per second', options, lambda deadline: change(options.url, node, selector, deadline, delays)
        )
    print(f'delay: median {statistics.median(delays):.2f} s, longest {max(delays):.2f} s')


def measure(what, options, work):
    """Run something for some seconds, and print the CPU and the memory of the processes."""
    before, began = cpu(options.pid), time.monotonic()
    work(began + options.seconds)
    used, seconds = cpu(options.pid) - before, time.monotonic() - began
    print(f'{what}: {used / seconds:.2%} of a core, {sum(map(memory, options.pid)):.1f} MiB')


def memory(pid):
    """Return the MiB of memory that only this process uses."""
    with open(f'/proc/{pid}/smaps_rollup') as file:
        return sum(int(line.split()[1]) for line in file if line.startswith('Private_')) / 1024


def connect(url):
    """Return the socket of a new stream."""
    address = urllib.parse.urlsplit(url)
    connection = socket.create_connection((address.hostname, address.port))
    connection.sendall(_REQUEST.format(address.netloc).encode())
    if b' 200 ' not in connection.recv(4096).partition(b'\r\n')[0]:
        raise SystemExit('A stream was refused: set [changes] max_streams.')
    return connection


def read(selector, deadline):
    """Read from all streams, and return the number of those that had changes."""
    count = 0
    while (seconds := deadline - time.monotonic()) > 0:
        for key, _ in selector.select(seconds):
            count += b'event: change' in key.fileobj.recv(65536)
        if count >= len(selector.get_map()):
            break
    return count


def change(url, node, selector, deadline, delays):
    """Change a node each second, and append the time until all streams have the change."""
    step = 0
    while time.monotonic() < deadline:
        step, began = step + 1, time.monotonic()
        send(url, 'PATCH', f'/v1/nodes/{node}', [{'op': 'add', 'path': '/extra/step', 'value': step}])
        read(selector, began + 30)
        delays.append(time.monotonic() - began)
        time.sleep(max(0, began + 1 - time.monotonic()))


def send(url, method, path, document):
    """Send a request, and return the document of the response."""
    with contextlib.closing(http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc)) as connection:
        connection.request(method, path, json.dumps(document), _HEADERS)
        return json.load(connection.getresponse())


if __name__ == '__main__':
    main()
