"""Measure the CPU of single requests, without a server: python -m benchmarks.one_request postgresql+psycopg://…

The requests go to the WSGI application in this process: show a node, show its traits, PUT 20 traits. The database has
nodes (``benchmarks.seed`` creates some); PUT changes their traits. Each line has the CPU of this process in
microseconds for a request. It is the minimum of several rounds, because other programs can only add to it. Then follow
the shares of the libraries: the stack is sampled every few milliseconds, and its innermost frame counts. C code, such
as the database driver, counts for the library that called it.
"""

import argparse
import collections
import contextlib
import io
import itertools
import pathlib
import random
import signal
import time

import orjson
import sqlalchemy as sa

from benchmarks.http import VERSION
from benchmarks.seed import CUSTOM
from ironic_traits import app, conf
from ironic_traits.db import tables
from ironic_traits.service import Service

#: Seconds of CPU between two samples. Most kernels cannot sample more often than every 4 ms.
_INTERVAL = 0.001
#: {library: part of the path of its files}. The first one that fits counts.
_LIBRARIES = {
    'this service': '/ironic_traits/',
    'SQLAlchemy': '/sqlalchemy/',
    'pecan': '/pecan/',
    'webob': '/webob/',
    'WSME': '/wsme/',
    'oslo': '/oslo_',
    'benchmark': '/benchmarks/',
}


def environ(method, path, document=None):
    """Return the WSGI environ of a request, as granian builds it."""
    body = b'' if document is None else orjson.dumps(document)
    values = {
        'REQUEST_METHOD': method,
        'SCRIPT_NAME': '',
        'PATH_INFO': path,
        'QUERY_STRING': '',
        'SERVER_NAME': '127.0.0.1',
        'SERVER_PORT': '6385',
        'SERVER_PROTOCOL': 'HTTP/1.1',
        'REMOTE_ADDR': '127.0.0.1',
        'HTTP_HOST': '127.0.0.1:6385',
        'HTTP_ACCEPT': 'application/json',
        'HTTP_ACCEPT_ENCODING': 'identity',
        'HTTP_X_OPENSTACK_IRONIC_API_VERSION': VERSION,
        'HTTP_OPENSTACK_API_VERSION': 'placement 1.39',
        'wsgi.version': (1, 0),
        'wsgi.url_scheme': 'http',
        'wsgi.input': io.BytesIO(body),
        'wsgi.errors': io.StringIO(),
        'wsgi.multithread': True,
        'wsgi.multiprocess': True,
        'wsgi.run_once': False,
    }
    if body:
        values |= {'CONTENT_LENGTH': str(len(body)), 'CONTENT_TYPE': 'application/json'}
    return values


def ask(application, request):
    """Send a request to the application.

    :param request: WSGI environ.
    :returns: the body.
    """
    started = []
    chunks = application(request, lambda status, headers, exc_info=None: started.append(status))
    body = b''.join(chunks)
    if not started[0].startswith('20'):
        raise SystemExit(f'{request["REQUEST_METHOD"]} {request["PATH_INFO"]}: {started[0]} {body[:300]!r}')
    return body


def works(uuids, names):
    """Return {name: function that returns the next request}.

    :param uuids: of nodes.
    :param names: traits.
    """
    choose, numbers = random.Random(7), itertools.count()

    def put():
        traits = [*choose.sample(names, 19), f'CUSTOM_BENCH_{next(numbers) % 1000}']
        return environ('PUT', f'/v1/nodes/{choose.choice(uuids)}/traits', {'traits': traits})

    return {
        'one node': lambda: environ('GET', f'/v1/nodes/{choose.choice(uuids)}'),
        'its traits': lambda: environ('GET', f'/v1/nodes/{choose.choice(uuids)}/traits'),
        'PUT 20 traits': put,
    }


def cpu(application, request, count, rounds):
    """Return the CPU of a request in microseconds: the minimum of several rounds of requests."""
    least = float('inf')
    for _ in range(rounds):
        requests = [request() for _ in range(count)]
        start = time.process_time()
        for each in requests:
            ask(application, each)
        least = min(least, (time.process_time() - start) / count)
    return least * 1e6


@contextlib.contextmanager
def sampled():
    """Yield a counter of the samples of the block, {library: number}."""
    samples = collections.Counter()

    def sample(number, frame):
        path = frame.f_code.co_filename
        samples[next((name for name, part in _LIBRARIES.items() if part in path), 'Python')] += 1

    signal.signal(signal.SIGPROF, sample)
    signal.setitimer(signal.ITIMER_PROF, _INTERVAL, _INTERVAL)
    try:
        yield samples
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main():
    """Measure each request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='SQLAlchemy URL of a database with nodes')
    parser.add_argument('--count', type=int, default=300, help='requests of a round')
    parser.add_argument('--rounds', type=int, default=10)
    parser.add_argument('--works', default='', help='only works whose name contains this')
    parser.add_argument('--no-shares', action='store_true', help='do not sample')
    arguments = parser.parse_args()
    url = f'sqlite:///{arguments.url}' if pathlib.Path(arguments.url).exists() else arguments.url
    with contextlib.closing(Service(conf.make(['--database', url]))) as service:
        application = app.build(service)
        with service.read() as connection:
            uuids = connection.scalars(sa.select(tables.nodes.c.uuid).limit(500)).all()
        for name, request in works(uuids, CUSTOM).items():
            if arguments.works in name:
                measure(arguments, application, name, request)


def measure(arguments, application, name, request):
    """Measure one kind of requests, and print the figures."""
    cpu(application, request, arguments.count, 1)
    print(f'{name:14} {cpu(application, request, arguments.count, arguments.rounds):6.0f} µs', flush=True)
    if arguments.no_shares:
        return
    with sampled() as samples:
        cpu(application, request, arguments.count, arguments.rounds)
    for library, number in samples.most_common():
        print(f'    {library:14} {number / samples.total():5.1%}')


if __name__ == '__main__':
    main()
