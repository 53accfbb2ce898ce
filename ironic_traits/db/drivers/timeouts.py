"""Limits of the time that the service waits for a database server.

A stopped server, or a server behind a network that drops packets, does not close its connections. Without limits, each
request would wait forever. The server itself ends waits for locks, statements that take too long, and transactions of
clients that are gone. The limits of the drivers here are for a server that does not respond. The health check of
``db.failover.host_watch`` detects such a server earlier.
"""

import contextlib
import contextvars
import math
import select
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_config import cfg

#: Seconds after the limit of the server until the client gives up a statement.
_MARGIN = 2
#: Number of parts into which the wait for a response is divided.
_PARTS = 20
#: The deadline of this thread's request, as time.monotonic(); None for no limit.
_deadline: contextvars.ContextVar[float | None] = contextvars.ContextVar('deadline', default=None)


class Limits(NamedTuple):
    """Limits in seconds, from the options of [database].

    :ivar statement: the limit of statements; None for no limit, for migrations.
    """

    connect: float
    lock: int
    statement: int | None

    @classmethod
    def of(cls, conf: cfg.ConfigOpts) -> 'Limits':
        """Return the limits of a configuration."""
        options = conf.database
        return cls(options.connect_timeout, options.lock_timeout, options.statement_timeout)

    @property
    def answer(self) -> int | None:
        """Seconds until the client gives up a statement; None for no limit."""
        return None if self.statement is None else self.statement + _MARGIN


def request(seconds: float) -> contextlib.AbstractContextManager[None]:
    """Limit the time that this thread waits for databases during the block."""
    return until(time.monotonic() + seconds)


@contextlib.contextmanager
def until(end: float | None) -> Iterator[None]:
    """Do the same with the time.monotonic() at which it ends; None for no limit."""
    token = _deadline.set(end)
    try:
        yield
    finally:
        _deadline.reset(token)


def deadline() -> float | None:
    """Return the deadline of this thread's request, as time.monotonic(); None for no limit."""
    return _deadline.get()


def is_over() -> bool:
    """Whether the deadline of this thread's request is over."""
    moment = _deadline.get()
    return moment is not None and time.monotonic() >= moment


def connect_limit(url: sa.URL, limits: Limits) -> float:
    """Return the maximum number of seconds that a connection to a host may take."""
    if url.get_driver_name() == 'psycopg':
        # psycopg accepts only whole seconds, and at least 2.
        return max(2, math.ceil(limits.connect))
    return limits.connect


def options(url: sa.URL, limits: Limits) -> dict[str, Any]:
    """Return the parameters that set the limits of a driver, without parameters that the URL has already.

    :returns: {name: value}, for the ``connect`` of the driver.
    """
    driver = url.get_driver_name()
    if driver == 'pymysql':
        # While PyMySQL connects, its read timeout also limits the wait for the server's greeting.
        values: dict[str, Any] = dict.fromkeys(('connect_timeout', 'read_timeout', 'write_timeout'), limits.connect)
    elif driver in ('psycopg', 'psycopg2'):
        values = {
            'keepalives_idle': 5,
            'keepalives_interval': 2,
            'keepalives_count': 3,
        }
        if limits.answer is not None:
            # In milliseconds.
            values['tcp_user_timeout'] = limits.answer * 1000
        if driver == 'psycopg2':
            values['connection_factory'] = _factory(limits)
        else:
            values['connect_timeout'] = connect_limit(url, limits)
    else:
        values = {}
    return {name: value for name, value in values.items() if name not in url.query}


def begin_session(url: sa.URL, limits: Limits, connection: Any) -> None:
    """Set the limit of waits of a new connection to that of statements. Until now, it was the limit for connecting."""
    driver = url.get_driver_name()
    if driver == 'pymysql':
        # PyMySQL has no public names for these attributes.
        for name in ('read_timeout', 'write_timeout'):
            seconds = url.query.get(name)
            setattr(connection, f'_{name}', limits.answer if seconds is None else float(str(seconds)))
    elif driver in ('psycopg', 'psycopg2'):
        connection.seconds = limits.answer


def statements(dialect: sa.Dialect, limits: Limits, connection: Any) -> list[str]:
    """Return the statements that set the limits that the server enforces in a session.

    :param dialect: SQLAlchemy's dialect.
    :param connection: the driver's connection.
    """
    seconds = limits.statement
    if dialect.name == 'postgresql':
        values = {'lock_timeout': limits.lock * 1000, 'statement_timeout': (seconds or 0) * 1000}
        if seconds is not None:
            values |= {
                'idle_in_transaction_session_timeout': seconds * 1000,
                # With these, the server detects that this client is gone, and releases its locks.
                'tcp_keepalives_idle': 5,
                'tcp_keepalives_interval': 2,
                'tcp_keepalives_count': 3,
            }
            # psycopg and psycopg2 both have ``info``.
            if connection.info.server_version >= 140000:
                values['client_connection_check_interval'] = 5000
        return [f'SET SESSION {name} = {value}' for name, value in values.items()]
    values = {'innodb_lock_wait_timeout': limits.lock}
    if seconds is not None and 'MariaDB' in connection.get_server_info():
        values |= {'max_statement_time': seconds, 'idle_transaction_timeout': seconds}
    return [f'SET SESSION {", ".join(f"{name} = {value}" for name, value in values.items())}']


def _factory(limits: Limits) -> Any:
    """Return the class of psycopg2's connections. ``_wait`` reads the limit there.

    Without this, libpq waits for a response without a limit.
    """
    from psycopg2 import extensions

    extensions.set_wait_callback(_wait)
    return type('Connection', (extensions.connection,), {'seconds': limits.connect})


#: ``psycopg2.extensions.POLL_OK``.
_POLL_OK = 0
#: {POLL_READ or POLL_WRITE of psycopg2, or psycopg.waiting.Wait: the events}.
EVENTS = {1: select.POLLIN, 2: select.POLLOUT, 3: select.POLLIN | select.POLLOUT}


def _wait(connection: Any) -> None:
    # This runs for each statement, so it does as little as possible.
    seconds: float | None = getattr(connection, 'seconds', None)
    left = seconds or 0
    while (state := connection.poll()) != _POLL_OK:
        poll = select.poll()
        poll.register(connection.fileno(), EVENTS[state])
        if seconds is None:
            poll.poll()
            continue
        is_ready, left = wait_in_parts(poll, left, seconds)
        if not is_ready:
            from psycopg2 import OperationalError

            # SQLAlchemy detects a lost connection by the words before the colon.
            raise OperationalError(f'server closed the connection unexpectedly: no answer for {seconds} seconds')


def wait_in_parts(poll: Any, left: float, seconds: float) -> tuple[bool, float]:
    """Wait until a socket is ready.

    The wait is divided into parts, and each part counts for at most its own length. Therefore time in which this
    process was stopped, or got no CPU time, does not count as time in which the server did not respond.

    :param poll: select.poll.
    :param left: maximum number of seconds to wait.
    :param seconds: the whole limit, which determines the length of a part.
    :returns: (whether it is ready, number of seconds that are left).
    """
    part = seconds / _PARTS
    while True:
        began, timeout = time.monotonic(), max(0, min(part, left))
        is_ready = bool(poll.poll(timeout * 1000))
        left -= min(timeout, time.monotonic() - began)
        if is_ready or left <= 0:
            return is_ready, left
