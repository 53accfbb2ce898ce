"""A health check of database servers. It notices frozen or unreachable servers, and requests that wait too long.

A driver waits for the response to a statement as long as a lock may take, and cannot be interrupted. So a thread looks
at the connections in use. When one is in use for more than a second, it connects to the same host, once in a second. If
that takes too long, or the host cannot be used any more, all connections in use are shut down. That ends the waits, as
if the server had closed them: the response to these requests is 503, and the next ones use another host. A process that
was stopped itself, or got no processor, checks again.
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

#: Seconds for which a connection is in use until its host is checked; seconds between two looks.
_SLOW, _INTERVAL = 1, 0.5
#: Seconds by which a check ends late if this process was stopped, or got no processor.
_LATE = 0.25
#: Seconds between two attempts to go back to the first host.
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
    :param probe: function of the number of a host that raises an exception unless it responds.
    :param back: function that goes back to the first host if it is ready.
    """

    def __init__(self, its_hosts: hosts.Hosts, probe: Callable[[int], None], back: Callable[[], None]) -> None:
        self._hosts, self._probe, self._back = its_hosts, probe, back
        #: {id of the driver's connection: (the connection, when it was taken, when it must be back or None)}.
        self._in_use: dict[int, tuple[Any, float, float | None]] = {}
        self._lock = threading.Lock()
        self._pid = 0
        self._ended = threading.Event()

    def take(self, connection: Any, record: Any, *proxy: Any) -> None:
        """Note that a connection is in use: a listener for SQLAlchemy's event ``checkout``."""
        if self._pid != os.getpid():
            self._begin()
        self._in_use[id(connection)] = (connection, time.monotonic(), timeouts.deadline())

    def give(self, connection: Any, record: Any, *error: Any) -> None:
        """Note that a connection is not in use any more: a listener for the events ``checkin`` and ``invalidate``."""
        self._in_use.pop(id(connection), None)

    def end(self) -> None:
        """End the thread. It begins again when a connection is used."""
        self._ended.set()
        self._pid = 0

    def _begin(self) -> None:
        with self._lock:
            if self._pid == os.getpid():
                return
            if self._pid:
                # This process is a fork. What its parent uses is not its own.
                self._in_use.clear()
            self._ended = threading.Event()
            # Without a thread, which the system may not have, requests wait as long as the driver does.
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
                LOG.warning('%d requests have waited for the database for longer than they may', len(late))
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
            # What was taken since may be of another host. A copy, because other threads take and return connections.
            _shut_down([each for each in list(self._in_use.values()) if each[1] < before])

    def _failure(self, host: int) -> Exception | None:
        """Return why a host is taken for dead; None if it responds.

        A check that has taken longer than its limit says that this process was stopped, or got no processor. It is
        repeated once.
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
    """Whether an error is one of a server that works: too many connections, or a password that was changed."""
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
