"""Connections that all threads reuse for some seconds, without the pool.

Then they return to the pool, which pings and replaces the connections of the driver as usual.
doc/source/contributor/decisions/engines.rst says why.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa

#: Seconds for which a Connection is reused.
MAX_AGE = 5
#: Maximum number of Connections that wait for their next use. Usually, the requests of a process run one by one.
_MAX_IDLE = 4

_Listener = Callable[[Any, Any], None]


class _Entry(NamedTuple):
    """A Connection that is reused.

    :ivar driver: the driver's connection in it.
    :ivar info: ``info`` of the pool's record of the driver's connection.
    :ivar until: the time until which it is reused, by the monotonic clock.
    :ivar closings: the number of calls of ``close`` before it was made.
    """

    connection: sa.Connection
    driver: Any
    info: dict[Any, Any]
    until: float
    closings: int


class ReusedConnections:
    """The Connections of an engine that are reused.

    :param engine: SQLAlchemy engine.
    :param is_usable: function (the driver's connection, ``info`` of the pool's record) that returns whether it can be
        used without a ping.
    """

    def __init__(self, engine: sa.Engine, is_usable: Callable[[Any, dict[Any, Any]], bool]) -> None:
        self._engine, self._is_usable = engine, is_usable
        self._idle: list[_Entry] = []
        self._pid = os.getpid()
        #: Connections of the parent process after a fork. Closing them would also close them for the parent.
        self._inherited: list[_Entry] = []
        self._closings = 0
        self._listeners: list[tuple[_Listener, _Listener]] = []

    @contextlib.contextmanager
    def use(self, begin: bool = False) -> Iterator[sa.Connection]:
        """Yield a Connection.

        :param begin: whether to use it in a transaction. This is committed at the end, or rolled back after an
            exception.
        """
        entry = self._take()
        connection = entry.connection
        try:
            if begin:
                with connection.begin():
                    yield connection
            else:
                yield connection
        except BaseException:
            connection.close()
            raise
        self._put(entry)

    def listen(self, taken: _Listener, kept: _Listener) -> None:
        """Call a function when a Connection is reused, and another one when it begins to wait for its next use.

        :param taken: function with the parameters of a listener for the pool's ``checkout``.
        :param kept: function with the same parameters.
        """
        self._listeners.append((taken, kept))

    def close(self) -> None:
        """Release the unused Connections now, and the others after their use."""
        self._closings += 1
        self.release()

    def release(self) -> None:
        """Return the unused Connections to the pool."""
        while (entry := self._pop()) is not None:
            entry.connection.close()

    def _take(self) -> _Entry:
        while (entry := self._pop()) is not None:
            if time.monotonic() < entry.until and self._is_usable(entry.driver, entry.info):
                for taken, _ in self._listeners:
                    taken(entry.driver, entry.connection.connection)
                return entry
            # The pool checks what is wrong with it.
            entry.connection.close()
        connection = self._engine.connect()
        pooled = connection.connection
        until = time.monotonic() + MAX_AGE
        return _Entry(connection, pooled.dbapi_connection, pooled.info, until, self._closings)

    def _put(self, entry: _Entry) -> None:
        connection = entry.connection
        is_lost = connection.invalidated or connection.closed
        is_old = entry.closings != self._closings or time.monotonic() >= entry.until
        if is_lost or is_old or len(self._idle) >= _MAX_IDLE:
            connection.close()
            return
        for _, kept in self._listeners:
            kept(entry.driver, connection.connection)
        self._idle.append(entry)

    def _pop(self) -> _Entry | None:
        if self._pid != os.getpid():
            self._pid, self._inherited, self._idle = os.getpid(), self._idle, []
        # The last one, so that Connections that are not needed become old and return to the pool.
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        return None
