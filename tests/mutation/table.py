"""The table of the mutation score in doc/source/reliability.rst."""

import datetime
import json
import pathlib

from tests.support import tables

PAGE = tables.RELIABILITY
_RESULTS = pathlib.Path(__file__).with_name('results.json')
_MARK = '.. The table of the mutation score is written by tests.mutation.'
_COUNTS = ('mutants', 'killed', 'listed', 'left')


def stored():
    """Return the figures of the last runs: {module: {'mutants': number, …, 'day': text}}."""
    return json.loads(_RESULTS.read_text())


def write(figures):
    """Write the rows of modules. They replace the earlier rows of the same modules.

    :param figures: {module: {'mutants': number, 'killed': number, 'listed': number, 'left': number}}.
    """
    day = {'day': datetime.datetime.now(datetime.UTC).date().isoformat()}
    rows = stored() | {module: each | day for module, each in figures.items()}
    _RESULTS.write_text(json.dumps(rows, indent=1, sort_keys=True) + '\n')
    PAGE.write_text(replaced(PAGE.read_text(), rows))


def replaced(text, rows):
    """Return the text of the page with a table of these rows."""
    ordered = sorted(rows.items())
    cells = [_cells(f'``{name.removeprefix("ironic_traits/")}``', row) for name, row in ordered]
    total = {count: sum(row[count] for row in rows.values()) for count in _COUNTS}
    cells.append(_cells('all', total | {'day': ''}))
    return tables.replaced(text, _MARK, [['Module', *map(str.capitalize, _COUNTS), 'Score', 'Day'], *cells])


def _cells(name, row):
    score = row['killed'] / (row['mutants'] - row['listed'])
    return [name, *(f'{row[count]:,}' for count in _COUNTS), f'{score:.1%}', row['day']]
