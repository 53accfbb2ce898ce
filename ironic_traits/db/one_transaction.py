"""Several write functions in one transaction."""

import contextlib
from collections.abc import Iterator

import sqlalchemy as sa
from oslo_db import exception as db_exception


class TransactionLost(Exception):
    """The database has ended the transaction without a commit. The cause is the database's error."""


class OneTransaction:
    """A substitute for a Database, with all reads and writes in the transaction of one connection.

    Each write is a savepoint: if it fails, it is rolled back, and further writes are possible.

    :ivar lost: the error with which the database has ended the transaction; None if it has not.
    """

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self.lost: db_exception.DBError | None = None

    @contextlib.contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Yield the connection for reading. Reads see the writes of the transaction."""
        yield self._connection

    @contextlib.contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Yield the connection in a savepoint. It is released at the end, or rolled back after an exception.

        :raises TransactionLost: the database has ended the transaction. A retry of this write alone, which ``retried``
            does after a deadlock, would commit without the writes before it.
        """
        if self.lost:
            raise TransactionLost from self.lost
        with self._connection.begin_nested():
            try:
                yield self._connection
            except (db_exception.DBDuplicateEntry, db_exception.DBReferenceError):
                raise
            except db_exception.DBError as error:
                # Set here, because the rollback to the savepoint fails, too: MariaDB has dropped the savepoint with
                # the transaction.
                self.lost = error
                raise

    def check(self) -> None:
        """Raise a database error if the database has ended the transaction.

        :raises oslo_db.exception.RetryRequest: the cause was a deadlock. The whole transaction should run again
            (``db.engine.retried``).
        :raises oslo_db.exception.DBError: the cause was another error, for which a retry does not help.
        """
        if isinstance(self.lost, db_exception.DBDeadlock):
            raise db_exception.RetryRequest(self.lost)
        if self.lost:
            raise self.lost
