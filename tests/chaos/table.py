"""The tables of the runs and of the builds with a bug in doc/source/reliability.rst."""

import json
import pathlib

from tests.chaos import clients
from tests.support import tables

PAGE = pathlib.Path(__file__).parents[2] / 'doc' / 'source' / 'reliability.rst'
#: The results that the page shows: {'runs': {database: {heading: text}}, 'builds': {bug: problem}}.
_RESULTS = pathlib.Path(__file__).with_name('results.json')
_NAMES = {'galera': 'Galera, three nodes', 'postgresql': 'PostgreSQL with a synchronous standby'}
_RUNS, _BUILDS = (
    '.. The table of the runs is written by tests.chaos.',
    '.. The table of the builds is written by tests.chaos.',
)
#: Characters of a problem that the page shows.
_LENGTH = 150


def stored():
    """Return the results of the last runs."""
    return json.loads(_RESULTS.read_text())


def write(results):
    """Store results, and write them into the page."""
    _RESULTS.write_text(json.dumps(results, indent=1) + '\n')
    PAGE.write_text(replaced(PAGE.read_text(), results))


def row(result):
    """Return the cells of a run, {heading: text}.

    :param result: runs.Result.
    """
    lost = result.count('lost') + result.count('missed') + result.count('times in the history')
    double = result.count('double holder')
    left_out = ''.join(f'; not: {kind} ({reason})' for kind, reason in result.left_out.items())
    return {
        'Database': _NAMES[result.database],
        'Clients': f'{clients.CLIENTS}, seed {result.seed}',
        'Minutes': f'{result.minutes:.1f}',
        'Faults': ', '.join(f'{kind}: {number}' for kind, number in sorted(result.faults.items())) + left_out,
        'Requests': f'{result.requests:,}',
        'Writes': f'{result.writes:,}',
        'Acknowledged': f'{result.acknowledged:,}',
        'Calls in order': f'{result.ordered:,} in {result.rounds:,} rounds; {result.undecided} not decided',
        'Lost': str(lost),
        'Double holders': str(double),
        'Other problems': str(len(result.problems) - lost - double),
        '503': f'{result.unavailable:,}',
        'Other 5xx': str(result.errors),
        'Longest wait': f'{result.longest:.1f} s',
    }


def replaced(text, results):
    """Return the text of the page with the tables of these results."""
    runs = list(results['runs'].values())
    rows = [[heading, *(run[heading] for run in runs)] for heading in runs[0]]
    builds = [[name, problem[:_LENGTH]] for name, problem in results['builds'].items()]
    text = tables.replaced(text, _RUNS, rows)
    return tables.replaced(text, _BUILDS, [['Bug', 'First problem that the checker reports'], *builds])
