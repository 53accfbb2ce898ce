"""Long runs of rounds without faults, with two applications on one database.

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
from tests.support import servers, tables
from tests.support.service import make_app, upgraded

PAGE = tables.RELIABILITY
_TABLE = tables.ByDatabase(
    pathlib.Path(__file__).with_name('rounds.json'), '.. The table of the rounds is written by tests.chaos.rounds.'
)
stored, replaced = _TABLE.stored, _TABLE.replaced


def main(argv):
    """Run, and return the exit code."""
    parser = argparse.ArgumentParser(prog='python -m tests.chaos.rounds')
    parser.add_argument('--database', choices=tables.DATABASES, action='append', help='by default one run on each')
    parser.add_argument('--minutes', type=float, default=10)
    parser.add_argument('--seed', default=str(int(time.time())))
    parser.add_argument('--write', action='store_true')
    arguments = parser.parse_args(argv)
    servers.install()
    is_wrong = False
    for name in arguments.database or tables.DATABASES:
        with _database(name) as url:
            orders = run(url, arguments.seed, arguments.minutes * 60)
        print(name, row(name, arguments, orders), *orders.problems, sep='\n', flush=True)
        is_wrong |= bool(orders.problems)
        if arguments.write:
            _TABLE.write(name, row(name, arguments, orders))
    return int(is_wrong)


def run(url, seed, seconds):
    """Return the Orders of rounds that two applications have answered."""
    with make_app(url) as first, make_app(url) as second:
        orders = Orders(clients.in_process([first, second], random.Random(seed)), seed)
        end = time.monotonic() + seconds
        orders.run(lambda: time.monotonic() > end)
        return orders


def row(name, arguments, orders):
    """Return the cells of a run: {heading: text}."""
    return {
        'Database': tables.DATABASES[name],
        'Seed': arguments.seed,
        'Minutes': f'{arguments.minutes:g}',
        'Rounds': f'{orders.rounds:,}',
        'Calls': f'{orders.counts.total():,}',
        'Not decided': str(orders.undecided),
        'Violations': str(len(orders.problems)),
    }


@contextlib.contextmanager
def _database(name):
    """Yield the URL of a new database."""
    with tempfile.TemporaryDirectory() as folder:
        if name == 'sqlite':
            yield upgraded(f'sqlite:///{folder}/rounds.sqlite')
            return
        server = servers.SERVERS[name]()
        try:
            server.start()
            yield upgraded(server.create('rounds'))
        finally:
            server.stop()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
