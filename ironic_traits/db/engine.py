"""The SQLAlchemy engines of a database, and the retries of writes.

A process has two engines. The reader uses autocommit. The writer uses transactions, which hold their locks until the
end. doc/source/contributor/decisions/engines.rst says why.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa
from oslo_config import cfg
from oslo_db import api as db_api
from oslo_db import exception as db_exception
from oslo_db.sqlalchemy import engines

from ironic_traits.db.drivers import sqlite, timeouts
from ironic_traits.db.failover import host_watch, hosts, outage, pool
from ironic_traits.db.failover.reused_connections import ReusedConnections
from ironic_traits.db.statements import unhealthy

#: The supported databases, as the names of SQLAlchemy's backends.
BACKENDS = ('sqlite', 'postgresql', 'mysql', 'mariadb')
#: Maximum number of bytes that GROUP_CONCAT returns on MariaDB and MySQL. Their default, 1024, would truncate the
#: traits of a node.
GROUP_CONCAT_MAX_LEN = 1024 * 1024


class Reader(Protocol):
    """Opens connections for reading: a Database, a OneTransaction, ironic_traits.service.Service, or a Context."""

    def read(self) -> contextlib.AbstractContextManager[sa.Connection]:
        """Return a context manager of a connection for reading."""


class Writer(Protocol):
    """Opens transactions: a Database, a OneTransaction, ironic_traits.service.Service, or a Context."""

    def write(self) -> contextlib.AbstractContextManager[sa.Connection]:
        """Return a context manager of a connection in a transaction."""


class ReaderAndWriter(Reader, Writer, Protocol):
    """Opens both."""


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
                    'a SQLite database must be a file, because each connection would have its own in-memory database'
                )
            sqlite.prepare_file(str(self.url.database), create)
        self._conf = conf
        self._limits = timeouts.Limits.of(conf)
        self._hosts = hosts.Hosts(self.url, self._limits)
        self._host_watches: list[host_watch.HostWatch] = []
        self._watch: Any = contextlib.nullcontext
        self._reader = self._engine(autocommit=True)
        self._writer = self._engine(autocommit=False)
        self._kept = {'reader': self._keep(self._reader), 'writer': self._keep(self._writer)}

    @contextlib.contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Yield a connection for reading. Each statement sees the data that was committed when it began."""
        with self._watch(), self._kept['reader'].use() as connection:
            yield connection

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """Yield a connection for reading. All statements see the data that was committed when the first one began."""
        if self.url.get_backend_name() == 'sqlite':
            with self._reader.connect() as connection:
                connection.exec_driver_sql('BEGIN')
                yield connection
                connection.exec_driver_sql('ROLLBACK')
            return
        with self._writer.connect() as connection:
            # This sets the level for one transaction only. Afterwards, SQLAlchemy's option would reset the level to
            # that of the server, not that of the session, and on MariaDB the next writers would see old rows.
            connection.exec_driver_sql('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """Yield a connection in a transaction. It is committed at the end, or rolled back after an exception."""
        with self._watch(), self._kept['writer'].use(begin=True) as connection:
            yield connection

    @contextlib.contextmanager
    def write_for_long(self) -> Iterator[sa.Connection]:
        """Yield a connection in a transaction, as ``write`` does, without the time limit for statements."""
        if self.url.get_backend_name() == 'sqlite':
            with self.write() as connection:
                yield connection
            return
        engine = self._engine(autocommit=False, is_patient=True)
        pool.watch(engine)
        try:
            with self._watch(), engine.begin() as connection:
                yield connection
        finally:
            engine.dispose()

    def pools(self) -> dict[str, sa.Pool]:
        """Return the connection pools, {'reader' or 'writer': sqlalchemy.Pool}."""
        return {'reader': self._reader.pool, 'writer': self._writer.pool}

    def kept(self) -> dict[str, ReusedConnections]:
        """Return the connections that are reused, {'reader' or 'writer': ReusedConnections}."""
        return self._kept

    def watch_outages(self) -> None:
        """Log the beginning and the end of outages of the database (``db.failover.outage``)."""
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
        for each in self._host_watches:
            each.end()
        self._reader.dispose()
        self._writer.dispose()

    def _is_usable(self, connection: Any, info: dict[Any, Any]) -> bool:
        """Whether a connection that was just used can be reused without a ping.

        :param connection: connection of the driver.
        :param info: ``info`` of the pool's record of the connection.
        """
        if self.url.get_backend_name() == 'sqlite':
            return info['file'] == sqlite.identity(str(self.url.database))
        return self._hosts.is_current(info) and pool.is_silent(connection, info)

    def _keep(self, engine: sa.Engine) -> ReusedConnections:
        """Return the reused connections of the reader or the writer. Add the listeners that check them."""
        kept = ReusedConnections(engine, self._is_usable)
        if self.url.get_backend_name() != 'sqlite':
            sa.event.listen(engine, 'checkout', self._hosts.check)
            its_host_watch = host_watch.HostWatch(engine, self._hosts)
            kept.listen(its_host_watch.take, its_host_watch.give)
            self._host_watches.append(its_host_watch)
            # The last listener for ``checkout``, so that the health check can end its ping if the server is frozen.
            pool.watch(engine)
        return kept

    def _engine(self, autocommit: bool, is_patient: bool = False) -> sa.Engine:
        """Return a new engine.

        :param is_patient: whether its statements have no time limit.
        """
        if self.url.get_backend_name() == 'sqlite':
            return unhealthy.configured(sqlite.engine(self.url, autocommit, self._limits), self._conf)
        options = self._conf.database
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
        # The parameters of statements that fail are not logged, because they may contain passwords.
        engine.hide_parameters = True
        limits = self._limits._replace(statement=None) if is_patient else self._limits
        if engine.dialect.driver == 'psycopg':
            # Imported here, because psycopg is an optional requirement.
            from ironic_traits.db.drivers import psycopg_driver

            psycopg_driver.listen(engine)
        sa.event.listen(engine, 'do_connect', self._hosts.connect)
        sa.event.listen(
            engine, 'connect', functools.partial(_set_session, engine.dialect, autocommit, self.url, limits)
        )
        return unhealthy.configured(engine, self._conf)


def _set_session(
    dialect: Any, autocommit: bool, url: sa.URL, limits: timeouts.Limits, connection: Any, record: Any
) -> None:
    """Set up a new session on a server: UTC, READ COMMITTED, limits for waits, no truncated GROUP_CONCAT."""
    statements: tuple[str, ...]
    if dialect.name == 'postgresql':
        statements = (
            'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED',
            "SET SESSION TIME ZONE 'UTC'",
            # Just-in-time compilation takes longer than each of our statements.
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
    """Retry the transaction if another transaction has deleted a row that it refers to."""
    try:
        yield
    except db_exception.DBReferenceError as error:
        raise db_exception.RetryRequest(error) from error


def _lost_a_lock(error: BaseException) -> bool:
    """Whether an error is a deadlock (or, on a Galera cluster, a conflict at COMMIT), and there is time left.

    oslo.db also reports MariaDB's lock wait timeout (error 1205) as a deadlock. It is not retried, because each retry
    would wait as long again.
    """
    return isinstance(error, db_exception.DBDeadlock) and '1205' not in str(error) and not timeouts.is_over()


_Write = TypeVar('_Write', bound=Callable)
#: Decorator for write functions that api/ calls: it repeats the function after a deadlock, or after a RetryRequest. It
#: does not repeat it after a lost connection, because the transaction may have been committed.
retried: Callable[[_Write], _Write] = db_api.wrap_db_retry(
    max_retries=20,
    retry_interval=0.05,
    inc_retry_interval=True,
    max_retry_interval=1,
    jitter=True,
    exception_checker=_lost_a_lock,
)
