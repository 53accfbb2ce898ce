"""The table of the races in doc/source/reliability.rst."""

import json
import pathlib

from tests.support import tables

PAGE = pathlib.Path(__file__).parents[2] / 'doc' / 'source' / 'reliability.rst'
#: The rows of the table: {database: {heading: text}}.
_ROWS = pathlib.Path(__file__).with_name('results.json')
_NAMES = {'sqlite': 'SQLite', 'postgresql': 'PostgreSQL', 'mariadb': 'MariaDB'}
_MARK = '.. The table of the races is written by tests.races.'


def write(database, seed, figures):
    """Write the row of a run. It replaces the earlier row of the same database.

    :param database: key of ``_NAMES``.
    :param seed: of the run.
    :param figures: ``tests.races.__main__.Figures``.
    """
    rows = stored() | {database: row(database, seed, figures)}
    _ROWS.write_text(json.dumps(rows, indent=1) + '\n')
    PAGE.write_text(replaced(PAGE.read_text(), rows))


def stored():
    """Return the rows of the last runs: {database: {heading: text}}."""
    return json.loads(_ROWS.read_text())


def row(database, seed, figures):
    """Return the cells of a run: {heading: text}."""
    return {
        'Database': _NAMES[database],
        'Seed': str(seed),
        'Minutes': f'{figures.seconds / 60:.0f}',
        'Pairs': f'{figures.pairs:,}',
        'Groups': f'{figures.groups:,}',
        'Schedules': f'{figures.schedules:,}',
        'Requests': f'{figures.requests:,}',
        'Refused': f'{figures.refused:,}',
        'Names left': f'{figures.left_names:,}',
        'Violations': str(figures.violations),
    }


def replaced(text, rows):
    """Return the text of the page with a table of these rows."""
    ordered = [rows[name] for name in _NAMES if name in rows]
    return tables.replaced(text, _MARK, [ordered[0].keys(), *(each.values() for each in ordered)])
