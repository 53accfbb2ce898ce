"""Each history of concurrent calls is linearizable, and the checker finds the bug in each build that has one."""

import contextlib
import random

import pytest

from ironic_traits import conf
from ironic_traits.db.engine import Database
from tests.chaos import broken_orders, clients, rounds, runs
from tests.chaos.order import Orders
from tests.support.linearizability import Call, violation
from tests.support.service import make_app, upgraded

ROUNDS = 6


def test_histories_are_linearizable(database_url):
    """Two applications answer as one that handles one request after the other, also when reservations expire."""
    with rounds.of_two_applications([database_url] * 2, 'short') as orders:
        orders.run(lambda: orders.rounds == ROUNDS)
    assert not orders.problems, orders.problems[0]
    assert not orders.undecided
    assert orders.counts.total() > 100


def test_the_model_is_sequential(database_url):
    """One client after the other: each answer is the one that the model expects."""
    with make_app(database_url) as app:
        orders = Orders(clients.in_process([app], random.Random(0)), 'alone', expires=False)
        orders.run(lambda: orders.rounds == ROUNDS, 1, 25)
    assert not orders.problems, orders.problems[0]


def test_allocations_do_not_deadlock(postgresql):
    """They lock their nodes in one order."""
    url = upgraded(postgresql.create('claims'))
    with make_app(url) as app, contextlib.closing(Database(conf.make(['--database', url]))) as database:
        orders = Orders(clients.in_process([app], random.Random(0)), 'claims', broken_orders.CLAIMS)
        orders.run(lambda: orders.rounds == ROUNDS)
        assert not [*orders.problems, *broken_orders.deadlocks(database)]


@pytest.mark.parametrize('name', broken_orders.BUILDS)
def test_broken_builds_are_caught(postgresql, tmp_path, name):
    assert runs.run_broken_order(postgresql, tmp_path / 'result', name)


def register(state, call):
    """Yield the states after a call of a register: {'write': number} or {'read': None}."""
    if call.kind == 'write':
        yield call.values['number']
    elif call.answer in (None, state):
        yield state


def test_the_checker():
    """It accepts what some order explains, and shortens what none explains."""
    writes = [Call(1, 'write', {'number': 1}, 0, 2, 'done'), Call(2, 'write', {'number': 2}, 1, 3, 'done')]
    reads = [Call(3, 'read', {}, begin, begin + 1, answer, True) for begin, answer in ((4, 1), (6, 1))]
    assert not violation(register, 0, [*writes, *reads])
    # The value changes although no write runs.
    torn = Call(3, 'read', {}, 8, 9, 2, True)
    assert violation(register, 0, [*writes, *reads, torn]) == [*writes, reads[1], torn]
    # A write without an answer may happen at any time, or never.
    unknown = Call(4, 'write', {'number': 2}, 0.5)
    assert not violation(register, 0, [*writes, unknown, *reads, torn])
    assert not violation(register, 0, [*writes, unknown, *reads])
