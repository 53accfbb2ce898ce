"""The table of the searches in doc/source/reliability.rst."""

import json
import pathlib

from tests.support import tables

PAGE = pathlib.Path(__file__).parents[2] / 'doc' / 'source' / 'reliability.rst'
#: The rows of the table: {database: {heading: text}}.
_ROWS = pathlib.Path(__file__).with_name('results.json')
_NAMES = {'sqlite': 'SQLite', 'postgresql': 'PostgreSQL', 'mariadb': 'MariaDB'}
_MARK = '.. The table of the searches is written by tests.fuzz.'


def write(database, seed, figures):
    """Write the row of a search. It replaces the earlier row of the same database.

    :param database: key of ``_NAMES``.
    :param seed: of the search.
    :param figures: search.Figures.
    """
    rows = json.loads(_ROWS.read_text()) | {database: row(database, seed, figures)}
    _ROWS.write_text(json.dumps(rows, indent=1) + '\n')
    PAGE.write_text(replaced(PAGE.read_text(), stored()))


def stored():
    """Return the rows of the last searches: [{heading: text}, …], by database."""
    rows = json.loads(_ROWS.read_text())
    return [rows[name] for name in _NAMES if name in rows]


def row(database, seed, figures):
    """Return the cells of a search: {heading: text}."""
    return {
        'Database': _NAMES[database],
        'Seed': str(seed),
        'Requests': f'{figures.requests:,}',
        'Minutes': f'{figures.seconds / 60:.0f}',
        **{f'{kind}xx': f'{figures.of_kind(kind):,}' for kind in (2, 4, 5)},
        'Longest': f'{figures.longest:.1f} s',
        'Problems': str(len(figures.problems)),
    }


def replaced(text, rows):
    """Return the text of the page with a table of these rows."""
    return tables.replaced(text, _MARK, [rows[0].keys(), *(each.values() for each in rows)])
