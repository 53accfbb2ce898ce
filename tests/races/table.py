"""The table of the races in doc/source/reliability.rst."""

import pathlib

from tests.support import tables

PAGE = tables.RELIABILITY
_TABLE = tables.ByDatabase(
    pathlib.Path(__file__).with_name('results.json'), '.. The table of the races is written by tests.races.'
)
#: The headings of what is added up.
_SUMS = ('Minutes', 'Pairs', 'Groups', 'Schedules', 'Requests', 'Refused', 'Names left', 'Violations')
stored, replaced = _TABLE.stored, _TABLE.replaced


def write(database, seed, figures, first=0):
    """Write the row of a run.

    :param database: key of ``tables.DATABASES``.
    :param seed: of the run.
    :param figures: ``tests.races.__main__.Figures``.
    :param first: number of the first pair. If it is not 0, the row is that of this run and the one that it continues.
    :raises ValueError: the run does not continue the one that is stored.
    """
    found = row(database, seed, figures)
    if first:
        before = stored()[database]
        if (before['Seed'], before['Pairs']) != (found['Seed'], f'{first:,}'):
            raise ValueError(f'The stored run has the seed {before["Seed"]} and {before["Pairs"]} pairs.')
        sums = {name: sum(int(each[name].replace(',', '')) for each in (before, found)) for name in _SUMS}
        found |= {name: f'{number:,}' for name, number in sums.items()}
    _TABLE.write(database, found)


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
