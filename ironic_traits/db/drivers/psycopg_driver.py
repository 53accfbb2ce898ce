"""Connections of the driver psycopg. Statements are prepared, waits have a limit, and columns are described once.

To find rows by a key, PostgreSQL needs more time for the plan than for the rows. psycopg prepares such a statement when
a connection executes it for the sixth time. From then on, the server reuses its plan.

The server may then use the same plan for all parameters. Therefore a SELECT is prepared only if its best plan does not
depend on its parameters (``db.statements.prepared``). The plan of a list does: for example on the number of nodes with
a trait. INSERT, UPDATE and DELETE of this service find their rows by keys, and are always prepared.
"""

import itertools
import select
import weakref
from collections.abc import Iterator
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.waiting import Ready

from ironic_traits.db.drivers import timeouts
from ironic_traits.db.statements.prepared import is_prepared

#: {compiled statement of SQLAlchemy: ``description`` of its cursors}
_descriptions: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


class Cursor(psycopg.Cursor):
    """A cursor that caches the description of the columns of each statement, and converts all rows at once.

    SQLAlchemy reads the description after each execution. For a node, making it takes as long as reading the node. A
    program that iterates over a result gets one row at a time. psycopg takes four times as long to convert rows one by
    one.

    :ivar compiled: the compiled statement of SQLAlchemy; None for a text.
    """

    compiled: Any = None
    # The result whose rows are converted, and its rows that were not fetched yet.
    _result: Any = None
    _rows: Iterator[Any]

    @property
    def description(self) -> Any:
        """The columns of the result, as in ``psycopg.Cursor``."""
        if self.compiled is None:
            return super().description
        description = _descriptions.get(self.compiled)
        if description is None:
            description = super().description
            if description:
                _descriptions[self.compiled] = description
        return description

    def fetchone(self) -> Any:
        """Return the next row, as ``psycopg.Cursor`` does; None if there is none."""
        if self._result is None or self._result is not self.pgresult:
            self._rows = iter(super().fetchall())
            self._result = self.pgresult
        return next(self._rows, None)

    def fetchmany(self, size: int = 0) -> list[Any]:
        """Return the next rows, as ``psycopg.Cursor`` does."""
        if self._result is None or self._result is not self.pgresult:
            return super().fetchmany(size)
        return list(itertools.islice(self._rows, size or self.arraysize))

    def fetchall(self) -> list[Any]:
        """Return all further rows, as ``psycopg.Cursor`` does."""
        if self._result is None or self._result is not self.pgresult:
            return super().fetchall()
        return list(self._rows)


class Connection(psycopg.Connection):
    """A connection with a limit for each wait.

    :ivar seconds: the limit; None for no limit.
    """

    seconds: float | None = None

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.cursor_factory = Cursor

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """Run a generator of psycopg, which waits for the socket, and return its result.

        :raises psycopg.OperationalError: the server has not responded in time. The connection is then closed.
        """
        if self.seconds is None:
            return super().wait(gen, *arguments, **options)
        poll, left = select.poll(), self.seconds
        try:
            # psycopg.waiting.Wait and Ready have the same bits.
            state = next(gen)
            while True:
                poll.register(self.pgconn.socket, timeouts.EVENTS[state])
                is_ready, left = timeouts.wait_in_parts(poll, left, self.seconds)
                if not is_ready:
                    # SQLAlchemy treats a closed connection as lost.
                    self.close()
                    raise psycopg.OperationalError(f'no answer for {self.seconds} seconds')
                state = gen.send(Ready(state))
        except StopIteration as end:
            return end.value


def connect(seconds: float, *arguments: Any, **options: Any) -> Connection:
    """Return a new connection.

    :param seconds: the limit of each wait, until ``timeouts.begin_session`` sets the limit of statements.
    :param arguments: arguments of ``psycopg.connect``.
    :param options: keyword arguments of ``psycopg.connect``.
    """
    connection = Connection.connect(*arguments, **options)
    connection.seconds = seconds
    return connection


def listen(engine: sa.Engine) -> None:
    """Let an engine prepare statements."""
    sa.event.listen(engine, 'do_execute', _execute)


def _execute(cursor: Any, statement: str, parameters: Any, context: Any) -> bool:
    """Execute a statement: a listener for SQLAlchemy's event ``do_execute``."""
    cursor.compiled = context.compiled
    may_prepare = is_prepared(context) or context.isinsert or context.isupdate or context.isdelete
    # None: psycopg prepares it when it has been executed often enough.
    cursor.execute(statement, parameters, prepare=None if may_prepare else False)
    return True
