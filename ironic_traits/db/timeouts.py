"""Limits of how long the service waits for a database server that does not respond.

A server that is stopped, or behind a network that drops packets, does not close its connections. Without limits, each
request would wait forever. The limits are longer than the waits for locks, which the server itself ends.
"""

import contextlib
import contextvars
import functools
import select
import time
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

#: Most seconds that a transaction waits for a lock of another one. Then the response is a 503.
LOCK = 30
#: Most seconds to connect.
CONNECT = 10
#: Most seconds until a statement returns.
ANSWER = LOCK + 10

#: Most seconds for a statement of this thread; None for no limit.
_answer: contextvars.ContextVar[float | None] = contextvars.ContextVar('answer', default=ANSWER)
_MYSQL = {'connect_timeout': str(CONNECT), 'read_timeout': str(ANSWER), 'write_timeout': str(ANSWER)}
_POSTGRESQL = {
    'connect_timeout': str(CONNECT),
    'keepalives_idle': str(CONNECT),
    'keepalives_interval': str(CONNECT),
    'keepalives_count': '3',
    # In milliseconds.
    'tcp_user_timeout': str(ANSWER * 1000),
}
_DEFAULTS = {'pymysql': _MYSQL, 'psycopg2': _POSTGRESQL}


def with_timeouts(url: sa.URL, seconds: float | None = ANSWER) -> sa.URL:
    """Return the URL of a database with the timeout parameters of its driver, unless the URL has them already.

    :param url: sqlalchemy.URL.
    :param seconds: ANSWER, or None for no limit for statements.
    :returns: sqlalchemy.URL.
    """
    driver = url.get_driver_name()
    if driver == 'psycopg2':
        _watch_psycopg2()
    defaults = dict(_DEFAULTS.get(driver, {}))
    if seconds is None:
        defaults = {name: value for name, value in defaults.items() if name == 'connect_timeout'}
    return url.update_query_dict({name: value for name, value in defaults.items() if name not in url.query})


@contextlib.contextmanager
def patient() -> Iterator[None]:
    """Lift the limit for the statements of this thread, for migrations."""
    token = _answer.set(None)
    try:
        yield
    finally:
        _answer.reset(token)


@functools.cache
def _watch_psycopg2() -> None:
    """Make psycopg2 wait for its sockets in ``_wait``: libpq itself waits for a response without a limit."""
    from psycopg2 import extensions

    extensions.set_wait_callback(_wait)


def _wait(connection: Any) -> None:
    from psycopg2 import OperationalError, extensions

    seconds = CONNECT if connection.status == extensions.STATUS_SETUP else _answer.get()
    deadline = None if seconds is None else time.monotonic() + seconds
    events = {extensions.POLL_READ: select.POLLIN, extensions.POLL_WRITE: select.POLLOUT}
    while (state := connection.poll()) != extensions.POLL_OK:
        poll = select.poll()
        poll.register(connection.fileno(), events[state])
        left = None if deadline is None else max(0, deadline - time.monotonic()) * 1000
        if not poll.poll(left):
            # SQLAlchemy recognizes a lost connection by these words.
            raise OperationalError(f'server closed the connection unexpectedly: no answer for {seconds} seconds')
