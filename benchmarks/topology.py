"""Measure requests for nodes relative to each other: python -m benchmarks.topology choose -n 10000,100000

``choose`` fills a new database with nodes in racks of 20 and rows of ten racks (``benchmarks.seed --racks``), starts
the service, and measures requests of one client. Before each request, another client changes a node. Reservations are
deleted after each request, so that the inventory does not fill. The output has percentiles of the latency in
milliseconds, the number of requests, the number of nodes in the last response, and the statuses. With --url, it
measures a running service, which has the nodes of ``python -m benchmarks.seed DATABASE --racks``.

``trace`` replays jobs that arrive and leave (``benchmarks.arrivals``) with several ways to choose nodes. This process
answers the requests. The output has the mean number of whole racks (no node is held) after each arrival, the same for
the second half of the arrivals, the mean numbers of held nodes and of racks of a job, and the number of refused jobs.
The same options always have the same output.
"""

import argparse
import collections
import contextlib
import functools
import itertools
import json
import random
import statistics
import tempfile
import time
import uuid

import orjson
from webob import Request

from benchmarks import arrivals, bulk, seed
from benchmarks.compare import databases
from benchmarks.compare.programs import Programs
from benchmarks.compare.services import serve
from benchmarks.http import Connection
from benchmarks.reserve import RESERVATION_VERSION
from ironic_traits import app, conf
from ironic_traits.inventory.search.search_places import Places
from ironic_traits.service import Service

RACK = {'key': 'trait:CUSTOM_RACK_', 'policy': 'affinity'}
FULLEST = RACK | {'prefer': 'fullest'}
COUNT = 18
#: {way to choose nodes: request}. All nodes fulfil the first one.
WAYS = {
    'in turn, without topology': {'forbidden': ['CUSTOM_NOBODY']},
    'one rack': {'topology': [RACK]},
    'one rack, fullest first': {'topology': [FULLEST]},
}


def requests():
    """Return [(name, path, body), …] of the requests to measure."""
    one_rack = {'topology': [FULLEST], 'count': COUNT}
    spread = [{'key': 'trait:CUSTOM_ROW_', 'policy': 'affinity'}, RACK | {'policy': 'anti-affinity'}]
    gathered, scattered = {'required': [seed.GATHERED]}, {'required': [seed.SCATTERED]}
    return [
        (f'{COUNT} of one rack', '/v1/matches', one_rack),
        ('the same, a trait of one rack in ten', '/v1/matches', one_rack | gathered),
        ('the same, a trait of 30%; explained', '/v1/matches', one_rack | scattered | {'explain': True}),
        ('8 of one row, each in another rack', '/v1/matches', {'topology': spread, 'count': 8}),
        (f'reservations of {COUNT} of one rack', '/v1/reservations', {'topology': [FULLEST]}),
        (f'reservations of {COUNT}, a trait of 30%', '/v1/reservations', {'topology': [FULLEST]} | scattered),
        (f'capacity for {COUNT} of one rack', '/v1/capacity', {'flavors': [{'name': 'racks', **one_rack}]}),
    ]


def changes(count):
    """Generate (method, path) of changes of nodes: each is changed, and changed back."""
    choose = random.Random(1)
    while True:
        node = f'/v1/nodes/node-{choose.randrange(count):06}'
        for path, method in itertools.product(('traits/CUSTOM_CHANGED', 'maintenance'), ('PUT', 'DELETE')):
            yield method, f'{node}/{path}'


def with_instances(path, body, count):
    """Return a body with new instances, if the path is that of the reservations."""
    is_claim = path == '/v1/reservations'
    return body | ({'instance_uuids': [str(uuid.uuid4()) for _ in range(count)]} if is_claim else {})


def warm_up(url):
    """Wait until each worker has its index of nodes. Requests for capacity wait for it."""
    _, path, body = requests()[-1]
    # A worker gets each new connection by chance.
    for _ in range(10):
        with contextlib.closing(Connection(url, version=RESERVATION_VERSION)) as connection:
            connection.ask('POST', path, body)


def choose(url, arguments, count):
    """Measure each request for some seconds, after a request that does not count, and print a line for each."""
    warm_up(url)
    client, other = (Connection(url, version=RESERVATION_VERSION) for _ in range(2))
    change = changes(count)
    print(f'{count} nodes {"":28} {"p50":>8} {"p99":>8} {"number":>7} {"nodes":>6}  status')
    for name, path, body in requests():
        times, statuses, begin = [], collections.Counter(), None
        while begin is None or len(times) < 2 or time.monotonic() < begin + arguments.seconds:
            other.ask(*next(change))
            document, start = with_instances(path, body, COUNT), time.perf_counter()
            status, response = client.ask('POST', path, document)
            seconds = time.perf_counter() - start
            response = json.loads(response)
            if status == 400:
                raise SystemExit(f'{name}: {response}')
            for reservation in response.get('reservations', ()):
                client.ask('DELETE', f'/v1/reservations/{reservation["uuid"]}')
            if begin is None:
                begin = time.monotonic()
                continue
            times.append(seconds * 1000)
            statuses[status] += 1
        nodes = len(response.get('nodes') or response.get('reservations') or ())
        p50, *_, p99 = statistics.quantiles(times, n=100)[49:99]
        print(f'{name:42} {p50:8.1f} {p99:8.1f} {len(times):7} {nodes:6}  {dict(statuses)}', flush=True)


