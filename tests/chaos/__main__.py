"""Long runs: python -m tests.chaos [--database NAME] [--minutes N] [--seed N] [--write].

Print the result of each run. With ``--write``, put the results into the tables of doc/source/reliability.rst. The exit
code is 1 if a run has problems.
"""

import argparse
import pathlib
import sys
import tempfile
import time

from tests.chaos import broken, broken_orders, faults, runs, table
from tests.support import clusters, servers


def main(argv):
    """Run, and return the exit code."""
    parser = argparse.ArgumentParser(prog='python -m tests.chaos')
    parser.add_argument('--database', choices=clusters.CLUSTERS, help='by default one run on each')
    parser.add_argument('--minutes', type=float, default=10)
    parser.add_argument('--seed', default=str(int(time.time())))
    parser.add_argument('--without-builds', action='store_true', help='leave out the builds with a bug')
    parser.add_argument('--write', action='store_true')
    arguments = parser.parse_args(argv)
    servers.install()
    results = table.stored()
    is_wrong = False
    for name in [arguments.database] if arguments.database else clusters.CLUSTERS:
        result = runs.run(name, arguments.seed, arguments.minutes * 60)
        print(result._replace(problems=[]), *result.problems, sep='\n', flush=True)
        is_wrong |= bool(result.problems) or result.longest > faults.LONGEST
        results['runs'][result.database] = table.row(result)
    if not arguments.without_builds:
        caught = _builds()
        is_wrong |= not all(caught.values())
        results['builds'] = caught
    if arguments.write:
        table.write(results)
    return int(is_wrong)


def _builds():
    """Return the problem that the checker finds in each build with a bug: {name: sentence or None}."""
    caught = {}
    server = servers.PostgreSQL()
    try:
        server.start()
        with tempfile.TemporaryDirectory() as folder:
            for name, (_, words) in broken.BUILDS.items():
                path = pathlib.Path(folder, str(len(caught)))
                problems = runs.run_broken(server, path, name) if words else ['-']
                matches = [each for each in problems if not words or any(word in each for word in words)]
                caught[name] = matches[0] if matches else None
                print(name, len(problems), caught[name], sep=': ', flush=True)
            del caught['none']
            for name in broken_orders.BUILDS:
                problems = runs.run_broken_order(server, pathlib.Path(folder, str(len(caught))), name)
                # The last line has the call whose answer no order explains, or it is the only one.
                *rest, last = problems[0].splitlines() if problems else [None]
                caught[name] = f'no order explains {last.partition(" ")[2]}' if rest else last
                print(name, caught[name], sep=': ', flush=True)
    finally:
        server.stop()
    return caught


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
