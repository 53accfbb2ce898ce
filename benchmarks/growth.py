"""Measure the cost of requests as the inventory grows: python -m benchmarks.growth postgresql+psycopg://…/n10k …/n100k

Fill each database with ``python -m benchmarks.seed URL -n NUMBER`` first. This process answers the requests, from each
database in turn. --pid names the process of the database server, whose CPU is counted with that of its children. The
output has medians, in milliseconds of CPU: of this process, of the server, and of both together.

There is no HTTP, so a busy machine disturbs the figures less.
"""

import argparse
import collections
import contextlib
import pathlib
import statistics
import time

import orjson
from webob import Request

from benchmarks.seed import CLASSES, generate
from ironic_traits import app, conf
from ironic_traits.service import Service

PAGE = '/v1/nodes?fields=uuid,name,resource_class,provision_state,traits&limit=100'
CANDIDATES = '/placement/allocation_candidates?resources=CUSTOM_BAREMETAL_LARGE:1'
PROVIDERS = '/placement/resource_providers'


def requests():
    """Yield (name, path, body) of each request; the body is None for a GET."""
    count = collections.Counter(name for _, traits in generate(10000, 42) for name in traits)
    a, b, c, d, e, f, g, h, *_ = (name for name, _ in count.most_common())
    for name, query in (
        ('a page', ''),
        ('by name', '&sort_key=name'),
        ('the latest changes', '&sort_key=updated_at&sort_dir=desc'),
        ('in maintenance', '&maintenance=true'),
        ('reserved', '&reserved=true'),
        ('1 required', f'&traits={a}'),
        ('2 required, 1 forbidden', f'&traits={a},{b}&not-traits-any={c}'),
        ('4 required, which few have', f'&traits={a},{b},{c},{d}'),
        ('6 required, which none has', f'&traits={a},{b},{c},{d},{e},{f}'),
        ('a text that no description has', '&description_contains=nothing'),
        ('a text that many descriptions have', '&description_contains=row 7'),
    ):
        yield f'nodes: {name}', PAGE + query, None
    some = {'resource_class': CLASSES[0], 'required': [a, b], 'forbidden': [f], 'required_any': [[g, h]], 'limit': 10}
    for name, body in (('1 required', {'required': [a]}), ('5 traits', some), ('explained', some | {'explain': True})):
        yield f'match: {name}', '/v1/matches', body
    for name, query in (
        ('limit 50', '&limit=50'),
        ('1 required, 1 forbidden', f'&required={a},!{b}&limit=50'),
        ('2 required', f'&required={a},{b}&limit=50'),
        ('3 required, which few have', f'&required={a},{b},{c}&limit=50'),
        ('limit 1000', '&limit=1000'),
    ):
        yield f'candidates: {name}', CANDIDATES + query, None
    yield 'providers: 1 required', f'{PROVIDERS}?required={a}', None
    yield 'providers: 2 required, 1 forbidden', f'{PROVIDERS}?required={a},{b},!{c}', None


def measure(application, path, body, pid):
    """Send a request, and return the milliseconds of CPU of this process and of the server."""
    request = Request.blank(path, method='POST' if body else 'GET')
    request.headers['X-OpenStack-Ironic-API-Version'] = '1.82'
    request.headers['OpenStack-API-Version'] = 'placement 1.39'
    if body:
        request.body, request.content_type = orjson.dumps(body), 'application/json'
    begin, of_server = time.process_time(), _cpu(pid)
    response = request.get_response(application)
    result = (time.process_time() - begin) * 1e3, _cpu(pid) - of_server
    if response.status_int != 200:
        raise SystemExit(f'{path}: {response.text[:500]}')
    return result


def _cpu(pid):
    """Return the milliseconds of CPU of the threads of a process and its children; 0 without a process."""
    total = 0
    for process in (pid, *_children(pid)) if pid else ():
        with contextlib.suppress(OSError):
            for task in pathlib.Path(f'/proc/{process}/task').glob('*/schedstat'):
                total += int(task.read_text().split()[0])
    return total / 1e6


def _children(pid):
    with contextlib.suppress(OSError):
        return [int(child) for child in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]
    return []


def main():
    """Measure all requests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('urls', nargs='+', metavar='url', help='SQLAlchemy URLs of databases')
    parser.add_argument('--pid', type=int, help='process id of the database server')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--only', default='', help='only requests whose name contains this text')
    arguments = parser.parse_args()
    applications = [app.build(Service(conf.make(['--database', url]))) for url in arguments.urls]
    for name, path, body in requests():
        if arguments.only not in name:
            continue
        for application in applications:
            measure(application, path, body, arguments.pid)
        turns = [[measure(each, path, body, arguments.pid) for each in applications] for _ in range(arguments.rounds)]
        cells = [
            [statistics.median(figures) for figures in zip(*turn, strict=True)] for turn in zip(*turns, strict=True)
        ]
        print(f'{name:40}', *(f'{py:8.1f} + {db:6.1f} = {py + db:6.1f}' for py, db in cells), flush=True)


if __name__ == '__main__':
    main()
