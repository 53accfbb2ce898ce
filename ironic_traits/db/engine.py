"""The engines of one database, and when a write is tried again.

Two engines per process: readers take no transaction at all (each statement sees its own snapshot, as everywhere under
READ COMMITTED, and a round trip is saved), writers take one that holds its locks to the end.
"""

import contextlib
import functools
import os
import pathlib
import sqlite3
import time
from typing import Any

import sqlalchemy as sa
from oslo_db import api as db_api
from oslo_db import exception as db_exception
from oslo_db.sqlalchemy import engines, exc_filters

from ironic_traits.db import outage, timeouts

#: The databases that the service knows.
BACKENDS = ('sqlite', 'postgresql', 'mysql', 'mariadb')
#: Bytes that GROUP_CONCAT may give on MariaDB and MySQL (whose own default, 1024, would cut a node's traits).
GROUP_CONCAT_MAX_LEN = 1024 * 1024


class Database:
    """One database as the service uses it.

    :param conf: ConfigOpts with the [database] group of oslo.db.
    :param create: whether to create the file of a SQLite database that does not exist yet.
    :raises sqlalchemy.exc.ArgumentError: the address is not valid, of an unknown kind, or of a file that does not
        exist.
    """

    def __init__(self, conf, create=True):
        self.url = sa.make_url(conf.database.connection)
        backend = self.url.get_backend_name()
        if backend not in BACKENDS:
            raise sa.exc.ArgumentError(f'{backend} is not known here; known are {", ".join(BACKENDS)}')
        if backend in ('mysql', 'mariadb') and 'charset' not in self.url.query:
            # oslo.db would ask for utf8, which is three bytes at most there.
            self.url = self.url.update_query_dict({'charset': 'utf8mb4'})
        if backend == 'sqlite':
            if self.url.database in (None, '', ':memory:'):
                raise sa.exc.ArgumentError('a SQLite database must be a file: each connection would see its own')
            _prepare_file(self.url.database, create)
        self._conf = conf
        self._watch: Any = contextlib.nullcontext
        self._reader = self._engine(conf, autocommit=True)
        self._writer = self._engine(conf, autocommit=False)
        for engine in (self._reader, self._writer):
            # What is logged of a statement that fails is not what it was to write: that has passwords in it.
            engine.hide_parameters = True

    @contextlib.contextmanager
    def read(self):
        """Give a connection for reading: each statement sees what was committed when it began."""
        with self._watch(), self._reader.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def snapshot(self):
        """Give a connection for reading: all statements see what was committed when the first one began."""
        if self.url.get_backend_name() == 'sqlite':
            with self._reader.connect() as connection:
                connection.exec_driver_sql('BEGIN')
                yield connection
                connection.exec_driver_sql('ROLLBACK')
            return
        with self._writer.connect().execution_options(isolation_level='REPEATABLE READ') as connection:
            yield connection

    @contextlib.contextmanager
    def write(self):
        """Give a connection in a transaction that is committed at the end, or rolled back by an exception."""
        with self._watch(), self._writer.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def write_for_long(self):
        """Give a connection in a transaction, as ``write``: for statements that may take longer than requests do."""
        if self.url.get_backend_name() == 'sqlite':
            with self.write() as connection:
                yield connection
            return
        engine = self._engine(self._conf, autocommit=False, seconds=None)
        try:
            with self._watch(), timeouts.patient(), engine.begin() as connection:
                yield connection
        finally:
            engine.dispose()

    def pools(self):
        """Give the pools of connections, {'reader' or 'writer': sqlalchemy.Pool}."""
        return {'reader': self._reader.pool, 'writer': self._writer.pool}

    def watch_outages(self):
        """Log when the database cannot be reached, and when it is back (``db.outage``)."""
        outages = outage.Outages()
        self._watch = outages.watch
        for engine in (self._reader, self._writer):
            sa.event.listen(engine, 'connect', outages.end)

    def close(self):
        """Close all connections."""
        self._reader.dispose()
        self._writer.dispose()

    def _engine(self, conf, autocommit, seconds=timeouts.ANSWER):
        if self.url.get_backend_name() == 'sqlite':
            return _sqlite_engine(self.url, autocommit)
        options = conf.database
        engine = engines.create_engine(
            timeouts.with_timeouts(self.url, seconds),
            mysql_sql_mode=options.mysql_sql_mode,
            mysql_wsrep_sync_wait=options.mysql_wsrep_sync_wait,
            connection_recycle_time=options.connection_recycle_time,
            connection_debug=options.connection_debug,
            max_pool_size=options.max_pool_size,
            max_overflow=options.max_overflow,
            pool_timeout=options.pool_timeout,
            max_retries=0,
            thread_checkin=False,
            connection_parameters=options.connection_parameters,
        )
        sa.event.listen(engine, 'connect', functools.partial(_set_session, engine.dialect, autocommit))
        return engine


