"""The hosts of a database: chooses the host that a process uses, and connects to it.

A URL may name several hosts, in one of two forms. (The first one is that of SQLAlchemy and libpq for PostgreSQL.) ::

    postgresql+psycopg://user@/name?host=one:5432&host=two:5432
    mysql+pymysql://user@one,two,three/name

IPv6 addresses are in brackets if they have a port: ``host=[fd00::1]:5432``, ``user@[fd00::1],[fd00::2]:3307``.

A process uses one host at a time for all its connections, and all processes prefer the first host. A desynced node of a
Galera cluster is left for a synced one, if there is one. doc/source/contributor/decisions/failover.rst says why.
"""

import contextlib
import functools
import logging
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from ironic_traits.db.drivers import timeouts

LOG = logging.getLogger(__name__)

#: Seconds for which a failed host is tried after the others.
AVOIDED = 5
#: Seconds between two looks at the state of the node in use of a Galera cluster.
LOOK = 2
_SWITCH = 'ironic_traits.switch'
#: The key of the number of its host in ``info`` of the pool's record of a connection.
HOST = 'ironic_traits.host'
#: Values of wsrep_local_state: Synced; Donor/Desynced and Joined.
_SYNCED, _DESYNCED = '4', ('2', '3')
#: First characters of the name of a directory of sockets, and of an abstract socket of Linux.
_SOCKETS = ('/', '@')
#: A host with or without a port. An IPv6 address with a port is in brackets.
_ADDRESS = re.compile(r'(?:\[(?P<ipv6>[^]]+)\]|(?P<host>[^:]+))(?::(?P<port>\d*))?')


#: The error of MariaDB and MySQL after the wait for a lock, or for the commits of a cluster.
_LOCK_WAIT_TIMEOUT = 1205


class Unready(Exception):
    """A host of the database responds, but cannot be used."""


class Desynced(Unready):
    """A node of a Galera cluster executes statements, but may lag behind the others."""


