"""Reserve nodes until none is left: python -m benchmarks.reserve http://127.0.0.1:6385 -n 1000

Clients in several processes, each with the whole list, begun elsewhere, or (--by-request) with a trait that all nodes
have.  Says how many reservations were made in a
second, and whether each node was held once.  Makes nodes of its own and deletes them again.
"""

import argparse
import collections
import concurrent.futures
import multiprocessing
import time
import uuid

from benchmarks.http import Connection

PROCESSES = 4
#: Nodes begin as available before 1.11; reservations came with 1.38.
MAKES, RESERVES = '1.10', '1.38'
TRAIT = 'CUSTOM_BENCHMARK'


def reserve(url, wanted, gate):
    """Reserve with one client until a 409.

    :param wanted: what each body has, beside the instance.
    :returns: ([uuid of each node held, …], [uuid of each reservation, …], {status: how often}).
    """
    connection = Connection(url, version=RESERVES)
    held, made, statuses = [], [], collections.Counter()
    gate.wait()
    while True:
        body = {'instance_uuid': str(uuid.uuid4()), **wanted}
        status, document = connection.ask_json('POST', '/v1/reservations', body)
        statuses[status] += 1
        if status != 201:
            return held, made, statuses
        held.append(document['reservation']['node_uuid'])
        made.append(document['reservation']['uuid'])


def process(url, wants, gate, results):
    """Let the clients of one process reserve."""
    with concurrent.futures.ThreadPoolExecutor(len(wants)) as pool:
        for result in pool.map(lambda wanted: reserve(url, wanted, gate), wants):
            results.put(result)


def main():
    """Make nodes, reserve them all, and delete them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='http://HOST:PORT of the service')
    parser.add_argument('-n', type=int, default=1000, help='how many nodes')
    parser.add_argument('--clients', type=int, default=32)
    parser.add_argument('--by-request', action='store_true', help='ask for a trait, and not for nodes')
    arguments = parser.parse_args()
    maker = Connection(arguments.url, version=MAKES)
    body = {'driver': 'fake-hardware'}
    uuids = [maker.ask_json('POST', '/v1/nodes', body)[1]['uuid'] for _ in range(arguments.n)]

    for node in uuids if arguments.by_request else ():
        Connection(arguments.url, version=RESERVES).ask('PUT', f'/v1/nodes/{node}/traits/{TRAIT}')

    gate, results = multiprocessing.Barrier(arguments.clients + 1), multiprocessing.Queue()
    wants = [{'required': [TRAIT]}] * arguments.clients
    if not arguments.by_request:
        begins = [number * 31 % arguments.n for number in range(arguments.clients)]
        wants = [{'node_uuid': uuids[begin:] + uuids[:begin]} for begin in begins]
    processes = [
        multiprocessing.Process(target=process, args=(arguments.url, wants[number::PROCESSES], gate, results))
        for number in range(PROCESSES)
    ]
    for each in processes:
        each.start()
    gate.wait()
    begun = time.monotonic()
    got = [results.get() for _ in wants]
    seconds = time.monotonic() - begun
    held = [node for nodes, _, _ in got for node in nodes]
    statuses = sum((counted for _, _, counted in got), collections.Counter())
    print(f'{len(held)} reservations in {seconds:.1f} s: {len(held) / seconds:.0f} a second; statuses {dict(statuses)}')
    print('each node once' if sorted(held) == sorted(uuids) else 'NOT each node once')
    for reservation in (made for _, all_made, _ in got for made in all_made):
        Connection(arguments.url, version=RESERVES).ask('DELETE', f'/v1/reservations/{reservation}')
    for node in uuids:
        maker.ask('DELETE', f'/v1/nodes/{node}')


if __name__ == '__main__':
    main()
