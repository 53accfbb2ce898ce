"""Allocate nodes until none is free: python -m benchmarks.allocations http://127.0.0.1:6385 -n 1000

Clients in several processes create allocations by a resource class and two traits, concurrently, and wait until each is
active or in error. The output is the number of active allocations per second, and whether each node was allocated once.
The benchmark creates its nodes, and deletes them at the end. It can measure an Ironic, too.
"""

import argparse
import collections
import concurrent.futures
import multiprocessing
import time

from benchmarks.http import Connection
from benchmarks.reserve import NODE_VERSION, PROCESSES

VERSION = '1.52'
CLASS, TRAITS = 'benchmark', ['CUSTOM_BENCHMARK_A', 'CUSTOM_BENCHMARK_B']
#: Seconds between two requests for the state of an allocation.
PAUSE = 0.1


def allocate(url, body, gate):
    """Create allocations with one client until one ends in error.

    :param url: URL of the service.
    :param body: of each request.
    :param gate: barrier at which all clients start.
    :returns: [allocation, …].
    """
    connection = Connection(url, version=VERSION)
    allocations = []
    gate.wait()
    while not allocations or allocations[-1]['state'] == 'active':
        status, allocation = connection.ask_json('POST', '/v1/allocations', body)
        if status == 503:
            # The service has more requests than threads.
            continue
        assert status == 201, allocation
        while allocation['state'] == 'allocating':
            time.sleep(PAUSE)
            allocation = connection.ask_json('GET', f'/v1/allocations/{allocation["uuid"]}')[1]
        allocations.append(allocation)
    return allocations


def process(url, clients, gate, results):
    """Run the clients of one process.

    :param clients: their number.
    :param results: queue for the result of each client.
    """
    body = {'resource_class': CLASS, 'traits': TRAITS}
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        for result in pool.map(lambda _: allocate(url, body, gate), range(clients)):
            results.put(result)


def create_nodes(url, count):
    """Create available nodes with the class and the traits, and return their uuids."""
    old, new = Connection(url, version=NODE_VERSION), Connection(url)
    uuids = [old.ask_json('POST', '/v1/nodes', {'driver': 'fake-hardware'})[1]['uuid'] for _ in range(count)]
    for uuid in uuids:
        path = f'/v1/nodes/{uuid}'
        new.ask('PATCH', path, [{'op': 'add', 'path': '/resource_class', 'value': CLASS}])
        new.ask('PUT', f'{path}/traits', {'traits': TRAITS})
        # Ironic chooses only nodes whose power state it has read.
        new.ask('PUT', f'{path}/states/power', {'target': 'power off'})
    while any(node['reservation'] or not node['power_state'] for node in _listed(new)):
        time.sleep(1)
    return uuids


def _listed(connection):
    path = f'/v1/nodes?resource_class={CLASS}&fields=uuid,power_state,reservation'
    while path:
        page = connection.ask_json('GET', path)[1]
        yield from page['nodes']
        path = page.get('next', '').partition('/v1')[2]
        path = path and f'/v1{path}'


def main():
    """Create nodes, allocate them all, and delete them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='http://HOST:PORT of the service')
    parser.add_argument('-n', type=int, default=1000, help='number of nodes')
    parser.add_argument('--clients', type=int, default=32)
    arguments = parser.parse_args()
    uuids = create_nodes(arguments.url, arguments.n)
    gate, queue = multiprocessing.Barrier(arguments.clients + 1), multiprocessing.Queue()
    shares = [len(range(number, arguments.clients, PROCESSES)) for number in range(PROCESSES)]
    processes = [
        multiprocessing.Process(target=process, args=(arguments.url, share, gate, queue)) for share in shares if share
    ]
    for each in processes:
        each.start()
    gate.wait()
    start_time = time.monotonic()
    allocations = [allocation for _ in range(arguments.clients) for allocation in queue.get()]
    seconds = time.monotonic() - start_time
    states = collections.Counter(allocation['state'] for allocation in allocations)
    print(
        f'{states["active"]} active in {seconds:.1f} s: {states["active"] / seconds:.1f} a second; all: {dict(states)}'
    )
    nodes = collections.Counter(allocation['node_uuid'] for allocation in allocations if allocation['node_uuid'])
    print('each node allocated once' if set(nodes.values()) == {1} else 'NOT each node allocated once')
    print(f'{len(uuids) - len(nodes)} nodes were left')
    connection = Connection(arguments.url, version=VERSION)
    for allocation in allocations:
        connection.ask('DELETE', f'/v1/allocations/{allocation["uuid"]}')
    for uuid in uuids:
        connection.ask('DELETE', f'/v1/nodes/{uuid}')


if __name__ == '__main__':
    main()
