"""Reserve nodes until none is left: python -m benchmarks.reserve http://127.0.0.1:6385 -n 1000

Clients in several processes reserve nodes concurrently.  Each client sends the list of all nodes, in an order that
begins at a different node.  With --by-request, it requests a trait that all nodes have.  The output is the number of
reservations per second, and whether each node was held exactly once.  The benchmark creates its nodes, and deletes
them at the end.
"""

import argparse
import collections
import concurrent.futures
import multiprocessing
import time
import uuid

from benchmarks.http import Connection

PROCESSES = 4
#: Before 1.11, new nodes are available.  Reservations need 1.38.
NODE_VERSION, RESERVATION_VERSION = '1.10', '1.38'
TRAIT = 'CUSTOM_BENCHMARK'


def reserve(url, request, gate, batch):
    """Reserve with one client until a 409.

    :param url: URL of the service.
    :param request: the body of each request, without the instance.
    :param gate: barrier at which all clients start.
    :param batch: number of nodes in one request.
    :returns: ([uuid of a held node, …], [uuid of a reservation, …], {status: number of responses}).
    """
    connection = Connection(url, version=RESERVATION_VERSION)
    held, reservations, statuses = [], [], collections.Counter()
    gate.wait()
    while True:
        instances = [str(uuid.uuid4()) for _ in range(batch)]
        body = {**request, **({'instance_uuids': instances} if batch > 1 else {'instance_uuid': instances[0]})}
        status, document = connection.ask_json('POST', '/v1/reservations', body)
        statuses[status] += 1
        if status != 201:
            return held, reservations, statuses
        for reservation in document['reservations'] if batch > 1 else [document['reservation']]:
            held.append(reservation['node_uuid'])
            reservations.append(reservation['uuid'])


def process(url, requests, gate, results, batch):
    """Run the clients of one process.

    :param requests: the request of each client.
    :param results: queue for the result of each client.
    """
    with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
        for result in pool.map(lambda request: reserve(url, request, gate, batch), requests):
            results.put(result)


def main():
    """Create nodes, reserve them all, and delete them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='http://HOST:PORT of the service')
    parser.add_argument('-n', type=int, default=1000, help='number of nodes')
    parser.add_argument('--clients', type=int, default=32)
    parser.add_argument('--by-request', action='store_true', help='request a trait instead of listing nodes')
    parser.add_argument('--batch', type=int, default=1, help='nodes in one request; -n is a multiple of it')
    arguments = parser.parse_args()
    connection = Connection(arguments.url, version=NODE_VERSION)
    body = {'driver': 'fake-hardware'}
    uuids = [connection.ask_json('POST', '/v1/nodes', body)[1]['uuid'] for _ in range(arguments.n)]

    for node in uuids if arguments.by_request else ():
        Connection(arguments.url, version=RESERVATION_VERSION).ask('PUT', f'/v1/nodes/{node}/traits/{TRAIT}')

    gate, queue = multiprocessing.Barrier(arguments.clients + 1), multiprocessing.Queue()
    requests = [{'required': [TRAIT]}] * arguments.clients
    if not arguments.by_request:
        starts = [number * 31 % arguments.n for number in range(arguments.clients)]
        requests = [{'node_uuid': uuids[start:] + uuids[:start]} for start in starts]
    processes = [
        multiprocessing.Process(
            target=process, args=(arguments.url, requests[number::PROCESSES], gate, queue, arguments.batch)
        )
        for number in range(PROCESSES)
    ]
    for each in processes:
        each.start()
    gate.wait()
    start_time = time.monotonic()
    results = [queue.get() for _ in requests]
    seconds = time.monotonic() - start_time
    held = [node for nodes, _, _ in results for node in nodes]
    statuses = sum((counts for _, _, counts in results), collections.Counter())
    print(f'{len(held)} reservations in {seconds:.1f} s: {len(held) / seconds:.0f} a second; statuses {dict(statuses)}')
    print('each node held once' if sorted(held) == sorted(uuids) else 'NOT each node held once')
    for reservation in (each for _, reservations, _ in results for each in reservations):
        Connection(arguments.url, version=RESERVATION_VERSION).ask('DELETE', f'/v1/reservations/{reservation}')
    for node in uuids:
        connection.ask('DELETE', f'/v1/nodes/{node}')


if __name__ == '__main__':
    main()
