"""Outages of the database: one log line at the beginning and one at the end, for any number of failed requests."""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception

LOG = logging.getLogger(__name__)

#: Parts of the messages of SQLite when a wait for a lock times out, and when it cannot write.
_SQLITE = ('database is locked', 'disk is full', 'disk I/O error')
#: Errors of MariaDB and MySQL after which the same request may succeed later: a full disk, too many connections, a
#: statement that took too long.
_MYSQL = {1021, 1030, 1040, 1114, 1203, 1317, 1969, 3024}
#: A statement reaches max_allowed_packet.
_MYSQL_TOO_LARGE = 1153
#: A row that is referred to is missing. Without the name of a constraint (so that oslo.db does not translate it), the
#: reason is that INSERT IGNORE could not store that row, because the disk is full.
_MYSQL_NO_PARENT = 1452
#: The same for PostgreSQL (SQLSTATE): a wait for a lock, a statement that took too long, and class 53 (a full disk, no
#: memory, too many connections).
_POSTGRESQL = ('55P03', '57014', '53')
#: Errors of a running server that accepts no writes, or no statements: a node outside its Galera cluster, or a replica.
#: Another server may have replaced it.
_MYSQL_UNREADY = {1047, 1290, 1792, 1836}
_POSTGRESQL_UNREADY = {'25006', '57P01', '57P02', '57P03', '25P03'}
#: PostgreSQL's message after a migration has changed the type of a column of a prepared statement.
_OUTDATED = 'cached plan must not change result type'
#: The exceptions of oslo.db during an outage.
_ERRORS = (db_exception.DBConnectionError, db_exception.DBNonExistentDatabase)


def is_one(error: BaseException) -> bool:
    """Whether an exception means that the database cannot be reached."""
    if isinstance(error, NotImplementedError):
        # SQLAlchemy asks a new engine's first connection for the settings of the server. If that connection is lost
        # meanwhile, oslo.db's handler of the error fails. The cause is the error of the driver, by its standard name.
        return type(error.__cause__).__name__ == 'OperationalError'
    if isinstance(error, sa.exc.DBAPIError):
        # oslo.db does not translate errors during the connection. They have no statement.
        return error.connection_invalidated or (isinstance(error, sa.exc.OperationalError) and error.statement is None)
    # SQLAlchemy raises InvalidRequestError when the host of the database changes twice during a connection attempt.
    return isinstance(error, _ERRORS) or (
        isinstance(error, sa.exc.InvalidRequestError) and _CLOSED in str(error).lower()
    )


#: SQLAlchemy's message, in lower case, for a connection that it cannot replace, or that was lost in a transaction or
#: while SQLAlchemy asked the server for its settings.
_CLOSED = 'this connection is closed'


def is_unavailable(error: BaseException) -> bool:
    """Whether an exception means that the same request may succeed later.

    That is: the database cannot be reached, no connection is free, a disk is full, a wait for a lock has timed out, or
    a migration has changed a column of a prepared statement.
    """
    if is_one(error) or isinstance(error, (db_exception.DBDeadlock, sa.exc.TimeoutError)):
        return True
    cause = _cause(error)
    if cause is None:
        return False
    its_code = code(cause.orig)
    if isinstance(its_code, int):
        is_nameless = its_code == _MYSQL_NO_PARENT and not isinstance(error, db_exception.DBReferenceError)
        return its_code in _MYSQL or is_nameless
    if its_code:
        return its_code.startswith(_POSTGRESQL) or _OUTDATED in str(cause.orig)
    return any(words in str(cause.orig) for words in _SQLITE)


def is_too_large(error: BaseException) -> bool:
    """Whether an exception means that the same request will fail again, because it needs too large a statement."""
    cause = _cause(error)
    return cause is not None and code(cause.orig) == _MYSQL_TOO_LARGE


def _cause(error: BaseException) -> sa.exc.DBAPIError | None:
    cause = error.inner_exception if isinstance(error, db_exception.DBError) else error
    return cause if isinstance(cause, sa.exc.DBAPIError) else None


def reason(error: BaseException) -> str:
    """Return the first line of the message of an exception, or of its cause if it has no message."""
    message = str(error).strip() or str(error.__cause__ or type(error).__name__)
    return message.splitlines()[0]


def log(logger: logging.Logger, error: BaseException, message: str, *arguments: Any) -> None:
    """Log an exception of work that is tried again. Skip exceptions of outages, which ``Outages`` logs.

    :param message: description of the failure, a format for the arguments.
    """
    if is_one(error):
        return
    if is_unavailable(error):
        logger.warning(f'{message}: %s', *arguments, reason(error))
    else:
        logger.error(message, *arguments, exc_info=error)


def note_unready(context: sa.engine.ExceptionContext) -> None:
    """Treat an error of a server that is not ready as a lost connection: a listener for the event ``handle_error``.

    Then the pool connects again, perhaps to another host, and oslo.db reports a connection error. A prepared statement
    that does not fit the schema any more is treated in the same way: it would fail as long as the connection exists.
    """
    error = context.original_exception
    if code(error) in _MYSQL_UNREADY | _POSTGRESQL_UNREADY or _OUTDATED in str(error):
        context.is_disconnect = True


def code(error: BaseException | None) -> int | str | None:
    """Return the code of a driver's error: the number for MariaDB or MySQL, the SQLSTATE for PostgreSQL, or None."""
    number = error.args[0] if error is not None and error.args else None
    if isinstance(number, int):
        return number
    # The attributes of psycopg2 and of psycopg.
    state = getattr(error, 'pgcode', None) or getattr(error, 'sqlstate', None)
    return str(state) if state else None


class Outages:
    """The log of the outages of one database in one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: float | None = None

    @contextlib.contextmanager
    def watch(self) -> Iterator[None]:
        """Log the beginning of an outage if an exception from the block means that the database cannot be reached."""
        try:
            yield
        except Exception as error:
            if is_one(error):
                self._begin(error)
            raise

    def end(self, connection: Any, record: Any) -> None:
        """Log the end of an outage: a listener for SQLAlchemy's event ``connect``."""
        with self._lock:
            since, self._since = self._since, None
        if since is not None:
            LOG.info('The database answers again, after %.1f seconds', time.monotonic() - since)

    def _begin(self, error: BaseException) -> None:
        with self._lock:
            if self._since is not None:
                return
            self._since = time.monotonic()
        LOG.warning('The database does not answer: %s', reason(error))
