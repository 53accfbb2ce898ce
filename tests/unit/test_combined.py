"""Requests that are carried out together, without a database."""

import concurrent.futures
import threading

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits import failures
from ironic_traits.db.drivers import timeouts
from ironic_traits.inventory.holds import combined
from ironic_traits.inventory.holds.combined import Combined, Ticket
from tests.support.concurrency import wait_until


class Work:
    """Requests of one kind, which a test holds up.

    :ivar transactions: [[name, …], …]: what was carried out together, or alone.
    """

    def __init__(self):
        self.combined = Combined()
        self.transactions, self.refused = [], set()
        self.gate, self.error = threading.Semaphore(0), None
        self.pool = concurrent.futures.ThreadPoolExecutor(40)

    def request(self, name, kind='kind'):
        """Begin a request, and return its future."""
        waiting = self.waiting(kind)
        future = self.pool.submit(self._run, name, kind)
        # Those that wait come one after the other.
        wait_until(lambda: self.waiting(kind) != waiting or future.done())
        return future

    def waiting(self, kind='kind'):
        """Return how many requests wait; -1 if none is at work."""
        return len(self.combined._waiting[kind]) if kind in self.combined._waiting else -1

    def _run(self, name, kind, ticket=Ticket):
        return self.combined.run(kind, ticket(name, name), lambda: self._alone(name), self._together)

    def _alone(self, name):
        self.transactions.append([name])
        self.gate.acquire()
        if name in self.refused:
            raise ValueError(name)
        return f'result of {name}'

    def _together(self, tickets):
        names = [ticket.value for ticket in tickets]
        self.transactions.append(names)
        self.gate.acquire()
        if self.error:
            raise self.error
        return {name: f'result of {name}' for name in names if name not in self.refused}


@pytest.fixture
def work(monkeypatch):
    monkeypatch.setattr(combined, 'PATIENCE', 60)
    working = Work()
    yield working
    for _ in range(100):
        working.gate.release()
    working.pool.shutdown()


def test_requests_that_wait_are_carried_out_together(work):
    futures = [work.request(name) for name in 'abcd']
    assert work.transactions == [['a']]
    work.gate.release()
    assert futures[0].result(10) == 'result of a'
    work.gate.release()
    assert [future.result(10) for future in futures[1:]] == ['result of b', 'result of c', 'result of d']
    assert work.transactions == [['a'], ['b', 'c', 'd']]
    # Nothing is kept of those that have ended.
    assert work.combined._waiting == {}


def test_requests_of_other_kinds_do_not_wait(work):
    futures = [work.request('a'), work.request('b', 'other')]
    work.gate.release(2)
    assert [future.result(10) for future in futures] == ['result of a', 'result of b']
    assert sorted(work.transactions) == [['a'], ['b']]


def test_a_failure_is_that_of_its_request(work):
    work.refused = {'c'}
    futures = [work.request(name) for name in 'abcd']
    work.gate.release(100)
    for name, future in zip('abd', [futures[0], futures[1], futures[3]], strict=True):
        assert future.result(10) == f'result of {name}'
    with pytest.raises(ValueError, match='c'):
        futures[2].result(10)
    # Only who has no outcome is carried out alone.
    assert work.transactions == [['a'], ['b', 'c', 'd'], ['c']]


#: As SQLAlchemy raises it when the connection is lost in a COMMIT.
LOST = sa.exc.OperationalError(None, None, Exception('server closed the connection'))


@pytest.mark.parametrize('error', [ConnectionError(), db_exception.DBConnectionError(), LOST])
def test_the_outcome_is_unknown(work, error):
    """Perhaps the transaction was committed. So nobody writes again, and all get the error."""
    work.error = error
    futures = [work.request(name) for name in 'abc']
    work.gate.release(100)
    for future in futures[1:]:
        with pytest.raises(type(error)):
            future.result(10)
    assert futures[0].result(10) == 'result of a'
    assert work.transactions == [['a'], ['b', 'c']]
    assert work.combined._waiting == {}


#: As SQLAlchemy raises it when PostgreSQL ends a wait for a lock. oslo.db does not translate it.
TIMEOUT = sa.exc.OperationalError('UPDATE nodes', {}, Exception('canceling statement due to lock timeout'))


