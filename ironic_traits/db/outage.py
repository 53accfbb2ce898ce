"""Outages of the database: one log line at the beginning and one at the end, however many requests fail."""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception

LOG = logging.getLogger(__name__)

#: Parts of the messages of SQLite and PostgreSQL when a wait for a lock times out. oslo.db has no exception for that.
_NO_LOCK = ('database is locked', 'due to lock timeout')
#: The exceptions of oslo.db during an outage.
_ERRORS = (db_exception.DBConnectionError, db_exception.DBNonExistentDatabase)


def is_one(error: BaseException) -> bool:
    """Whether an exception means that the database cannot be reached."""
    if isinstance(error, sa.exc.DBAPIError):
        # oslo.db does not translate errors of connecting. They have no statement.
        return error.connection_invalidated or (isinstance(error, sa.exc.OperationalError) and error.statement is None)
    return isinstance(error, _ERRORS)


def is_unavailable(error: BaseException) -> bool:
    """Whether an exception means that the same request may succeed later.

    The database cannot be reached, no connection is free, or a wait for a lock has timed out.
    """
    if is_one(error) or isinstance(error, (db_exception.DBDeadlock, sa.exc.TimeoutError)):
        return True
    is_of_database = isinstance(error, (sa.exc.DBAPIError, db_exception.DBError))
    return is_of_database and any(words in str(error) for words in _NO_LOCK)


class Outages:
    """The log of the outages of one database, as one process sees them."""

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
        reason = str(error).strip().splitlines() or [type(error).__name__]
        LOG.warning('The database does not answer: %s', reason[0])