class Application:
    """The service in this process.

    :param url: URL of the database.
    """

    def __init__(self, url):
        self._service = Service(conf.make(['--database', url]))
        # Found nodes are kept for a second. Without that, nothing depends on the clock.
        self._service.places = Places(longest=0)
        self._application = app.build(self._service)
        self.close = self._service.close

    def ask(self, method, path, body=None):
        """Send a request, and return its response."""
        request = Request.blank(path, method=method)
        request.headers['X-OpenStack-Ironic-API-Version'] = RESERVATION_VERSION
        if body:
            request.body, request.content_type = orjson.dumps(body), 'application/json'
        return request.get_response(self._application)


def trace(application, arguments, count):
    """Replay the jobs with each way to choose nodes, and print a line for each."""
    racks = {node['uuid']: i // seed.NODES_PER_RACK for i, (node, _) in enumerate(seed.racks(count, arguments.seed))}
    total = -(-count // seed.NODES_PER_RACK)
    print(f'{total} racks {"":24} {"whole":>8} {"2nd half":>8} {"held":>8} {"of a job":>8} {"refused":>8}')

    def claim(body, size):
        path = '/v1/reservations'
        response = application.ask('POST', path, with_instances(path, body, size))
        if response.status_int not in (201, 409):
            raise SystemExit(response.text)
        return {each['uuid']: racks[each['node_uuid']] for each in response.json.get('reservations', ())}

    def release(reservation):
        application.ask('DELETE', f'/v1/reservations/{reservation}')

    for name, body in WAYS.items():
        jobs = arrivals.jobs(arguments.seed, arguments.arrivals, count, arguments.load)
        turns = list(arrivals.replay(jobs, functools.partial(claim, body), release))
        whole = [total - len(set(held.values())) for held, _ in turns]
        of_job = [len(set(claims.values())) for _, claims in turns if claims]
        columns = whole, whole[len(whole) // 2 :], [len(held) for held, _ in turns], of_job
        means = (f'{statistics.mean(column):8.1f}' for column in columns)
        print(f'{name:34}', *means, f'{len(turns) - len(of_job):8}', flush=True)


@contextlib.contextmanager
def filled(arguments, count):
    """Provide the URL of a new database with nodes in racks."""
    with contextlib.ExitStack() as stack:
        if arguments.database == 'sqlite':
            url = f'sqlite:///{stack.enter_context(tempfile.TemporaryDirectory())}/nodes.sqlite'
        else:
            url = stack.enter_context(databases.started(arguments.database)).create('nodes')
        bulk.fill(url, seed.racks(count, arguments.seed), reserved=arguments.reserved)
        yield url


def run_choose(arguments, count):
    """Measure a service with a number of nodes, which is started unless the arguments name a running one."""
    if arguments.url:
        choose(arguments.url, arguments, count)
        return
    with filled(arguments, count) as url, Programs() as programs:
        choose(serve(programs, url, arguments.workers)[0], arguments, count)


def run_trace(arguments, count):
    """Replay the jobs in this process with a number of nodes."""
    with filled(arguments, count) as url, contextlib.closing(Application(url)) as application:
        trace(application, arguments, count)


def main():
    """Run a benchmark for each number of nodes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    measured, replayed = commands.add_parser('choose'), commands.add_parser('trace')
    measured.set_defaults(run=run_choose, reserved=bulk.RESERVED, n=[100_000], database='postgresql')
    measured.add_argument('--seconds', type=float, default=10, help='how long each request is sent')
    measured.add_argument('--workers', type=int, default=2)
    measured.add_argument('--url', help='http://HOST:PORT of a running service with these nodes')
    replayed.set_defaults(run=run_trace, reserved=0, n=[2000], database='sqlite')
    replayed.add_argument('--arrivals', type=int, default=1500, help='number of jobs')
    replayed.add_argument('--load', type=float, default=0.7, help='share of the nodes that the jobs want on average')
    for command in (measured, replayed):
        numbers = {'type': lambda text: [int(each) for each in text.split(',')], 'default': argparse.SUPPRESS}
        command.add_argument('-n', help='numbers of nodes, separated by commas', **numbers)
        command.add_argument('--seed', type=int, default=42)
        command.add_argument('--database', choices=[*databases.KINDS, 'sqlite'], default=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for count in arguments.n:
        arguments.run(arguments, count)


if __name__ == '__main__':
    main()
