"""The command ``python -m tests.fuzz``: search on each database, and print the figures."""

import argparse
import logging
import math
import random
import sys

from tests.fuzz import table
from tests.fuzz.search import database, search
from tests.support import servers


def main():
    """Run the search. The exit code is 1 if it has found a problem."""
    parser = argparse.ArgumentParser(prog='tests.fuzz', description=__doc__)
    kinds = ['sqlite', *servers.SERVERS]
    parser.add_argument('--database', action='append', choices=kinds, help='may be repeated; all by default')
    parser.add_argument('--requests', type=int, default=50_000, help='number of requests per database')
    parser.add_argument('--seed', type=int, help='repeats the search of the seed that it has printed')
    parser.add_argument('--minutes', type=float, default=math.inf, help='ends each search, with fewer requests')
    parser.add_argument('--write', action='store_true', help='write the figures into doc/source/reliability.rst')
    arguments = parser.parse_args()
    seed = random.randrange(2**32) if arguments.seed is None else arguments.seed
    logging.disable(logging.CRITICAL)
    print(f'seed {seed}', flush=True)
    has_problems = False
    for kind in arguments.database or kinds:
        with database(kind) as url:
            figures = search(url, arguments.requests, seed, arguments.minutes)
        print(f'{kind}: {figures}', *map(ascii, figures.problems), sep='\n  ', flush=True)
        if arguments.write:
            table.write(kind, seed, figures)
        has_problems |= bool(figures.problems)
    return int(has_problems)


if __name__ == '__main__':
    sys.exit(main())
