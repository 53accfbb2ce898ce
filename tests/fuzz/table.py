"""The table of the searches in doc/source/reliability.rst."""

import pathlib

from tests.support import tables

PAGE = tables.RELIABILITY
_TABLE = tables.ByDatabase(
    pathlib.Path(__file__).with_name('results.json'), '.. The table of the searches is written by tests.fuzz.'
)
stored, replaced = _TABLE.stored, _TABLE.replaced


def write(database, seed, figures):
    """Write the row of a search.

    :param database: key of ``tables.DATABASES``.
    :param seed: of the search.
    :param figures: search.Figures.
    """
    _TABLE.write(database, row(database, seed, figures))


def row(database, seed, figures):
    """Return the cells of a search: {heading: text}."""
    return {
        'Database': tables.DATABASES[database],
        'Seed': str(seed),
        'Requests': f'{figures.requests:,}',
        'Minutes': f'{figures.seconds / 60:.0f}',
        **{f'{kind}xx': f'{figures.of_kind(kind):,}' for kind in (2, 4, 5)},
        'Longest': f'{figures.longest:.1f} s',
        'Problems': str(len(figures.problems)),
    }
