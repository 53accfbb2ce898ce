"""The SQLAlchemy engines of a database, and the retries of writes.

A process has two engines. The reader uses autocommit, which saves a round trip: under READ COMMITTED each statement has
a snapshot of its own anyway. The writer uses transactions, which hold their locks until the end.
"""

import contextlib
import functools
import os
import pathlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa
from oslo_config import cfg
from oslo_db import api as db_api
from oslo_db import exception as db_exception
from oslo_db.sqlalchemy import engines, exc_filters

from ironic_traits.db import hosts, lookout, outage, pool, timeouts
from ironic_traits.db.kept import Kept

#: The supported databases, as the names of SQLAlchemy's backends.
BACKENDS = ('sqlite', 'postgresql', 'mysql', 'mariadb')
#: Most bytes that GROUP_CONCAT returns on MariaDB and MySQL. Their default, 1024, would truncate the traits of a node.
GROUP_CONCAT_MAX_LEN = 1024 * 1024


class Reader(Protocol):
    """What opens connections for reading: a Database, a OneTransaction, ironic_traits.service.Service, or a Context."""

    def read(self) -> contextlib.AbstractContextManager[sa.Connection]:
        """Return a context manager of a connection for reading."""


class Writer(Protocol):
    """What opens transactions: a Database, a OneTransaction, ironic_traits.service.Service, or a Context."""

    def write(self) -> contextlib.AbstractContextManager[sa.Connection]:
        """Return a context manager of a connection in a transaction."""


