"""The table of the races in doc/source/reliability.rst."""

import pathlib

from tests.support import tables

PAGE = tables.RELIABILITY
_TABLE = tables.ByDatabase(
    pathlib.Path(__file__).with_name('results.json'), '.. The table of the races is written by tests.races.'
)
stored, replaced = _TABLE.stored, _TABLE.replaced


def write(database, seed, figures):
    """Write the row of a run.

    :param database: key of ``tables.DATABASES``.
    :param seed: of the run.
    :param figures: ``tests.races.__main__.Figures``.
    """
    _TABLE.write(database, row(database, seed, figures))


def row(database, seed, figures):
    """Return the cells of a run: {heading: text}."""
    return {
        'Database': tables.DATABASES[database],
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
