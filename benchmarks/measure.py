"""Measure a service that speaks the Bare Metal API: python -m benchmarks.measure http://127.0.0.1:6385 --pid PID

It uses existing nodes (benchmarks.seed creates some), and restores the traits that it changes. Each line has the
requests per second, the 50th and 99th percentile of the latency in milliseconds, and the server's CPU milliseconds per
request. --pid has the processes whose CPU time counts, with all their children. Include those of the database server.
"""

import argparse
import json
import pathlib
import random
import statistics
import sys
import time
import urllib.parse

from benchmarks.http import Connection
from benchmarks.load import Load, cpu_seconds

PAGE = 1000


class Bench(Load):
    """A service under measurement.

    :param arguments: command line arguments.
    """

    def __init__(self, arguments):
        super().__init__(arguments)
        print('reading the inventory', file=sys.stderr, flush=True)
        self.nodes = self._poll()
        if not self.nodes:
            sys.exit('no nodes: run benchmarks.seed first')
        self.sample = random.Random(7).sample(sorted(self.nodes), min(500, len(self.nodes)))
        print(f'{len(self.nodes)} nodes, {self.traits_per_node():.1f} traits each', file=sys.stderr, flush=True)

    def traits_per_node(self):
        """Return the mean number of traits of a node."""
        return statistics.mean(map(len, self.nodes.values()))

    def connect(self):
        """Open a connection."""
        return Connection(self.arguments.url)

    def _poll(self):
        connection, path, nodes = self.connect(), f'/v1/nodes?fields=uuid,traits&limit={PAGE}', {}
        while path:
            status, body = connection.ask('GET', path)
            if status != 200:
                sys.exit(f'{path}: {status} {body[:500]!r}')
            page = json.loads(body)
            nodes |= {node['uuid']: node['traits'] for node in page['nodes']}
            path = self._path(page.get('next'))
        return nodes

    def _path(self, link):
        if not link:
            return None
        parts = urllib.parse.urlparse(link)
        return f'{parts.path.removeprefix(urllib.parse.urlparse(self.arguments.url).path.rstrip("/"))}?{parts.query}'

    def poll(self):
        """Measure reading the whole inventory, page by page. Links are extracted without decoding the response."""
        times, before = [], cpu_seconds(self.arguments.pid)
        for _ in range(self.arguments.repeat):
            connection, path, start = self.connect(), f'/v1/nodes?fields=uuid,traits&limit={PAGE}', time.perf_counter()
            while path:
                _, body = connection.ask('GET', path)
                _, key, link = body.rpartition(b'"next"')
                path = self._path(link.split(b'"')[1].decode()) if key else None
            times.append(time.perf_counter() - start)
        cpu = (cpu_seconds(self.arguments.pid) - before) / self.arguments.repeat
        self.report(
            'whole inventory', seconds=min(times), cpu_seconds=cpu, nodes_per_second=len(self.nodes) / min(times)
        )

    def own_node(self, choose, number, concurrency):
        """Choose a node to which no other thread writes.

        :param choose: random.Random.
        :param number: number of the thread.
        """
        return choose.choice(self.sample[number::concurrency])

    def loads(self, concurrency):
        """Generate (name, function for ``load``) of each load."""

        def show(choose, number):
            return [('GET', f'/v1/nodes/{choose.choice(self.sample)}', None)]

        def traits(choose, number):
            return [('GET', f'/v1/nodes/{choose.choice(self.sample)}/traits', None)]

        def put_all(choose, number):
            node = self.own_node(choose, number, concurrency)
            names = [*self.nodes[node][:19], f'CUSTOM_BENCH_{choose.randrange(10**6)}']
            return [('PUT', f'/v1/nodes/{node}/traits', {'traits': names})]

        def put_one(choose, number):
            path = f'/v1/nodes/{self.own_node(choose, number, concurrency)}/traits/CUSTOM_BENCH_ONE_{number}'
            return [('PUT', path, None), ('DELETE', path, None)]

        yield 'one node', show
        yield 'traits of one node', traits
        if not self.arguments.read_only:
            yield 'PUT 20 traits', put_all
            yield 'PUT and DELETE one trait', put_one

    def filters(self, concurrency):
        """Generate (name, function for ``load``) of each list: a plain page, and pages with filters."""
        names = sorted({name for traits in self.nodes.values() for name in traits})
        count = {name: sum(name in traits for traits in self.nodes.values()) for name in names}
        common = sorted(names, key=count.get, reverse=True)
        page = '/v1/nodes?fields=uuid,traits&limit=100'
        yield 'page of 100', lambda choose, number: [('GET', page, None)]

        def filtered(choose, number):
            required, second, forbidden = choose.sample(common[:40], 3)
            return [('GET', f'{page}&traits={required},{second}&not-traits-any={forbidden}', None)]

        yield 'page of 100, 2 required 1 forbidden', filtered
        yield 'page, a trait that no node has', lambda choose, number: [('GET', f'{page}&traits=CUSTOM_NOBODY', None)]

    def put_back(self):
        """Restore the traits of the sampled nodes."""
        connection = self.connect()
        for node in self.sample:
            connection.ask('PUT', f'/v1/nodes/{node}/traits', {'traits': self.nodes[node]})


def main():
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='http://HOST:PORT of the service')
    parser.add_argument('--pid', type=lambda text: {int(pid) for pid in text.split(',')}, default=set())
    parser.add_argument('--seconds', type=float, default=5, help='how long each load lasts')
    parser.add_argument(
        '--repeat', type=int, default=3, help='how many times the whole inventory is read; the best time counts'
    )
    parser.add_argument('--concurrency', type=lambda text: [int(n) for n in text.split(',')], default=[1, 8])
    parser.add_argument('--read-only', action='store_true')
    parser.add_argument('--no-filters', action='store_true', help='for services without trait filters, such as Ironic')
    parser.add_argument('--json', type=pathlib.Path, help='also write the figures to this file')
    arguments = parser.parse_args()
    bench = Bench(arguments)
    bench.poll()
    for concurrency in arguments.concurrency:
        if not arguments.no_filters:
            for name, make in bench.filters(concurrency):
                bench.load(name, make, concurrency)
        for name, make in bench.loads(concurrency):
            bench.load(name, make, concurrency)
    if not arguments.read_only:
        bench.put_back()
    if arguments.json:
        arguments.json.write_text(json.dumps(bench.results, indent=1))


if __name__ == '__main__':
    main()
