"""Races of writers by fixed schedules. ``python -m tests.races`` tries many more."""

import itertools
import random
import re
import time
import types

import pytest

from ironic_traits.api.description.operations import operations
from ironic_traits.db.failover import reused_connections
from tests.races import races, table
from tests.races.__main__ import Figures
from tests.races.broken import BUILDS, build
from tests.races.writers import LEFT_OUT, WRITERS

#: Neighbours in the table have the most in common.
PAIRS = list(itertools.zip_longest(*[iter(WRITERS)] * 2, fillvalue='put C'))
#: Pairs of which a long run has found a fault, which was mended.
FOUND = [
    ('apply rules', 'put an inventory'),
    ('delete a trait', 'delete a trait'),
    ('delete a class', 'delete a class'),
    ('create an existing trait', 'delete a trait'),
    ('describe a trait', 'delete a trait'),
]
#: Each pair wants the same free nodes: one writer takes one, and the other promises it, or ends the promise.
PROMISES = [
    *(
        ('promise a node', claim)
        for claim in ('reserve by traits', 'allocate', 'consume', 'put an instance on', 'delete a node')
    ),
    *(('promise two nodes', claim) for claim in ('reserve a group', 'consume', 'promise a node', 'delete A')),
    *(('end a promise', claim) for claim in ('reserve a promised node', 'consume a promised node')),
    ('reserve for a promise', 'consume a promised node'),
]


@pytest.fixture
def arena(database_url):
    """An Arena."""
    with races.Arena(database_url) as opened:
        yield opened


@pytest.fixture
def row_arena(request, database_kind):
    """An Arena of PostgreSQL. SQLite has no locks of rows, and with MariaDB the tests would take twice as long."""
    if database_kind != 'postgresql':
        pytest.skip('for PostgreSQL')
    return request.getfixturevalue('arena')


def test_each_writer_with_another(arena):
    """The outcome of two writers is that of one after the other."""
    found = [
        (pair, problem)
        for number, pair in enumerate(PAIRS)
        for problem in races.at_random(races.Race(arena, pair), 1, random.Random(number))
    ]
    assert not found, '\n'.join(f'{", ".join(pair)}: {problem}' for pair, (_, problem) in found)


def test_three_writers(arena):
    """Three writers want the last free places for traits of a node."""
    race = races.Race(arena, ('put C', 'put D of a source', 'put all of a source'))
    assert races.at_random(race, 4, random.Random(1)) == []


@pytest.mark.parametrize('names', PROMISES, ids=', '.join)
def test_promises(arena, names):
    """No claim takes a node that another writer promises at the same time."""
    assert races.at_random(races.Race(arena, names), 4, random.Random(1)) == []


@pytest.mark.parametrize('names', FOUND, ids=', '.join)
def test_faults_that_were_mended(row_arena, names):
    """No fault is back: all schedules in which one writer interrupts the other once are checked."""
    assert races.explore(races.Race(row_arena, names), 1, 100, random.Random(1)) == ([], True)


@pytest.mark.parametrize('name', BUILDS)
def test_broken_builds_are_caught(row_arena, name):
    """A fixed seed finds the bug, and its schedule shows the bug again. Without the bug, it shows none."""
    *_, names, words = BUILDS[name]
    with build(name):
        found, _ = races.explore(races.Race(row_arena, names), 1, 40, random.Random(1))
        schedule = next(schedule for schedule, problem in found if words in problem)
        _, problems = races.Race(row_arena, names).check(schedule)
        assert any(words in problem for problem in problems)
    assert races.Race(row_arena, names).check(schedule)[1] == []


def test_a_schedule_does_not_depend_on_the_clock(row_arena, monkeypatch):
    """The same statements are executed again later."""
    race = races.Race(row_arena, ('reserve by traits', 'put an instance on'))
    steps = [race.run()[1] for _ in range(2)]
    monkeypatch.setattr(reused_connections, 'time', types.SimpleNamespace(monotonic=lambda: time.monotonic() + 600))
    assert race.run()[1] == steps[1]


def test_no_writer_is_forgotten():
    """Each operation of the API that may write is in the table, or left out with a reason."""
    sent = [(method, path.partition('?')[0]) for method, path, _ in WRITERS.values()]
    writing = {str(each): each for each in operations() if each.method not in ('GET', 'HEAD')}
    covered = {
        name
        for name, each in writing.items()
        if any(method == each.method and re.fullmatch(_pattern(each.path), path) for method, path in sent)
    }
    assert covered.isdisjoint(LEFT_OUT)
    assert covered.union(LEFT_OUT) == set(writing)


def test_the_page_has_the_figures_of_the_last_runs():
    page = table.PAGE.read_text()
    assert table.replaced(page, table.stored()) == page


def test_a_run_that_continues(monkeypatch):
    """Its figures are added to those of the run that ended where it begins, and to no other."""
    stored = {'sqlite': table.row('sqlite', 11, Figures(pairs=1034, schedules=20, seconds=60))}
    monkeypatch.setattr(table, 'stored', lambda: stored)
    monkeypatch.setattr(table._TABLE, 'write', stored.__setitem__)
    more = Figures(pairs=1000, schedules=5, violations=1, seconds=120)
    for first, seed in ((1033, 11), (1034, 12)):
        with pytest.raises(ValueError, match='1,034 pairs'):
            table.write('sqlite', seed, more, first)
    table.write('sqlite', 11, more, 1034)
    both = Figures(pairs=2034, schedules=25, violations=1, seconds=180)
    assert stored['sqlite'] == table.row('sqlite', 11, both)


def _pattern(path):
    return re.sub(r'\\{\w+\\}', '[^/]+', re.escape(path))
