"""Reserve nodes until none is free: python -m benchmarks.reserve http://127.0.0.1:6385 -n 1000

Clients in several processes reserve nodes concurrently. Each client sends the list of all nodes, in an order that
begins at a different node. With --by-request, it requests a trait that all nodes have. The output is the number of
reservations per second, and whether each node was held exactly once. The benchmark creates its nodes, and deletes them
at the end.

With --trait TRAIT, the clients reserve nodes of the inventory that have the trait, for --seconds. With --pid, the
output also has the CPU of each process and its descendants.
"""

import argparse
import collections
import concurrent.futures
import math
import multiprocessing
import time
import uuid

from benchmarks.http import Connection
from benchmarks.load import cpu_seconds

PROCESSES = 4
#: Before 1.11, new nodes are available. Reservations need 1.38.
NODE_VERSION, RESERVATION_VERSION = '1.10', '1.38'
TRAIT = 'CUSTOM_BENCHMARK'


def reserve(url, request, gate, batch, seconds):
    """Reserve with one client until it is refused with 409, or the time is over.

    :param url: URL of the service.
    :param request: the body of each request, without the instance.
    :param gate: barrier at which all clients start.
    :param batch: number of nodes in one request.
    :param seconds: the time; None for no limit.
    :returns: ([uuid of a held node, …], [uuid of a reservation, …], {status: number of responses}, (begin, end)).
    """
    connection = Connection(url, version=RESERVATION_VERSION)
    held, reservations, statuses = [], [], collections.Counter()
    gate.wait()
    begin = time.monotonic()
    end = begin + seconds if seconds else math.inf
    while time.monotonic() < end:
        instances = [str(uuid.uuid4()) for _ in range(batch)]
        body = {**request, **({'instance_uuids': instances} if batch > 1 else {'instance_uuid': instances[0]})}
        status, document = connection.ask_json('POST', '/v1/reservations', body)
        statuses[status] += 1
        if status != 201:
            break
        for reservation in document['reservations'] if batch > 1 else [document['reservation']]:
            held.append(reservation['node_uuid'])
            reservations.append(reservation['uuid'])
    return held, reservations, statuses, (begin, time.monotonic())


def process(url, requests, gate, results, batch, seconds):
    """Run the clients of one process.

    :param requests: the request of each client.
    :param results: queue for the result of each client.
    """
    with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
        for result in pool.map(lambda request: reserve(url, request, gate, batch, seconds), requests):
            results.put(result)


def run(arguments, requests):
    """Run all clients, print the figures, delete the reservations, and return the uuids of the held nodes."""
    gate, queue = multiprocessing.Barrier(arguments.clients + 1), multiprocessing.Queue()
    processes = [
        multiprocessing.Process(
            target=process,
            args=(
                arguments.url,
                requests[number::PROCESSES],
                gate,
                queue,
                arguments.batch,
                arguments.seconds if arguments.trait else None,
            ),
        )
        for number in range(PROCESSES)
    ]
    for each in processes:
        each.start()
    before = [cpu_seconds({pid}) for pid in arguments.pid]
    gate.wait()
    results = [queue.get() for _ in requests]
    # Use the clients' clocks: on a busy machine, this process may run a second after the clients have begun.
    seconds = max(end for *_, (_, end) in results) - min(begin for *_, (begin, _) in results)
    used = [cpu_seconds({pid}) - cpu for pid, cpu in zip(arguments.pid, before, strict=True)]
    held = [node for nodes, *_ in results for node in nodes]
    statuses = sum((counts for _, _, counts, _ in results), collections.Counter())
    print(f'{len(held)} reservations in {seconds:.1f} s: {len(held) / seconds:.0f} a second; statuses {dict(statuses)}')
    print('CPU of a node, ms:', ', '.join(f'{cpu / max(len(held), 1) * 1000:.2f}' for cpu in used))
    connection = Connection(arguments.url, version=RESERVATION_VERSION)
    for reservation in (each for _, reservations, *_ in results for each in reservations):
        connection.ask('DELETE', f'/v1/reservations/{reservation}')
    return held


def main():
    """Reserve nodes of the inventory, or create nodes, reserve them all, and delete them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='http://HOST:PORT of the service')
    parser.add_argument('-n', type=int, default=1000, help='number of nodes')
    parser.add_argument('--clients', type=int, default=32)
    parser.add_argument('--by-request', action='store_true', help='request a trait instead of listing nodes')
    parser.add_argument('--batch', type=int, default=1, help='nodes in one request; -n is a multiple of it')
    parser.add_argument('--trait', help='reserve nodes with this trait, which exist, instead of new ones')
    parser.add_argument('--seconds', type=float, default=4, help='how long, with --trait')
    parser.add_argument('--pid', type=lambda text: [int(each) for each in text.split(',')], default=[])
    arguments = parser.parse_args()
    if arguments.trait:
        held = run(arguments, [{'required': [arguments.trait]}] * arguments.clients)
        print('each node held once' if len(set(held)) == len(held) else 'NOT each node held once')
    else:
        reserve_new(arguments)


def reserve_new(arguments):
    """Create nodes, reserve them all, and delete them."""
    connection = Connection(arguments.url, version=NODE_VERSION)
    body = {'driver': 'fake-hardware'}
    uuids = [connection.ask_json('POST', '/v1/nodes', body)[1]['uuid'] for _ in range(arguments.n)]
    traits = Connection(arguments.url, version=RESERVATION_VERSION)
    for node in uuids if arguments.by_request else ():
        traits.ask('PUT', f'/v1/nodes/{node}/traits/{TRAIT}')
    requests = [{'required': [TRAIT]}] * arguments.clients
    if not arguments.by_request:
        starts = [number * 31 % arguments.n for number in range(arguments.clients)]
        requests = [{'node_uuid': uuids[start:] + uuids[:start]} for start in starts]
    held = run(arguments, requests)
    print('each node held once' if sorted(held) == sorted(uuids) else 'NOT each node held once')
    for node in uuids:
        connection.ask('DELETE', f'/v1/nodes/{node}')


if __name__ == '__main__':
    main()