class Hosts:
    """The hosts of one database.

    :param url: sqlalchemy.URL, which may name several hosts.
    :ivar url: the URL with only the first host, for SQLAlchemy's engines.
    :ivar current: the number of the host in use. It is only changed here.
    :raises sqlalchemy.exc.ArgumentError: the ports do not fit the hosts.
    """

    def __init__(self, url: sa.URL, limits: timeouts.Limits) -> None:
        self._addresses = addresses(url)
        self._limits = limits
        self.url = url
        host, port = self._addresses[0]
        if (host, port) != (url.host or '', url.port):
            self.url = url.difference_update_query(['host', 'port']).set(host=host, port=port)
        self.current = 0
        #: Number of switches to another host.
        self._switches = 0
        #: {number of a host: when it failed, as time.monotonic()}.
        self._failures: dict[int, float] = {}
        self._looked = 0.0
        self._lock = threading.Lock()

    @property
    def are_several(self) -> bool:
        """Whether there is more than one host."""
        return len(self._addresses) > 1

    def connect(self, dialect: Any, record: Any, arguments: list[Any], options: dict[str, Any]) -> Any:
        """Return a connection of the driver: a listener for SQLAlchemy's event ``do_connect``.

        It tries the hosts in turn, beginning with the host in use, and then the desynced ones once more.

        :raises Exception: no host can be used. This is the error of the first host that was tried.
        """
        first: Exception | None = None
        switches = self._switches
        # The loop appends to this list.
        attempts: list[tuple[int, Callable[[str, Any], None]]] = [(each, _check_for_use) for each in self._order()]
        for number, check in attempts:
            try:
                connection = self._connect(number, dialect, arguments, options, check)
            except Desynced as error:
                # This is no failure, so that all threads use the same one if all are desynced: one is better than none.
                first = first or error
                attempts.append((number, functools.partial(_check_for_use, may_lag=True)))
            except (dialect.loaded_dbapi.Error, OSError, Unready) as error:
                self._failures[number] = time.monotonic()
                first = first or error
            else:
                record.info.update({_SWITCH: self._take(number, switches), HOST: number})
                return connection
        if first is None or isinstance(first, Unready):
            raise dialect.loaded_dbapi.OperationalError(str(first)) from first
        raise first

    @property
    def limit(self) -> float:
        """The maximum number of seconds that a connection to a host may take."""
        return timeouts.connect_limit(self.url, self._limits)

    def probe(self, number: int, dialect: Any, arguments: list[Any], options: dict[str, Any]) -> None:
        """Raise an exception unless a host responds within the limit for a connection, and can be used."""
        self._connect(number, dialect, arguments, options, _check).close()

    def check(self, connection: Any, record: Any, proxy: Any) -> None:
        """Raise DisconnectionError unless a connection is to the host in use: a listener for ``checkout``.

        :raises sqlalchemy.exc.DisconnectionError: another host is in use. SQLAlchemy then connects again.
        """
        if not self.is_current(record.info):
            raise sa.exc.DisconnectionError('another host of the database is in use')

    def is_current(self, info: dict[Any, Any]) -> bool:
        """Whether a connection is to the host in use.

        :param info: ``info`` of the pool's record of the connection.
        """
        return info.get(_SWITCH) == self._switches

    def is_look_due(self) -> bool:
        """Whether to look at the state of the host in use now, also if it responds: a node may have been desynced."""
        now = time.monotonic()
        if not self.are_several or self.url.get_backend_name() == 'postgresql' or now - self._looked < LOOK:
            return False
        self._looked = now
        return True

    def leave(self, number: int) -> None:
        """Treat a host as dead: the next connections are to the others, if they respond."""
        with self._lock:
            self._failures[number] = time.monotonic()
            if number == self.current:
                self._switches += 1

    def prefer(self, dialect: Any, arguments: list[Any], options: dict[str, Any]) -> None:
        """Switch back to the first host if it is a ready node of a Galera cluster, and another host is in use.

        This is not done on PostgreSQL: a former primary that returns as a primary by itself lacks all later writes.
        """
        if self.current == 0:
            return
        try:
            connection = self._connect(0, dialect, arguments, options, _check)
            is_node = _is_galera(connection)
            connection.close()
        except Exception:
            return
        if is_node:
            self._take(0, self._switches)

    def replace(self, number: int, dialect: Any, arguments: list[Any], options: dict[str, Any]) -> None:
        """Switch from a host to the next one that can be used. Stay if there is none.

        Transactions on the old host may end there.
        """
        switches = self._switches
        for other in self._order():
            if other == number or self.current != number:
                continue
            with contextlib.suppress(Exception):
                self.probe(other, dialect, arguments, options)
                self._take(other, switches)

    def _order(self) -> list[int]:
        now = time.monotonic()
        numbers = sorted(range(len(self._addresses)), key=lambda number: number != self.current)
        return sorted(numbers, key=lambda number: now - self._failures.get(number, -AVOIDED) < AVOIDED)

    def _take(self, number: int, before: int) -> int:
        """Use a host from now on, unless another thread has switched to another host in the meantime.

        :param before: the number of switches at the beginning of the connection attempt.
        :returns: the number of switches with which ``check`` accepts the connection.
        """
        with self._lock:
            self._failures.pop(number, None)
            if number != self.current:
                if self._switches != before:
                    return before
                self.current = number
                self._switches += 1
                LOG.warning('The host of the database is now %s, port %s', *self._addresses[number])
            return self._switches

    def _connect(
        self, number: int, dialect: Any, arguments: list[Any], options: dict[str, Any], check: Callable[[str, Any], Any]
    ) -> Any:
        """Connect to a host. If there are several hosts, check that it can be used.

        :param check: function (name of the dialect, connection of the driver).
        :raises Unready: the host cannot be used.
        """
        options = timeouts.options(self.url, self._limits) | options
        if self.are_several:
            # ``options`` have the port of the first host.
            options.pop('port', None)
            host, port = self._addresses[number]
            options |= {'host': host} | ({'port': port} if port else {})
        connection = _connector(dialect, self._limits)(*arguments, **options)
        try:
            if self.are_several:
                check(dialect.name, connection)
        except BaseException:
            connection.close()
            raise
        return connection


def _connector(dialect: Any, limits: timeouts.Limits) -> Callable[..., Any]:
    """Return the function that connects with a driver."""
    if dialect.driver == 'psycopg':
        # Imported here, because drivers are optional requirements.
        from ironic_traits.db.drivers import psycopg_driver

        return functools.partial(psycopg_driver.connect, limits.connect)
    if dialect.driver == 'pymysql':
        from ironic_traits.db.drivers import pymysql_driver

        return pymysql_driver.Connection
    connect: Callable[..., Any] = dialect.loaded_dbapi.connect
    return connect


def addresses(url: sa.URL) -> list[tuple[str, int | None]]:
    """Return the hosts in a URL, [(host, port or None), …].

    The port of a host is its own port (``host=one:5433``), or else the parameter ``port``, or else the port before the
    path of the URL. If the URL has one host before its path, no host, or a directory of sockets, the result is
    [(host or '', port)] as in SQLAlchemy.

    :raises sqlalchemy.exc.ArgumentError: the ports do not fit the hosts.
    """
    names = _listed(url, 'host') or _of_authority(url)
    if not names or any(name.startswith(_SOCKETS) for name in names):
        return [(url.host or '', url.port)]
    return [_address(name, port) for name, port in zip(names, _ports(url, len(names)), strict=True)]


