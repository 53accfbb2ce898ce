"""A health check of database servers. It detects frozen or unreachable servers, and requests that wait too long.

A driver waits for the response to a statement as long as a lock may take, and cannot be interrupted. Therefore a thread
watches the connections in use. If a connection is in use for more than a second, the thread regularly connects to the
same host. If this takes too long, or the host cannot be used any more, it shuts down all connections in use. This ends
the waits, as if the server had closed the connections: the response to these requests is 503, and the next requests use
another host. If this process itself was stopped, or got no CPU time, the thread checks again.
"""

import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from ironic_traits.db import hosts, pool, timeouts

LOG = logging.getLogger(__name__)

#: Seconds after which the host of a connection in use is checked, and seconds between two rounds of the thread.
_SLOW, _INTERVAL = 1, 0.5
#: A check that ends later than its limit plus these seconds shows that this process was stopped, or got no CPU time.
_LATE = 0.25
#: Seconds between two attempts to switch back to the first host.
_BACK = 5


def watch(engine: sa.Engine, its_hosts: hosts.Hosts) -> 'Lookout':
    """Return the health check of the connections of an engine."""
    arguments, options = engine.dialect.create_connect_args(engine.url)
    target = (engine.dialect, list(arguments), dict(options))
    lookout = Lookout(its_hosts, lambda number: its_hosts.probe(number, *target), lambda: its_hosts.prefer(*target))
    sa.event.listen(engine, 'checkout', lookout.take)
    sa.event.listen(engine, 'checkin', lookout.give)
    sa.event.listen(engine, 'invalidate', lookout.give)
    return lookout


class Lookout:
    """A thread that checks the connections of one database. It starts when the first connection is used.

    :param its_hosts: hosts.Hosts.
    :param probe: function of the number of a host that raises an exception unless the host responds.
    :param back: function that switches back to the first host if it is ready.
    """

    def __init__(self, its_hosts: hosts.Hosts, probe: Callable[[int], None], back: Callable[[], None]) -> None:
        self._hosts, self._probe, self._back = its_hosts, probe, back
        #: {id of the driver's connection: (the connection, when it was taken, deadline or None)}.
        self._in_use: dict[int, tuple[Any, float, float | None]] = {}
        self._lock = threading.Lock()
        self._pid = 0
        self._ended = threading.Event()

    def take(self, connection: Any, record: Any, *proxy: Any) -> None:
        """Record that a connection is in use: a listener for SQLAlchemy's event ``checkout``."""
        if self._pid != os.getpid():
            self._begin()
        self._in_use[id(connection)] = (connection, time.monotonic(), timeouts.deadline())

    def give(self, connection: Any, record: Any, *error: Any) -> None:
        """Record that a connection is not in use any more: a listener for ``checkin`` and ``invalidate``."""
        self._in_use.pop(id(connection), None)

    def end(self) -> None:
        """End the thread. It is started again when a connection is used."""
        self._ended.set()
        self._pid = 0

    def _begin(self) -> None:
        with self._lock:
            if self._pid == os.getpid():
                return
            if self._pid:
                # This process is a fork. The connections belong to its parent.
                self._in_use.clear()
            self._ended = threading.Event()
            # If the system cannot start a thread, requests wait as long as the driver does.
            with contextlib.suppress(RuntimeError):
                threading.Thread(target=self._run, args=(self._ended,), daemon=True, name='lookout').start()
                self._pid = os.getpid()

    def _run(self, ended: threading.Event) -> None:
        went_back = time.monotonic()
        while not ended.wait(_INTERVAL):
            now = time.monotonic()
            in_use = list(self._in_use.values())
            late = [each for each in in_use if each[2] is not None and now > each[2]]
            if late:
                LOG.warning('%d requests have waited for the database longer than their limit', len(late))
                _shut_down(late)
            if any(now - since > _SLOW for _, since, _ in in_use):
                self._check()
            if now - went_back > _BACK:
                went_back = now
                with contextlib.suppress(Exception):
                    self._back()

    def _check(self) -> None:
        before, host = time.monotonic(), self._hosts.current
        error = self._failure(host)
        if error is not None:
            LOG.warning('The host of the database does not answer a check: %s', error)
            self._hosts.leave(host)
            # Newer connections may be to another host. A copy, because other threads take and return connections.
            _shut_down([each for each in list(self._in_use.values()) if each[1] < before])

    def _failure(self, host: int) -> Exception | None:
        """Return the error that shows that a host is dead; None if it responds.

        If a check takes longer than its limit, this process was stopped, or got no CPU time. Then the check is repeated
        once.
        """
        for is_last in (False, True):
            began = time.monotonic()
            try:
                self._probe(host)
            except Exception as error:
                if _is_response(error):
                    return None
                if is_last or time.monotonic() - began < self._hosts.limit + _LATE:
                    return error
            else:
                return None
        return None


def _is_response(error: Exception) -> bool:
    """Whether an error comes from a working server: it has too many connections, or the password has changed."""
    code = error.args[0] if error.args else None
    return code in (1040, 1045, 1203, 1226) or any(
        words in str(error) for words in ('too many', 'remaining connection slots', 'authentication failed')
    )


def _shut_down(connections: list[tuple[Any, float, float | None]]) -> None:
    """Shut down the sockets of connections. The threads that wait for them get an error."""
    for connection, _, _ in connections:
        owner = pool.socket_of(connection)
        if owner is None:
            continue
        with contextlib.suppress(Exception), socket.socket(fileno=os.dup(owner.fileno())) as duplicate:
            duplicate.shutdown(socket.SHUT_RDWR)
