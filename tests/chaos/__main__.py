"""Long runs: python -m tests.chaos [--database NAME] [--minutes N] [--seed N] [--write].

Print the result of each run. With ``--write``, put the results into the tables of doc/source/reliability.rst. The exit
code is 1 if a run has problems.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

from tests.chaos import broken, faults, runs
from tests.support import clusters, servers

_PAGE = pathlib.Path(__file__).parents[2] / 'doc' / 'source' / 'reliability.rst'
#: The results that the page shows.
_RESULTS = pathlib.Path(__file__).with_name('results.json')
_NAMES = {'galera': 'Galera, three nodes', 'postgresql': 'PostgreSQL with a synchronous standby'}
_RUNS, _BUILDS = (
    '.. The table of the runs is written by tests.chaos.',
    '.. The table of the builds is written by tests.chaos.',
)
_END = '.. End of the table.'


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
    results = json.loads(_RESULTS.read_text()) if _RESULTS.exists() else {'runs': {}, 'builds': {}}
    is_wrong = False
    for name in [arguments.database] if arguments.database else clusters.CLUSTERS:
        result = runs.run(name, arguments.seed, arguments.minutes * 60)
        print(result._replace(problems=[]), *result.problems, sep='\n', flush=True)
        is_wrong |= bool(result.problems) or result.longest > faults.LONGEST
        results['runs'][result.database] = _row(result)
    if not arguments.without_builds:
        caught = _builds()
        is_wrong |= not all(caught.values())
        results['builds'] = caught
    if arguments.write:
        _RESULTS.write_text(json.dumps(results, indent=1) + '\n')
        _write(results)
    return int(is_wrong)


def _row(result):
    """Return the cells of a run, {heading: text}."""
    lost = result.count('lost') + result.count('missed') + result.count('times in the history')
    double = result.count('double holder')
    left_out = ''.join(f'; not: {kind} ({reason})' for kind, reason in result.left_out.items())
    return {
        'Database': _NAMES[result.database],
        'Clients': f'{runs.clients.CLIENTS}, seed {result.seed}',
        'Minutes': f'{result.minutes:.1f}',
        'Faults': ', '.join(f'{kind}: {number}' for kind, number in sorted(result.faults.items())) + left_out,
        'Writes': f'{result.requests:,}',
        'Acknowledged': f'{result.acknowledged:,}',
        'Lost': str(lost),
        'Double holders': str(double),
        'Other problems': str(len(result.problems) - lost - double),
        '503': f'{result.unavailable:,}',
        'Other 5xx': str(result.errors),
        'Longest wait': f'{result.longest:.1f} s',
    }


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
    finally:
        server.stop()
    return {name: problem for name, problem in caught.items() if broken.BUILDS[name][1]}


def _write(results):
    """Write the tables into the page."""
    text = _PAGE.read_text()
    rows = list(results['runs'].values())
    headings = list(rows[0])
    table = [[heading, *(row[heading] for row in rows)] for heading in headings]
    text = _replaced(text, _RUNS, _table(table))
    builds = [[name, problem[:150]] for name, problem in results['builds'].items()]
    text = _replaced(text, _BUILDS, _table([['Bug', 'First problem that the checker reports'], *builds]))
    _PAGE.write_text(text)


def _table(rows):
    lines = ['.. list-table::', '   :header-rows: 1', '']
    for row in rows:
        lines += [f'   {"* -" if number == 0 else "  -"} {cell}' for number, cell in enumerate(row)]
    return '\n'.join(lines)


def _replaced(text, mark, table):
    before, rest = text.split(mark, 1)
    return f'{before}{mark}\n\n{table}\n\n{_END}{rest.split(_END, 1)[1]}'


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
