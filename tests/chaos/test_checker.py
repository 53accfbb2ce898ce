"""The checks of the record, without a service."""

import collections
import types

import pytest

from tests.chaos import checker, history, rounds, runs, table

NODE = 'n'


def stored(traits, added=(), removed=()):
    """What is stored: a node, which is the hot one, and the traits in its history."""
    changes = {'added': collections.Counter(added), 'removed': collections.Counter(removed)}
    return types.SimpleNamespace(nodes={NODE: {'traits': list(traits)}}, changes=lambda node: changes)


@pytest.mark.parametrize(
    ('status', 'added', 'removed', 'problems'),
    [
        (204, ['A'], [], 0),
        (0, [], [], 0),
        (0, ['A'], [], 0),
        (400, [], [], 0),
        (204, [], [], 2),
        (204, ['A', 'A'], ['A'], 1),
        (0, ['A', 'A'], ['A'], 2),
        (400, ['A'], [], 1),
        (204, ['A'], ['A'], 1),
        (204, ['A', 'B'], [], 1),
        (204, ['A'], ['B'], 1),
    ],
)
def test_additions_to_the_hot_node(status, added, removed, problems):
    """An acknowledged write is in the history once. The node has the traits that its history says."""
    record = history.History()
    record.end(record.begin(0, 'add_hot', trait='A'), status)
    has = {'A'} if status == 204 or added == ['A'] else set()
    by_kind = collections.defaultdict(list, add_hot=record.entries)
    found = list(checker._traits(by_kind, types.SimpleNamespace(hot=NODE), stored(has, added, removed)))
    assert len(found) == problems, found


def test_requests_are_recorded():
    """Reads count, too, and a 500 to one is a problem."""
    record = history.History()
    ask = record.recording(lambda method, path, *more, **headers: (int(path), None))
    for status in (200, 503, 500, 0):
        assert ask('GET', str(status)) == (status, None)
    assert record.problems == ['GET 500: 500 None']
    assert record.statuses == {200: 1, 503: 1, 500: 1, 0: 1}
    assert record.longest > 0


def test_tracebacks_are_problems():
    assert runs.tracebacks('ERROR: no') == []
    [problem] = runs.tracebacks('x\nTraceback (most recent call last):\n  File "a"\nValueError: 1\n')
    assert 'ValueError: 1' in problem
    assert 'The first one: x\n' in problem


def test_the_page_has_the_results_of_the_last_runs():
    page = table.PAGE.read_text()
    assert table.replaced(page, table.stored()) == page
    assert rounds.replaced(page, rounds.stored()) == page
