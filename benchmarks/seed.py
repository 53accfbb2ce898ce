"""Fill a service that speaks the Bare Metal API with nodes: python -m benchmarks.seed http://127.0.0.1:6385 -n 10000

With the URL of an empty database instead of that of a service, the nodes are inserted in bulk (``benchmarks.bulk``),
1,000,000 in minutes. Then three in ten nodes have an instance. Some are in maintenance, reserved or manageable. With
--racks, the nodes are in racks and rows, and all are available, except for 2% that are reserved.

Each node has 20 traits, chosen from os-traits and from 200 custom names. The same -n and --seed always create the same
nodes.
"""

import argparse
import concurrent.futures
import random
import sys
import threading
import uuid

import os_traits

from benchmarks import bulk
from benchmarks.http import Connection

CLASSES = ('baremetal.small', 'baremetal.medium', 'baremetal.large', 'baremetal.gpu', 'baremetal.storage')
CUSTOM = [f'CUSTOM_{kind}_{i:03}' for i in range(40) for kind in ('RACK', 'GPU', 'FIRMWARE', 'NIC', 'TIER')]
TRAITS_PER_NODE = 20
NODES_PER_RACK, RACKS_PER_ROW = 20, 10
#: Traits in ``racks``: of three nodes in ten, and of all nodes in one rack of ten.
SCATTERED, GATHERED = 'CUSTOM_SCATTERED', 'CUSTOM_GATHERED'


def generate(count, seed):
    """Generate (body of POST /v1/nodes, traits) of each node."""
    choose = random.Random(seed)
    standard = choose.sample(sorted(os_traits.get_traits()), 120)
    for i in range(count):
        custom = choose.randint(8, 14)
        traits = sorted(choose.sample(CUSTOM, custom) + choose.sample(standard, TRAITS_PER_NODE - custom))
        node = {
            'uuid': str(uuid.UUID(int=choose.getrandbits(128), version=4)),
            'name': f'node-{i:06}',
            'driver': 'fake-hardware',
            'resource_class': choose.choice(CLASSES),
            'properties': {'cpus': 64, 'memory_mb': 262144, 'local_gb': 960, 'cpu_arch': 'x86_64'},
            'driver_info': {'redfish_address': f'https://10.0.{i >> 8 & 255}.{i & 255}', 'redfish_password': 'secret'},
            'extra': {'location': f'rack-{i % 200}'},
        }
        yield node, traits


def racks(count, seed):
    """Generate the nodes of ``generate`` with traits for their rack and their row: CUSTOM_RACK_0, CUSTOM_ROW_0, …"""
    choose = random.Random(seed)
    for i, (node, traits) in enumerate(generate(count, seed)):
        rack = i // NODES_PER_RACK
        place = [f'CUSTOM_RACK_{rack}', f'CUSTOM_ROW_{rack // RACKS_PER_ROW}']
        more = [SCATTERED] * (choose.random() < 0.3) + [GATHERED] * (rack % 10 == 0)
        yield node, sorted([name for name in traits if not name.startswith('CUSTOM_RACK_')] + place + more)


def main():
    """Create the nodes: eight at a time, or in bulk."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='http://HOST:PORT of the service; or the SQLAlchemy URL of an empty database')
    parser.add_argument('-n', type=int, default=10000, help='number of nodes')
    parser.add_argument('--seed', type=int, default=42)
    parser.add_argument('--racks', action='store_true', help='nodes in racks and rows')
    arguments = parser.parse_args()
    nodes = (racks if arguments.racks else generate)(arguments.n, arguments.seed)
    if arguments.url.startswith(('http://', 'https://')):
        _send(arguments, nodes)
    else:
        reserved = bulk.RESERVED if arguments.racks else None
        bulk.fill(arguments.url, nodes, lambda count: _show(count, arguments.n), reserved)
    print(file=sys.stderr)


def _send(arguments, nodes):
    local = threading.local()

    def create(item):
        node, traits = item
        if not hasattr(local, 'connection'):
            local.connection = Connection(arguments.url)
        path = f'/v1/nodes/{node["uuid"]}/traits'
        for request in (('POST', '/v1/nodes', node), ('PUT', path, {'traits': traits})):
            status, body = local.connection.ask(*request)
            if status not in (200, 201, 204, 409):
                sys.exit(f'{request[0]} {request[1]}: {status} {body[:500]!r}')

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for count, _ in enumerate(pool.map(create, nodes), 1):
            if count % 100 == 0 or count == arguments.n:
                _show(count, arguments.n)


def _show(count, total):
    print(f'\r{count} of {total} nodes', end='', file=sys.stderr, flush=True)


if __name__ == '__main__':
    main()
