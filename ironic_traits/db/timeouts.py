"""How long the service waits for a database server that does not answer.

A server that is stopped, or behind a network that drops packets, ends no connection: without limits each request would
wait for ever.  The limits are longer than the waits for locks, which the server itself ends.
"""

import contextlib
import contextvars
import functools
import select
import time

#: Seconds that a writer waits for another one's lock; after that the request is a 503.
LOCK = 30
#: Seconds to connect, and to get an answer to a statement.
CONNECT = 10
ANSWER = LOCK + 10

#: Seconds for the statements of this thread; None for no limit.
_answer: contextvars.ContextVar[float | None] = contextvars.ContextVar('answer', default=ANSWER)
_MYSQL = {'connect_timeout': str(CONNECT), 'read_timeout': str(ANSWER), 'write_timeout': str(ANSWER)}
_POSTGRESQL = {
    'connect_timeout': str(CONNECT),
    'keepalives_idle': str(CONNECT),
    'keepalives_interval': str(CONNECT),
    'keepalives_count': '3',
    # Milliseconds.
    'tcp_user_timeout': str(ANSWER * 1000),
}
_DEFAULTS = {'pymysql': _MYSQL, 'psycopg2': _POSTGRESQL}


def with_timeouts(url, seconds=ANSWER):
    """Return the URL of a database with limits for its driver, where the URL has none.

    :param url: sqlalchemy.URL.
    :param seconds: for an answer; None for no limit.
    """
    driver = url.get_driver_name()
    if driver == 'psycopg2':
        _watch_psycopg2()
    defaults = dict(_DEFAULTS.get(driver, {}))
    if seconds is None:
        defaults = {name: value for name, value in defaults.items() if name == 'connect_timeout'}
    return url.update_query_dict({name: value for name, value in defaults.items() if name not in url.query})


@contextlib.contextmanager
def patient():
    """Let the statements of this thread take as long as they need: a migration has long ones."""
    token = _answer.set(None)
    try:
        yield
    finally:
        _answer.reset(token)


@functools.cache
def _watch_psycopg2():
    """Have psycopg2 wait for its sockets here: libpq itself waits for an answer for ever."""
    from psycopg2 import extensions

    extensions.set_wait_callback(_wait)


def _wait(connection):
    from psycopg2 import OperationalError, extensions

    seconds = CONNECT if connection.status == extensions.STATUS_SETUP else _answer.get()
    deadline = None if seconds is None else time.monotonic() + seconds
    events = {extensions.POLL_READ: select.POLLIN, extensions.POLL_WRITE: select.POLLOUT}
    while (state := connection.poll()) != extensions.POLL_OK:
        poll = select.poll()
        poll.register(connection.fileno(), events[state])
        left = None if deadline is None else max(0, deadline - time.monotonic()) * 1000
        if not poll.poll(left):
            # The words by which SQLAlchemy knows that a connection is gone.
            raise OperationalError(f'server closed the connection unexpectedly: no answer for {seconds} seconds')
