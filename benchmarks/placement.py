"""Fill a service that speaks the Placement API, and measure it.

    python -m benchmarks.placement http://127.0.0.1:6385/placement -n 10000 --fill --pid PID

Each provider has 20 traits and one unit of CUSTOM_BAREMETAL. Half of the providers have one more trait, and a fifth
have another one. 30 % of the providers are allocated. The same -n always creates the same providers. The output is that
of ``benchmarks.measure``.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import sys
import threading
import uuid

from benchmarks.http import Connection
from benchmarks.load import Load
from benchmarks.seed import generate

CLASS = 'CUSTOM_BAREMETAL'
ALLOCATED = 0.3
#: A trait that half of the providers have, and one that a fifth of them have.
HALF, FIFTH = 'CUSTOM_HALF', 'CUSTOM_FIFTH'


def plan(count):
    """Generate (uuid, name, traits, whether it is allocated) of each provider."""
    choose = random.Random(7)
    for node, traits in generate(count, 42):
        # If there were sharing providers, OpenStack's Placement would search for trees of providers. There are none.
        traits = [name for name in traits if name != 'MISC_SHARES_VIA_AGGREGATE']
        traits += [name for name, share in ((HALF, 0.5), (FIFTH, 0.2)) if choose.random() < share]
        yield node['uuid'], node['name'], traits, choose.random() < ALLOCATED


class Bench(Load):
    """A service under measurement.

    :param arguments: command line arguments.
    """

    def __init__(self, arguments):
        super().__init__(arguments)
        self.plan = list(plan(arguments.n))
        self._local = threading.local()
        count: dict[str, int] = {}
        for _, _, traits, _ in self.plan:
            for name in traits:
                count[name] = count.get(name, 0) + 1
        #: All traits, the most common first.
        self.common = sorted(count, key=lambda name: (-count[name], name))

    def connect(self):
        return Connection(self.arguments.url, os.environ.get('OS_TOKEN', 'admin'))

    def _ask(self, method, path, document=None, expected=(200, 201, 204, 409)):
        if not hasattr(self._local, 'connection'):
            self._local.connection = self.connect()
        status, body = self._local.connection.ask(method, path, document)
        if status not in expected:
            sys.exit(f'{method} {path}: {status} {body[:500]!r}')
        return json.loads(body) if body else {}

    def fill(self):
        """Create the planned providers, eight at a time."""
        for name in {name for _, _, traits, _ in self.plan for name in traits if name.startswith('CUSTOM_')}:
            self._ask('PUT', f'/traits/{name}')
        self._ask('PUT', f'/resource_classes/{CLASS}')
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for count, _ in enumerate(pool.map(self._create, self.plan), 1):
                if count % 100 == 0 or count == len(self.plan):
                    print(f'\r{count} of {len(self.plan)} providers', end='', file=sys.stderr, flush=True)
        print(file=sys.stderr)

    def _create(self, item):
        identity, name, traits, allocated = item
        path = f'/resource_providers/{identity}'
        self._ask('POST', '/resource_providers', {'uuid': identity, 'name': name})
        self._ask('POST', f'{path}/inventories', {'resource_class': CLASS, 'total': 1, 'max_unit': 1})
        self._ask('PUT', f'{path}/traits', {'traits': traits, 'resource_provider_generation': 1})
        if allocated:
            body = {
                'allocations': {identity: {'resources': {CLASS: 1}}},
                'project_id': 'project',
                'user_id': 'user',
                'consumer_generation': None,
                'consumer_type': 'INSTANCE',
            }
            self._ask('PUT', f'/allocations/{uuid.uuid5(uuid.NAMESPACE_DNS, identity)}', body)

    def loads(self, concurrency):
        """Generate (name, function for ``load``) of each load."""

        def fixed(path):
            return lambda choose, number: [('GET', path, None)]

        def traits(choose, number):
            return [('GET', f'/resource_providers/{choose.choice(self.plan)[0]}/traits', None)]

        def put(choose, number):
            # Only providers to which no other thread writes.
            indexes = range(number, len(self.plan), concurrency)
            path = f'/resource_providers/{self.plan[choose.choice(indexes)][0]}/traits'
            generation = self._ask('GET', path)['resource_provider_generation']
            names = choose.sample(self.common, 20)
            return [('PUT', path, {'traits': names, 'resource_provider_generation': generation})]

        first, second, third = [name for name in self.common if name not in (HALF, FIFTH)][:3]
        rare, candidates = self.common[-1], f'/allocation_candidates?resources={CLASS}:1'
        yield 'traits', fixed('/traits')
        yield 'traits with a prefix', fixed('/traits?name=startswith:HW_CPU_X86')
        yield 'providers, 1 required', fixed(f'/resource_providers?required={first}')
        yield 'providers, 2 required 1 forbidden', fixed(f'/resource_providers?required={first},{second},!{third}')
        yield 'providers, a rare trait', fixed(f'/resource_providers?required={rare}')
        yield 'candidates, limit 50', fixed(f'{candidates}&limit=50')
        yield 'candidates, limit 1000', fixed(f'{candidates}&limit=1000')
        for limit in (50, 1000):
            required = f'{candidates}&required={HALF},!{FIFTH}&limit={limit}'
            yield f'candidates, a half without a fifth, limit {limit}', fixed(required)
        required = f'{candidates}&required={first},{second},!{third}'
        yield 'candidates, 2 required 1 forbidden, limit 50', fixed(f'{required}&limit=50')
        yield 'traits of a provider', traits
        yield 'PUT 20 traits of a provider', put


def main():
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='URL of the service, with /placement if it is mounted there')
    parser.add_argument('-n', type=int, default=10000, help='number of providers')
    parser.add_argument('--fill', action='store_true', help='create the providers first')
    parser.add_argument('--pid', type=lambda text: {int(pid) for pid in text.split(',')}, default=set())
    parser.add_argument('--seconds', type=float, default=5, help='how long each load lasts')
    parser.add_argument('--concurrency', type=lambda text: [int(n) for n in text.split(',')], default=[1])
    parser.add_argument('--json', type=pathlib.Path, help='also write the figures to this file')
    arguments = parser.parse_args()
    bench = Bench(arguments)
    if arguments.fill:
        bench.fill()
    for concurrency in arguments.concurrency:
        for name, make in bench.loads(concurrency):
            bench.load(name, make, concurrency)
    if arguments.json:
        arguments.json.write_text(json.dumps(bench.results, indent=1))


if __name__ == '__main__':
    main()
