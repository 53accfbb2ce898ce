"""The lists of differences in doc/source/compatibility.rst, and the table of the runs in doc/source/reliability.rst."""

import json
import pathlib
import textwrap

from tests.differential import runs
from tests.support import tables
from tests.support.differences import DIFFERENCES

_DOC = pathlib.Path(__file__).parents[2] / 'doc' / 'source'
#: The rows of the table: {service: {heading: text}}.
_RESULTS = pathlib.Path(__file__).with_name('results.json')
_LIST, _END = '.. The differences from {} are written by tests.differential.', '.. End of the differences.'
_TABLE = '.. The table of the comparisons is written by tests.differential.'
_NAMES = {'ironic': 'Ironic 39', 'placement': 'Placement 16'}


def texts():
    """Return the texts of the pages, {path: text}, with the lists and the table."""
    compatibility, reliability = (_DOC / f'{name}.rst' for name in ('compatibility', 'reliability'))
    text = compatibility.read_text()
    for name in runs.APIS:
        text = _replaced(text, _LIST.format(_NAMES[name]), reasons(name))
    rows = list(json.loads(_RESULTS.read_text()).values())
    table = [list(rows[0]), *(list(each.values()) for each in rows)]
    return {compatibility: text, reliability: tables.replaced(reliability.read_text(), _TABLE, table)}


def reasons(name):
    """Return the reasons of all differences from a service, without duplicates."""
    found = [reason for reason, _ in runs.api(name)[1]]
    if name == 'ironic':
        found += [reason for reason, *_ in DIFFERENCES]
    return sorted(set(found), key=str.casefold)


def _replaced(text, mark, items):
    lines = [
        textwrap.fill(f'{item.rstrip(".")}.', 120, initial_indent='- ', subsequent_indent='  ', break_long_words=False)
        for item in items
    ]
    before, rest = text.split(mark, 1)
    return '\n'.join([f'{before}{mark}', '', *lines, '', _END]) + rest.split(_END, 1)[1]


def store(name, seed, figures):
    """Store the figures of a run, and write the pages."""
    rows = runs.api(name)[1]
    row = {
        'Service': _NAMES[name],
        'Seed': seed,
        'Requests': f'{figures.requests:,}',
        'Minutes': f'{figures.seconds / 60:.0f}',
        **{f'{kind}xx': f'{figures.of_kind(kind):,}' for kind in (2, 4, 5)},
        'Explained differences': f'{figures.differences:,}',
        'Reasons': str(len({rows[number][0] for number in figures.explained})),
        'Unexplained kinds': str(len(figures.kinds)),
    }
    results = json.loads(_RESULTS.read_text())
    _RESULTS.write_text(json.dumps(results | {name: row}, indent=1) + '\n')
    for path, text in texts().items():
        path.write_text(text)
