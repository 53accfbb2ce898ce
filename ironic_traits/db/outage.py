"""A database that cannot be reached: one line when it goes, one when it is back, however often it is asked."""

import contextlib
import logging
import threading
import time

import sqlalchemy as sa
from oslo_db import exception as db_exception

LOG = logging.getLogger(__name__)

#: What SQLite and PostgreSQL say when a lock was waited for in vain; oslo.db has no class for it.
_NO_LOCK = ('database is locked', 'due to lock timeout')
#: What the libraries raise while there is none.
_ERRORS = (db_exception.DBConnectionError, db_exception.DBNonExistentDatabase)


def is_one(error):
    """Whether an exception says that the database cannot be reached."""
    if isinstance(error, sa.exc.DBAPIError):
        # oslo.db leaves it as it is when no connection can be made: there is no statement then.
        return error.connection_invalidated or (isinstance(error, sa.exc.OperationalError) and error.statement is None)
    return isinstance(error, _ERRORS)


def is_unavailable(error):
    """Whether an exception says that the database could do nothing now: the same request may succeed later.

    It cannot be reached, has no connection free, or did not give a lock in time.
    """
    if is_one(error) or isinstance(error, (db_exception.DBDeadlock, sa.exc.TimeoutError)):
        return True
    is_of_database = isinstance(error, (sa.exc.DBAPIError, db_exception.DBError))
    return is_of_database and any(words in str(error) for words in _NO_LOCK)


class Outages:
    """Logs the outages of one database in one process."""

    def __init__(self):
        self._lock = threading.Lock()
        self._since = None

    @contextlib.contextmanager
    def watch(self):
        """Notice when an exception that leaves the block says that the database cannot be reached."""
        try:
            yield
        except Exception as error:
            if is_one(error):
                self._begin(error)
            raise

    def end(self, connection, record):
        """Notice that a connection was made: a listener of SQLAlchemy's event ``connect``."""
        with self._lock:
            since, self._since = self._since, None
        if since is not None:
            LOG.info('The database answers again, after %.1f seconds', time.monotonic() - since)

    def _begin(self, error):
        with self._lock:
            if self._since is not None:
                return
            self._since = time.monotonic()
        reason = str(error).strip().splitlines() or [type(error).__name__]
        LOG.warning('The database does not answer: %s', reason[0])
