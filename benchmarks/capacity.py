"""Measure capacity, and explanations of queries for candidates, in one process: python -m benchmarks.capacity URL

Fill the database at the SQLAlchemy URL with ``benchmarks.seed`` first. Each line has the median of the CPU time in
milliseconds of this process; the time of a database server does not count.
"""

import argparse
import contextlib
import random
import statistics
import time

from benchmarks.seed import CLASSES, CUSTOM
from ironic_traits import conf
from ironic_traits.api.placement.allocation_candidates import parse
from ironic_traits.api.v1.protocol import BARE_METAL
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.search import capacity
from ironic_traits.inventory.search.capacity import Flavor
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.matching.requests import understand
from ironic_traits.placement.candidates import allocation_candidates, explanations
from ironic_traits.service import Service

FLAVORS = 100
REPEAT = 9


def flavors(choose):
    """Generate flavors of a class with three required and two forbidden traits."""
    for number in range(FLAVORS):
        name = choose.choice(CLASSES).upper().replace('.', '_')
        required, forbidden = choose.sample(CUSTOM, 3), choose.sample(CUSTOM, 2)
        extra_specs = {f'resources:CUSTOM_{name}': '1'} | {f'trait:{each}': 'required' for each in required}
        extra_specs |= {f'trait:{each}': 'forbidden' for each in forbidden if each not in required}
        yield Flavor(f'flavor-{number}', NodeRequest(Grant(()), understand(flavor={'extra_specs': extra_specs})))


def measure(name, work, repeat=REPEAT):
    """Print the median of the CPU time of some work."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        work()
        times.append((time.process_time() - start) * 1000)
    print(f'{name:<45} {statistics.median(times):9.1f} ms', flush=True)


def resident():
    """Return the memory of this process in MiB."""
    with open('/proc/self/status') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmRSS')) / 1024


def run(context):
    """Build the index, and measure."""
    every, grant, before = list(flavors(random.Random(1))), Grant(()), resident()
    measure('the first request: the index is built', lambda: capacity.count(context, grant, every), 1)
    print(f'{"memory of the index":<45} {resident() - before:9.1f} MiB')
    measure(f'{FLAVORS} flavors', lambda: capacity.count(context, grant, every))
    measure(f'{FLAVORS} flavors, by class', lambda: capacity.count(context, grant, every, by=['resource_class']))
    measure(f'{FLAVORS} flavors, by 200 traits', lambda: capacity.count(context, grant, every, by=['trait:CUSTOM_']))
    for absent in (False, True):
        request = every[0].node_request.request
        query = request.placement_query() + ('&in_tree=00000000-0000-4000-8000-000000000000' if absent else '')
        kind = 'without candidates' if absent else 'with candidates'
        measure(
            f'query {kind}',
            lambda query=query: allocation_candidates.find(context, parse(f'{query}&limit=1000')),
        )
        measure(
            f'explanation of a query {kind}', lambda query=query: explanations.explain(context, grant, parse(query))
        )


def main():
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='SQLAlchemy URL of the database')
    with contextlib.closing(Service(conf.make(['--database', parser.parse_args().url]))) as service:
        run(Context(service, BARE_METAL, 80, ''))


if __name__ == '__main__':
    main()
