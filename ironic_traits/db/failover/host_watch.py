"""A health check of database servers. It detects frozen or unreachable servers, and requests that wait too long.

If a connection is in use for more than a second, a thread regularly connects to the same host. If this takes too long,
or the host cannot be used any more, it shuts down all connections to it that are in use. This ends the waits, as if the
server had closed the connections. doc/source/contributor/decisions/failover.rst says why.
"""

import contextlib
import logging
import os
import socket
import threading
import time
from typing import Any, NamedTuple

import sqlalchemy as sa

from ironic_traits.db.drivers import timeouts
from ironic_traits.db.failover import hosts, pool

LOG = logging.getLogger(__name__)

#: Seconds after which the host of a connection in use is checked, and seconds between two rounds of the thread.
_SLOW, _INTERVAL = 1, 0.5
#: A check that ends later than its limit plus these seconds shows that this process was stopped, or got no CPU time.
_LATE = 0.25
#: Seconds between two attempts to switch back to the first host.
_BACK = 5


class _InUse(NamedTuple):
    """A connection in use.

    :ivar connection: of the driver.
    :ivar since: when it was taken, as time.monotonic().
    :ivar deadline: of the request, as time.monotonic(); None for no limit.
    :ivar host: the number of its host.
    """

    connection: Any
    since: float
    deadline: float | None
    host: int


class HostWatch:
    """A thread that checks the connections of an engine, to whose events it listens. It starts when one is used."""

    def __init__(self, engine: sa.Engine, its_hosts: hosts.Hosts) -> None:
        arguments, options = engine.dialect.create_connect_args(engine.url)
        self._hosts, self._target = its_hosts, (engine.dialect, list(arguments), dict(options))
        #: {id of the driver's connection: _InUse}.
        self._in_use: dict[int, _InUse] = {}
        self._lock = threading.Lock()
        self._pid = 0
        self._ended = threading.Event()
        sa.event.listen(engine, 'checkout', self.take)
        sa.event.listen(engine, 'checkin', self.give)
        sa.event.listen(engine, 'invalidate', self.give)

    def take(self, connection: Any, record: Any, *proxy: Any) -> None:
        """Record that a connection is in use: a listener for SQLAlchemy's event ``checkout``."""
        if self._pid != os.getpid():
            self._begin()
        self._in_use[id(connection)] = _InUse(
            connection, time.monotonic(), timeouts.deadline(), record.info[hosts.HOST]
        )

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
                threading.Thread(target=self._run, args=(self._ended,), daemon=True, name='host-watch').start()
                self._pid = os.getpid()

    def _run(self, ended: threading.Event) -> None:
        went_back = time.monotonic()
        while not ended.wait(_INTERVAL):
            now = time.monotonic()
            late = [each for each in self._copy() if each.deadline is not None and now > each.deadline]
            if late:
                LOG.warning('%d requests have waited for the database longer than their limit', len(late))
                _shut_down(late)
            for host in self._to_check():
                self._check(host)
            if now - went_back > _BACK:
                went_back = now
                with contextlib.suppress(Exception):
                    self._hosts.prefer(*self._target)

    def _to_check(self) -> set[int]:
        """Return the numbers of the hosts of slow connections, and that of the host in use if a look is due."""
        due = {self._hosts.current} if self._hosts.is_look_due() else set()
        return due | {each.host for each in self._slow()}

    def _check(self, host: int) -> None:
        error = self._failure(host)
        if isinstance(error, hosts.Desynced):
            self._hosts.replace(host, *self._target)
        elif error is not None and any(each.host == host for each in self._slow()):
            LOG.warning('The host of the database does not answer a check: %s', error)
            self._hosts.leave(host)
            # Also those that were taken during the check.
            _shut_down([each for each in self._copy() if each.host == host])

    def _slow(self) -> list[_InUse]:
        """Return the connections that have been in use for more than a second."""
        before = time.monotonic() - _SLOW
        return [each for each in self._copy() if each.since < before]

    def _copy(self) -> list[_InUse]:
        """Return the connections in use. Other threads take and return connections in the meantime."""
        return list(self._in_use.values())

    def _failure(self, host: int) -> Exception | None:
        """Return the error that shows that a host is dead; None if it responds.

        If a check takes longer than its limit, this process was stopped, or got no CPU time. Then the check is repeated
        once.
        """
        for is_last in (False, True):
            began = time.monotonic()
            try:
                self._hosts.probe(host, *self._target)
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


def _shut_down(connections: list[_InUse]) -> None:
    """Shut down the sockets of connections. The threads that wait for them get an error."""
    for each in connections:
        owner = pool.socket_of(each.connection)
        if owner is None:
            continue
        with contextlib.suppress(Exception), socket.socket(fileno=os.dup(owner.fileno())) as duplicate:
            duplicate.shutdown(socket.SHUT_RDWR)
