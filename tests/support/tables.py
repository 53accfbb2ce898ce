"""Tables of pages of the documentation, which programs write."""

import itertools
import json
import pathlib
import re

_TESTS = pathlib.Path(__file__).parents[1]
RELIABILITY = _TESTS.parent / 'doc' / 'source' / 'reliability.rst'
DATABASES = {'sqlite': 'SQLite', 'postgresql': 'PostgreSQL', 'mariadb': 'MariaDB'}
#: Also a cluster, for the runs that need none of the others' tools.
SERVERS = DATABASES | {'galera': 'Galera, two nodes in use'}
_END = '.. End of the table.'
#: The sentence of reliability.rst with the sum of its tables, and the headings that it adds up.
_TOTAL, _COUNTED = re.compile(r'[\d,]+ requests in all'), ('Requests', 'Calls')


def replaced(text, mark, rows):
    """Return the text of a page with other rows in one of its tables, and with the sum of all stored tables.

    :param mark: the comment before the table.
    :param rows: [[text of a cell, …], …], of which the first one has the headings.
    """
    lines = ['.. list-table::', '   :header-rows: 1', '']
    for row in rows:
        lines += [f'   {"  -" if number else "* -"} {cell}' for number, cell in enumerate(row)]
    before, rest = text.split(mark, 1)
    page = '\n'.join([f'{before}{mark}', '', *lines, '', _END]) + rest.split(_END, 1)[1]
    return _TOTAL.sub(f'{_checked_requests():,} requests in all', page)


def _checked_requests():
    """Return the number of requests in the tables of reliability.rst."""
    paths = itertools.chain.from_iterable(_TESTS.glob(f'*/{name}.json') for name in ('results', 'rounds'))
    documents = (json.loads(path.read_text()) for path in paths)
    tables = (document.get('runs', document) for document in documents)
    rows = (row for table in tables for row in table.values())
    return sum(int(row[name].replace(',', '')) for row in rows for name in _COUNTED if name in row)


class ByDatabase:
    """A table of reliability.rst with a row for each database.

    :param path: of the file that keeps the rows: {database: {heading: text}}.
    :param mark: the comment before the table.
    """

    def __init__(self, path, mark):
        self._path, self._mark = path, mark

    def stored(self):
        """Return the rows of the last runs: {database: {heading: text}}."""
        return json.loads(self._path.read_text())

    def write(self, database, row):
        """Write the row of a run. It replaces the earlier row of the same database."""
        rows = self.stored() | {database: row}
        self._path.write_text(json.dumps(rows, indent=1) + '\n')
        RELIABILITY.write_text(self.replaced(RELIABILITY.read_text(), rows))

    def replaced(self, text, rows):
        """Return the text of the page with a table of these rows."""
        ordered = [rows[name] for name in SERVERS if name in rows]
        return replaced(text, self._mark, [ordered[0].keys(), *(each.values() for each in ordered)])