class Database:
    """The connections of the service to its database.

    :param conf: ConfigOpts with the [database] group of oslo.db.
    :param create: whether to create the file of a SQLite database if it does not exist.
    :raises sqlalchemy.exc.ArgumentError: the URL is not valid, has an unsupported backend, or names a file that does
        not exist.
    :ivar url: sqlalchemy.URL.
    """

    def __init__(self, conf: cfg.ConfigOpts, create: bool = True) -> None:
        self.url = sa.make_url(conf.database.connection)
        backend = self.url.get_backend_name()
        if backend not in BACKENDS:
            raise sa.exc.ArgumentError(f'database {backend} is not supported; supported are {", ".join(BACKENDS)}')
        if backend in ('mysql', 'mariadb') and 'charset' not in self.url.query:
            # The default of oslo.db is utf8, which has at most three bytes for each character on MariaDB and MySQL.
            self.url = self.url.update_query_dict({'charset': 'utf8mb4'})
        if backend == 'sqlite':
            if self.url.database in (None, '', ':memory:'):
                raise sa.exc.ArgumentError(
                    'a SQLite database must be a file, because each connection has an in-memory database of its own'
                )
            _prepare_file(self.url.database, create)
        self._conf = conf
        self._limits = timeouts.Limits.of(conf)
        self._hosts = hosts.Hosts(self.url, self._limits)
        self._lookouts: list[lookout.Lookout] = []
        self._watch: Any = contextlib.nullcontext
        self._reader = self._engine(conf, autocommit=True)
        self._writer = self._engine(conf, autocommit=False)
        for engine in (self._reader, self._writer):
            # The parameters of statements that fail are not logged, because they may contain passwords.
            engine.hide_parameters = True
        self._kept = {name: Kept(engine, self._is_usable) for name, engine in self._engines().items()}
        for kept, each in zip(self._kept.values(), self._lookouts, strict=False):
            kept.listen(each.take, each.give)

    @contextlib.contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Yield a connection for reading: each statement sees what was committed when it began."""
        with self._watch(), self._kept['reader'].use() as connection:
            yield connection

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """Yield a connection for reading: all statements see what was committed when the first one began."""
        if self.url.get_backend_name() == 'sqlite':
            with self._reader.connect() as connection:
                connection.exec_driver_sql('BEGIN')
                yield connection
                connection.exec_driver_sql('ROLLBACK')
            return
        with self._writer.connect() as connection:
            # For this transaction only. SQLAlchemy's option would set that of the server afterwards, not that of the
            # session, and on MariaDB the next writers would decide by old rows.
            connection.exec_driver_sql('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Yield a connection in a transaction, which is committed at the end, or rolled back after an exception."""
        with self._watch(), self._kept['writer'].use(begin=True) as connection:
            yield connection

    @contextlib.contextmanager
    def write_for_long(self) -> Iterator[sa.Connection]:
        """Yield a connection in a transaction, as ``write``, without the time limit for statements."""
        if self.url.get_backend_name() == 'sqlite':
            with self.write() as connection:
                yield connection
            return
        engine = self._engine(self._conf, autocommit=False, is_patient=True)
        try:
            with self._watch(), engine.begin() as connection:
                yield connection
        finally:
            engine.dispose()

    def pools(self) -> dict[str, sa.Pool]:
        """Return the connection pools, {'reader' or 'writer': sqlalchemy.Pool}."""
        return {name: engine.pool for name, engine in self._engines().items()}

    def kept(self) -> dict[str, Kept]:
        """Return the connections that are used again, {'reader' or 'writer': Kept}."""
        return self._kept

    def watch_outages(self) -> None:
        """Log the beginning and the end of outages of the database (``db.outage``)."""
        if self._watch is not contextlib.nullcontext:
            return
        outages = outage.Outages()
        self._watch = outages.watch
        for engine in (self._reader, self._writer):
            sa.event.listen(engine, 'connect', outages.end)

    def close(self) -> None:
        """Close all connections."""
        for kept in self._kept.values():
            kept.close()
        for each in self._lookouts:
            each.end()
        self._reader.dispose()
        self._writer.dispose()

    def _engines(self) -> dict[str, sa.Engine]:
        return {'reader': self._reader, 'writer': self._writer}

    def _is_usable(self, connection: Any, info: dict[Any, Any]) -> bool:
        """Whether a connection that was used a moment ago can be used again without a ping.

        :param connection: of the driver.
        :param info: of the pool's record of the connection.
        """
        if self.url.get_backend_name() == 'sqlite':
            return info['file'] == _identity(str(self.url.database))
        return self._hosts.is_current(info) and pool.is_silent(connection, info)

    def _engine(self, conf: cfg.ConfigOpts, autocommit: bool, is_patient: bool = False) -> sa.Engine:
        if self.url.get_backend_name() == 'sqlite':
            return _sqlite_engine(self.url, autocommit, self._limits)
        options = conf.database
        engine = engines.create_engine(
            pool.with_plugin(self._hosts.url),
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
        limits = self._limits._replace(statement=None) if is_patient else self._limits
        sa.event.listen(engine, 'do_connect', self._hosts.connect)
        sa.event.listen(
            engine, 'connect', functools.partial(_set_session, engine.dialect, autocommit, self.url, limits)
        )
        if not is_patient:
            sa.event.listen(engine, 'checkout', self._hosts.check)
            self._lookouts.append(lookout.watch(engine, self._hosts))
        pool.watch(engine)
        return engine


def _prepare_file(path: str, create: bool) -> None:
    """Create the file of a SQLite database unless it exists.

    A file that exists is not opened, because closing it would drop the locks of this process's other connections.

    :param create: whether to create the file.
    :raises sqlalchemy.exc.ArgumentError: the file does not exist, and ``create`` is False.
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
        # Only the owner may read it, because it contains passwords of machines.
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _sqlite_engine(url: sa.URL, autocommit: bool, limits: timeouts.Limits) -> sa.Engine:
    """Return an engine for SQLite. Unlike oslo.db's, it keeps connections, and writers lock the database at BEGIN."""
    path = str(url.database)
    engine = sa.create_engine(url)
    exc_filters.register_engine(engine)

    @sa.event.listens_for(engine, 'do_connect')
    def open_existing(dialect: sa.Dialect, record: Any, arguments: list[Any], options: dict[str, Any]) -> None:
        # Without mode=rw, SQLite would create the file anew after it was removed, and write to an empty database.
        arguments[0] = f'{pathlib.Path(arguments[0]).absolute().as_uri()}?mode=rw'
        options['uri'] = True

    @sa.event.listens_for(engine, 'checkout')
    def check_file(connection: Any, record: Any, proxy: Any) -> None:
        # A connection to a file that was removed or replaced would still write to the old file, and the data would be
        # lost.
        identity = _identity(path)
        if record.info.setdefault('file', identity) != identity:
            raise sa.exc.DisconnectionError('the file of the database was replaced')

    @sa.event.listens_for(engine, 'connect')
    def prepare(connection: sqlite3.Connection, record: Any) -> None:
        # Without this, Python's sqlite3 module begins transactions implicitly.
        connection.isolation_level = None
        # synchronous = FULL: committed data survive a crash of the machine.
        for pragma in (f'busy_timeout = {limits.lock * 1000}', 'synchronous = FULL', 'foreign_keys = ON'):
            connection.execute(f'PRAGMA {pragma}')
        _use_wal(connection, limits)

    if not autocommit:

        @sa.event.listens_for(engine, 'begin')
        def begin(connection: sa.Connection) -> None:
            # A plain BEGIN takes the write lock at the first write. That fails without waiting if another transaction
            # has written since the first read.
            connection.exec_driver_sql('BEGIN IMMEDIATE')

    return engine


def _identity(path: str) -> tuple[int, int] | None:
    """Return (device, inode) of a file; None if it does not exist."""
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(path)
        return status.st_dev, status.st_ino
    return None


def _use_wal(connection: sqlite3.Connection, limits: timeouts.Limits) -> None:
    """Switch the database to write-ahead logging, in which readers and a writer do not block each other.

    The file keeps this setting. To switch it the first time, SQLite needs an exclusive lock, for which it does not
    wait. So this retries.
    """
    deadline = time.monotonic() + limits.lock
    while True:
        try:
            connection.execute('PRAGMA journal_mode = WAL')
            return
        except sqlite3.OperationalError as error:
            if 'locked' not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _set_session(
    dialect: Any, autocommit: bool, url: sa.URL, limits: timeouts.Limits, connection: Any, record: Any
) -> None:
    """Set up a new session on a server: UTC, READ COMMITTED, limits for waits, no truncated GROUP_CONCAT."""
    statements: tuple[str, ...]
    if dialect.name == 'postgresql':
        statements = (
            'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED',
            "SET SESSION TIME ZONE 'UTC'",
            # Just-in-time compilation takes longer than any of our statements.
            'SET SESSION jit = off',
        )
    else:
        statements = (
            'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
            f'SET SESSION group_concat_max_len = {GROUP_CONCAT_MAX_LEN}',
            "SET SESSION time_zone = '+00:00'",
        )
    cursor = connection.cursor()
    for statement in (*statements, *timeouts.statements(dialect, limits, connection)):
        cursor.execute(statement)
    cursor.close()
    connection.commit()
    if autocommit:
        dialect.set_isolation_level(connection, 'AUTOCOMMIT')
    timeouts.begin_session(url, limits, connection)


@contextlib.contextmanager
def referring() -> Iterator[None]:
    """Retry the transaction if a row that it refers to was deleted by another transaction since it was read."""
    try:
        yield
    except db_exception.DBReferenceError as error:
        raise db_exception.RetryRequest(error) from error


def _lost_a_lock(error: BaseException) -> bool:
    """Whether an error is a deadlock (on a Galera cluster, also a conflict at COMMIT), and there is time left.

    oslo.db reports MariaDB's timeout of a lock wait (error 1205) as a deadlock, too. That is not retried, because each
    retry would wait as long again.
    """
    return isinstance(error, db_exception.DBDeadlock) and '1205' not in str(error) and not timeouts.is_over()


_Write = TypeVar('_Write', bound=Callable)
#: Decorator for the write functions that api/ calls: the function runs again after a deadlock, or after a RetryRequest.
#: It does not after a lost connection, because the transaction may have been committed.
retried: Callable[[_Write], _Write] = db_api.wrap_db_retry(
    max_retries=20,
    retry_interval=0.05,
    inc_retry_interval=True,
    max_retry_interval=1,
    jitter=True,
    exception_checker=_lost_a_lock,
)
