"""Lets one of several writers continue at a time, from statement to statement."""

import queue
import threading
import time
from typing import NamedTuple

import sqlalchemy as sa

#: Seconds after which writers that do not stop are an error of the scheduler, or a deadlock that no database has seen.
_STUCK = 60
#: Seconds between two questions to the database whether a writer waits for a lock.
_PAUSE = 0.002
COMMIT, ROLLBACK = 'COMMIT', 'ROLLBACK'
#: ``writer`` is the Writer of this thread, if the scheduler has started it.
_thread = threading.local()


class Step(NamedTuple):
    """A decision of a schedule.

    :ivar chosen: number of the writer that continues.
    :ivar possible: numbers of the writers that could continue: they have not ended, and wait for no lock.
    :ivar before: number of the writer that continued last; None at the beginning.
    :ivar statement: what the chosen writer does next.
    """

    chosen: int
    possible: tuple[int, ...]
    before: int | None
    statement: str


class Writer(threading.Thread):
    """A thread that stops before each statement.

    :param work: function without arguments.
    :param reports: queue.SimpleQueue, which gets this writer whenever it has stopped or ended.
    :ivar statement: what it does next: '' to begin; None after its end.
    :ivar result: what the work has returned; an exception if it has raised one.
    :ivar written: SQL of the statements so far, a list.
    """

    def __init__(self, number, work, reports):
        super().__init__(daemon=True, name=f'writer {number}')
        self.number, self._work, self._reports = number, work, reports
        self._go = threading.Semaphore(0)
        self.statement, self.result, self.written = '', None, []

    def run(self):
        """Do the work."""
        _thread.writer = self
        self._go.acquire()
        try:
            self.result = self._work()
        except Exception as error:
            self.result = error
        self.statement = None
        self._reports.put(self)

    def stop(self, statement):
        """Stop before a statement, until the scheduler lets this writer continue."""
        self.statement = statement
        self._reports.put(self)
        self._go.acquire()
        self.written.append(statement)

    def go(self):
        """Let the writer continue."""
        self._go.release()


class Scheduler:
    """Runs writers by schedules.

    :param locks: ``locks.Locks`` of the database.
    """

    def __init__(self, locks):
        self._locks = locks

    def __enter__(self):
        for event, listener in _LISTENERS.items():
            sa.event.listen(sa.Engine, event, listener)
        return self

    def __exit__(self, *exception):
        for event, listener in _LISTENERS.items():
            sa.event.remove(sa.Engine, event, listener)

    def run(self, works, choose):
        """Run functions in threads until all have ended.

        :param choose: function (numbers of the writers that can continue, number of the one before or None) that
            returns one of them.
        :returns: ([Writer, …], [Step, …]).
        """
        reports = queue.SimpleQueue()
        writers = [Writer(number, work, reports) for number, work in enumerate(works)]
        for writer in writers:
            writer.start()
        steps, running = [], set()
        while any(writer.statement is not None for writer in writers):
            possible = self._possible(writers, running)
            if not possible:
                self._wait_for_one(reports, running)
                continue
            before = steps[-1].chosen if steps else None
            writer = writers[choose(possible, before)]
            steps.append(Step(writer.number, possible, before, writer.statement))
            # Only the end of a transaction releases locks.
            waiting = 0 if writer.statement in (COMMIT, ROLLBACK) else len(running)
            running.add(writer)
            writer.go()
            self._settle(reports, running, waiting)
        return writers, steps

    def _possible(self, writers, running):
        """Return the numbers of the writers that can continue."""
        ready = [each for each in writers if each.statement is not None and each not in running]
        return tuple(each.number for each in ready if self._locks.may(each.statement))

    def _settle(self, reports, running, waiting):
        """Wait until each running writer has stopped, has ended, or waits for a lock.

        :param running: set of the writers that run. It is changed.
        :param waiting: the number of those that surely still wait for a lock.
        """
        end, seen = time.monotonic() + _STUCK, 0
        while len(running) > waiting or not reports.empty():
            try:
                running.discard(reports.get(timeout=_PAUSE))
                seen = 0
            except queue.Empty:
                # Twice, because a writer that was just woken counts as waiting for a moment.
                seen = seen + 1 if self._locks.waiting() >= len(running) else 0
                if seen == 2:
                    return
                if time.monotonic() > end:
                    raise TimeoutError([(each.name, each.statement) for each in running]) from None

    def _wait_for_one(self, reports, running):
        """Wait until one of the writers that wait for each other gets an error from the database."""
        if not running:
            # SQLite: a connection that no writer of the schedule uses has a lock for a moment.
            time.sleep(_PAUSE)
            return
        running.discard(reports.get(timeout=_STUCK))
        self._settle(reports, running, 0)


def _report(statement):
    if (writer := getattr(_thread, 'writer', None)) is not None:
        writer.stop(statement)


def _before_statement(connection, cursor, statement, parameters, context, executemany):
    _report(statement)


def _before_commit(connection):
    _report(COMMIT)


def _before_rollback(connection):
    _report(ROLLBACK)


_LISTENERS = {'before_cursor_execute': _before_statement, 'commit': _before_commit, 'rollback': _before_rollback}
