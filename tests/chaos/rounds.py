"""Long runs of rounds without faults, with two applications on one database, or on two nodes of a Galera cluster.

``python -m tests.chaos.rounds [--database NAME] [--minutes N] [--seed N] [--write]``. With ``--write``, the figures go
into the table of doc/source/reliability.rst. The exit code is 1 if no order explains a history.
"""

import argparse
import contextlib
import pathlib
import random
import sys
import tempfile
import time

from tests.chaos import clients
from tests.chaos.order import Orders
from tests.support import clusters, servers, tables
from tests.support.service import make_app, upgraded

PAGE = tables.RELIABILITY
_TABLE = tables.ByDatabase(
    pathlib.Path(__file__).with_name('rounds.json'), '.. The table of the rounds is written by tests.chaos.rounds.'
)
#: On different nodes of a cluster, each transaction must wait for what the other node has acknowledged.
SYNCHRONOUS = {'database__mysql_wsrep_sync_wait': 7}
stored, replaced = _TABLE.stored, _TABLE.replaced


def main(argv):
    """Run, and return the exit code."""
    parser = argparse.ArgumentParser(prog='python -m tests.chaos.rounds')
    parser.add_argument('--database', choices=tables.SERVERS, action='append', help='by default one run on each')
    parser.add_argument('--minutes', type=float, default=10)
    parser.add_argument('--seed', default=str(int(time.time())))
    parser.add_argument('--write', action='store_true')
    arguments = parser.parse_args(argv)
    servers.install()
    is_wrong = False
    for name in arguments.database or tables.SERVERS:
        with _databases(name) as urls, of_two_applications(urls, arguments.seed) as orders:
            end = time.monotonic() + arguments.minutes * 60
            orders.run(lambda end=end: time.monotonic() > end)
        print(name, row(name, arguments, orders), *orders.problems, sep='\n', flush=True)
        is_wrong |= bool(orders.problems)
        if arguments.write:
            _TABLE.write(name, row(name, arguments, orders))
    return int(is_wrong)


@contextlib.contextmanager
def of_two_applications(urls, seed):
    """Yield the Orders of two applications, of which each has the URL of its database."""
    options = {} if urls[0] == urls[1] else SYNCHRONOUS
    with make_app(urls[0], **options) as first, make_app(urls[1], **options) as second:
        yield Orders(clients.in_process([first, second], random.Random(seed)), seed)


def row(name, arguments, orders):
    """Return the cells of a run: {heading: text}."""
    return {
        'Database': tables.SERVERS[name],
        'Seed': arguments.seed,
        'Minutes': f'{arguments.minutes:g}',
        'Rounds': f'{orders.rounds:,}',
        'Calls': f'{orders.counts.total():,}',
        'Not decided': str(orders.undecided),
        'Violations': str(len(orders.problems)),
    }


@contextlib.contextmanager
def _databases(name):
    """Yield the URLs of a new database for two applications."""
    with tempfile.TemporaryDirectory() as folder:
        if name == 'sqlite':
            yield [upgraded(f'sqlite:///{folder}/rounds.sqlite')] * 2
            return
        server = {**servers.SERVERS, 'galera': clusters.Galera}[name]()
        try:
            server.start()
            url = upgraded(server.create('rounds'))
            yield clusters.urls_by_node(server, url)[:2] if name == 'galera' else [url] * 2
        finally:
            server.stop()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