@pytest.mark.parametrize('error', [
    combined.NotTogether(), db_exception.DBDeadlock(), failures.Overloaded(), TIMEOUT,
])  # fmt: skip
def test_the_transaction_is_rolled_back(work, error):
    """Each is carried out alone, so that it knows its own outcome."""
    work.error = error
    futures = [work.request(name) for name in 'abc']
    work.gate.release(100)
    assert [future.result(10) for future in futures] == ['result of a', 'result of b', 'result of c']
    assert sorted(work.transactions[2:]) == [['b'], ['c']]


def test_the_same_name_twice(work):
    futures = [work.request(name) for name in 'abbc']
    work.gate.release(100)
    assert [future.result(10) for future in futures] == [f'result of {name}' for name in 'abbc']
    assert work.transactions[:2] == [['a'], ['b', 'c']]
    assert work.transactions[2] == ['b']


def test_a_transaction_has_a_limit(work):
    names = [f'n{number}' for number in range(35)]
    futures = [work.request(name) for name in names]
    work.gate.release(100)
    assert [future.result(10) for future in futures] == [f'result of {name}' for name in names]
    assert [len(each) for each in work.transactions] == [1, combined.MOST, 2]


def test_a_blocked_request_does_not_block_others(work, monkeypatch):
    """After a while, one that waits is carried out alone, unless another one has taken it along."""
    monkeypatch.setattr(combined, 'PATIENCE', 0.05)
    blocked, other = work.request('a'), work.pool.submit(work._run, 'b', 'kind')
    wait_until(lambda: work.transactions == [['a'], ['b']])
    work.gate.release(2)
    assert [future.result(10) for future in (blocked, other)] == ['result of a', 'result of b']


def test_who_has_waited_too_long_is_not_taken_along(work, monkeypatch):
    """It is carried out once, and the next one leads."""
    monkeypatch.setattr(combined, 'PATIENCE', 0.05)
    blocked, other = work.request('a'), work.pool.submit(work._run, 'b', 'kind')
    wait_until(lambda: work.transactions == [['a'], ['b']])
    monkeypatch.setattr(combined, 'PATIENCE', 60)
    last = work.request('c')
    work.gate.release(100)
    assert [each.result(10) for each in (blocked, other, last)] == ['result of a', 'result of b', 'result of c']
    assert work.transactions == [['a'], ['b'], ['c']]


def test_who_is_taken_along_waits_for_the_result(work):
    """However long that takes."""
    waits = []

    class Impatient(Ticket):
        def wait(self, seconds=None):
            waits.append(seconds)
            if seconds is None:
                return super().wait()
            wait_until(lambda: self.name in work.transactions[-1])
            return False

    futures = [work.request('a'), work.request('b'), work.pool.submit(work._run, 'c', 'kind', Impatient)]
    wait_until(lambda: work.waiting() == 2)
    work.gate.release()
    wait_until(lambda: waits == [60, None])
    work.gate.release(100)
    assert [future.result(10) for future in futures] == ['result of a', 'result of b', 'result of c']
    assert work.transactions == [['a'], ['b', 'c']]


@pytest.mark.parametrize('outcome', [None, 'leads', 'succeeds', 'fails'])
def test_whether_a_wait_ends(outcome):
    """Without an outcome, the request is carried out alone, and may wait for a lock."""
    ticket = Ticket('a', None)
    if outcome == 'leads':
        ticket.leads = True
    elif outcome == 'succeeds':
        ticket.succeed(None)
    elif outcome == 'fails':
        ticket.fail(ValueError())
    assert ticket.ends() is (outcome is not None)


@pytest.mark.parametrize('deadlines', [(1.0, 5.0), (5.0, 1.0), (None, 1.0), (1.0, None), (None, None)])
def test_the_deadline_of_several(deadlines):
    """None ends before its own deadline."""
    tickets, together = [], []
    for deadline in deadlines:
        with timeouts.until(deadline):
            tickets.append(Ticket(str(deadline), None))
    with timeouts.until(0.5):
        combined._carry_out(tickets, lambda _tickets: together.append(timeouts.deadline()) or {})
    assert together == [None if None in deadlines else 5.0]


def test_other_requests_run_meanwhile(work):
    """Those that wait give their place in the process to others; who is at work lets the next one begin."""
    events = []

    class Turns:
        def end_turn(self):
            events.append('next')

        def wait(self, wait):
            events.append('wait')
            try:
                return wait()
            finally:
                events.append('goes on')

    work.combined.turns = Turns()
    futures = [work.request(name) for name in 'ab']
    assert events == ['next', 'next', 'wait']
    work.gate.release(100)
    assert [future.result(10) for future in futures] == ['result of a', 'result of b']
    assert events[3:] == ['goes on']