def _listed(url: sa.URL, parameter: str) -> list[str]:
    """Return the values of a parameter. It may be repeated, and may have several values separated by commas."""
    values = url.query.get(parameter, ())
    return [name for value in ([values] if isinstance(values, str) else values) for name in value.split(',')]


def _of_authority(url: sa.URL) -> list[str]:
    """Return the hosts before the path of a URL; [] if there is only one, or none."""
    host = url.host or ''
    if ',' not in host:
        return []
    # SQLAlchemy removes the first and the last bracket of "[fd00::1],[fd00::2]".
    return (f'[{host}]' if ']' in host else host).split(',')


def _ports(url: sa.URL, number: int) -> list[int | None]:
    """Return the port of each host. As in libpq, there is one port for all or for each. An empty one is the default."""
    ports = _listed(url, 'port')
    if not ports:
        return [url.port] * number
    if not all(port.isdecimal() or not port for port in ports):
        raise sa.exc.ArgumentError(f'A port is not a number: {",".join(ports)}')
    if len(ports) not in (1, number):
        raise sa.exc.ArgumentError(f'{len(ports)} ports for {number} hosts: name one for all of them, or one for each')
    return [int(port) if port else None for port in (ports * number if len(ports) == 1 else ports)]


def _address(name: str, port: int | None) -> tuple[str, int | None]:
    """Return the host and the port of ``host``, ``host:port``, ``fd00::1``, ``[fd00::1]`` or ``[fd00::1]:port``.

    :param port: the port if the name has none.
    """
    match = _ADDRESS.fullmatch(name)
    if match is None:
        return name, port
    return match['ipv6'] or match['host'], int(match['port']) if match['port'] else port


def _check(dialect: str, connection: Any, may_lag: bool = False) -> bool:
    """Raise Unready unless a server accepts writes and, in a Galera cluster, is a synced node.

    :param may_lag: whether a desynced node is accepted.
    :returns: whether the server is a node of a Galera cluster.
    """
    if dialect == 'postgresql':
        _check_postgresql(connection)
        return False
    return _check_mysql(connection, may_lag)


def _check_for_use(dialect: str, connection: Any, may_lag: bool = False) -> None:
    """Check a server as ``_check`` does.

    Then wait until a node of a cluster has all commits of the cluster so far: another node may have acknowledged them.

    :raises Unready: also if that takes too long.
    """
    if not _check(dialect, connection, may_lag):
        return
    with connection.cursor() as cursor:
        cursor.execute('SET SESSION wsrep_sync_wait = 1')
        try:
            cursor.execute('SELECT 1')
        except Exception as error:
            if error.args[:1] != (_LOCK_WAIT_TIMEOUT,):
                raise
            # As a failure of a lock, it would look as if a transaction was to be repeated on this node.
            raise Unready('the node does not catch up with its cluster') from error
        cursor.fetchall()
        cursor.execute('SET SESSION wsrep_sync_wait = DEFAULT')


def _check_postgresql(connection: Any) -> None:
    """Raise Unready unless the server accepts writes, as libpq does for target_session_attrs=read-write."""
    with connection.cursor() as cursor:
        cursor.execute('SHOW transaction_read_only')
        [value] = cursor.fetchone()
    connection.rollback()
    if value != 'off':
        raise Unready('the server is read-only')


def _check_mysql(connection: Any, may_lag: bool) -> bool:
    values = _values(connection)
    if values.get('read_only', 'OFF') != 'OFF':
        raise Unready('the server is read-only')
    if values.get('wsrep_on') != 'ON':
        return False
    state, is_ready = values.get('wsrep_local_state'), values.get('wsrep_ready') == 'ON'
    if is_ready and state in _DESYNCED:
        if not may_lag:
            raise Desynced(f'the node is desynced: {values.get("wsrep_local_state_comment")}')
    elif not is_ready or state != _SYNCED:
        raise Unready(f'the node is not ready: {values.get("wsrep_local_state_comment")}')
    return True


def _is_galera(connection: Any) -> bool:
    return hasattr(connection, 'get_server_info') and _values(connection).get('wsrep_on') == 'ON'


def _values(connection: Any) -> dict[str, str]:
    """Return variables and status values of a MariaDB or MySQL server, {name: value}."""
    rows: list[tuple[str, str]] = []
    with connection.cursor() as cursor:
        for statement in (
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'wsrep_on')",
            "SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_local_state', "
            "'wsrep_local_state_comment')",
        ):
            cursor.execute(statement)
            rows += cursor.fetchall()
    return dict(rows)