def _prepare_file(path, create):
    """Create the file of a SQLite database unless it exists.

    A file that exists is not opened: to close it would drop the locks of this process's other connections to it.

    :param create: whether it may be created.
    :raises sqlalchemy.exc.ArgumentError: it does not exist, and may not be created.
    """
    if os.path.exists(path):
        return
    if not create:
        raise sa.exc.ArgumentError(
            f"there is no database at {os.path.abspath(path)}; 'ironic-traits-api' and 'ironic-traits-manage db "
            "upgrade' create one"
        )
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        # The passwords of machines are in it: for its owner only.
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _sqlite_engine(url, autocommit):
    """Make an engine for SQLite, in ways that oslo.db's has not: connections are kept, writers lock when they begin."""
    engine = sa.create_engine(url)
    exc_filters.register_engine(engine)

    @sa.event.listens_for(engine, 'do_connect')
    def open_existing(dialect, record, arguments, options):
        # SQLite would create a file that somebody has removed, and lose in it what is written.
        arguments[0] = f'{pathlib.Path(arguments[0]).absolute().as_uri()}?mode=rw'
        options['uri'] = True

    @sa.event.listens_for(engine, 'checkout')
    def check_file(connection, record, proxy):
        # A file that is removed, or replaced, is written to by those who have it open, and lost when they end.
        if record.info.setdefault('file', _identity(url)) != _identity(url):
            raise sa.exc.DisconnectionError('the file of the database is another one')

    @sa.event.listens_for(engine, 'connect')
    def prepare(connection, record):
        # The module is not to guess where transactions begin.
        connection.isolation_level = None
        # FULL: nothing acknowledged is lost in a crash.
        for pragma in (f'busy_timeout = {timeouts.LOCK * 1000}', 'synchronous = FULL', 'foreign_keys = ON'):
            connection.execute(f'PRAGMA {pragma}')
        _use_wal(connection)

    if not autocommit:

        @sa.event.listens_for(engine, 'begin')
        def begin(connection):
            # A transaction that reads first and locks later can only fail when another one wrote in between.
            connection.exec_driver_sql('BEGIN IMMEDIATE')

    return engine


def _identity(url):
    """Return what tells the file of a database from another one at the same path; None when there is none."""
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(url.database)
        return status.st_dev, status.st_ino
    return None


def _use_wal(connection):
    """Let readers and a writer not wait for each other.

    The file remembers it; the first connection ever has to be alone for a moment, and SQLite itself does not wait for
    that.
    """
    deadline = time.monotonic() + timeouts.LOCK
    while True:
        try:
            connection.execute('PRAGMA journal_mode = WAL')
            return
        except sqlite3.OperationalError as error:
            if 'locked' not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _set_session(dialect, autocommit, connection, record):
    """Make the session the same on each server: UTC, READ COMMITTED, no endless waiting, nothing cut."""
    statements: tuple[str, ...]
    if dialect.name == 'postgresql':
        statements = (
            'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED',
            f"SET SESSION lock_timeout = '{timeouts.LOCK}s'",
            "SET SESSION TIME ZONE 'UTC'",
            # Compiling a statement takes longer than any of ours does.
            'SET SESSION jit = off',
        )
    else:
        statements = (
            'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
            f'SET SESSION innodb_lock_wait_timeout = {timeouts.LOCK}, group_concat_max_len = {GROUP_CONCAT_MAX_LEN}',
            "SET SESSION time_zone = '+00:00'",
        )
    cursor = connection.cursor()
    for statement in statements:
        cursor.execute(statement)
    cursor.close()
    connection.commit()
    if autocommit:
        dialect.set_isolation_level(connection, 'AUTOCOMMIT')


@contextlib.contextmanager
def referring():
    """Have the writer run again when a row that it refers to has gone since it was looked at."""
    try:
        yield
    except db_exception.DBReferenceError as error:
        raise db_exception.RetryRequest(error) from error


def _lost_a_lock(error):
    """Tell whether the database took a lock away: a deadlock; on Galera also a conflict found at COMMIT.

    oslo.db counts a lock that was waited for in vain (MariaDB's error 1205) as a deadlock; to wait again would not end.
    """
    return isinstance(error, db_exception.DBDeadlock) and '1205' not in str(error)


#: Decorator of the writers that api/ calls: the whole function is run again when a lock was lost.  Not when the
#: connection broke: whether the COMMIT arrived is unknown then.
retried = db_api.wrap_db_retry(
    max_retries=20,
    retry_interval=0.05,
    inc_retry_interval=True,
    max_retry_interval=1,
    jitter=True,
    exception_checker=_lost_a_lock,
)
