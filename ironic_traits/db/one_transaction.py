"""Many writers in one transaction: all of what they write, or none."""

import contextlib

from oslo_db import exception as db_exception


class Lost(Exception):
    """The transaction is gone; what was asked for in it is not done, and it takes no more.  Its cause says why."""


class OneTransaction:
    """Stands in for a Database: whatever is read or written is in the transaction of one connection.

    Each write is a savepoint: one that fails leaves nothing behind, and others may follow.

    :param connection: of a writer.
    :ivar lost: why the transaction is gone; None while it is not.
    """

    def __init__(self, connection):
        self._connection = connection
        self.lost: db_exception.DBError | None = None

    @contextlib.contextmanager
    def read(self):
        """Give the connection, for reading: what was written in the transaction is seen."""
        yield self._connection

    @contextlib.contextmanager
    def write(self):
        """Give the connection, in a savepoint that is released at the end, or rolled back by an exception.

        :raises Lost: there is no transaction any more.  A writer that tries again, as they do after a deadlock, would
            write half of what there was to be written.
        """
        if self.lost:
            raise Lost from self.lost
        with self._connection.begin_nested():
            try:
                yield self._connection
            except (db_exception.DBDuplicateEntry, db_exception.DBReferenceError):
                raise
            except db_exception.DBError as error:
                # Noted here: MariaDB's savepoint is gone with the transaction, and to go back to it fails, too.
                self.lost = error
                raise

    def check(self):
        """Do nothing while there is a transaction.

        :raises oslo_db.exception.RetryRequest: it is gone, and all of it is to be done again (``db.engine.retried``).
        :raises oslo_db.exception.DBError: it is gone for a reason that will not go.
        """
        if isinstance(self.lost, db_exception.DBDeadlock):
            raise db_exception.RetryRequest(self.lost)
        if self.lost:
            raise self.lost
