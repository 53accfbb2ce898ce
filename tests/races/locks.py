"""Asks a database which writers wait for a lock."""

import sqlite3

import sqlalchemy as sa

BEGIN = 'BEGIN IMMEDIATE'
_WAITING = {
    # The sessions of this database only.
    'postgresql': 'SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() '
    "AND state = 'active' AND wait_event_type = 'Lock' AND cardinality(pg_blocking_pids(pid)) > 0",
    # information_schema.innodb_trx is a copy that is up to 0.1 seconds old. This number is current.
    'mysql': "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'",
}


class Locks:
    """The locks of a database, over a connection of its own.

    :param url: of the database.
    """

    def __init__(self, url):
        self._url = sa.make_url(url)
        if self._is_sqlite:
            path = self._url.database
            self._connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
            return
        self._engine = sa.create_engine(self._url, isolation_level='AUTOCOMMIT')
        self._connection = self._engine.raw_connection()
        self._cursor = self._connection.cursor()
        if self._url.get_backend_name() == 'postgresql':
            # Otherwise, each deadlock takes a second.
            name = self._url.database
            self._cursor.execute(f'ALTER DATABASE "{name}" SET deadlock_timeout = 20')

    @property
    def _is_sqlite(self):
        return self._url.get_backend_name() == 'sqlite'

    def may(self, statement):
        """Whether a writer can execute a statement, as far as this is known before.

        SQLite has one lock, which a writer takes at its beginning.
        """
        if not self._is_sqlite or statement != BEGIN:
            return True
        try:
            self._connection.execute(BEGIN)
        except sqlite3.OperationalError:
            return False
        self._connection.execute('ROLLBACK')
        return True

    def waiting(self):
        """Return the number of sessions that wait for a lock."""
        if self._is_sqlite:
            return 0
        self._cursor.execute(_WAITING[self._url.get_backend_name().replace('mariadb', 'mysql')])
        return int(self._cursor.fetchone()[-1])

    def close(self):
        """Close the connection."""
        self._connection.close()
        if not self._is_sqlite:
            self._engine.dispose()
