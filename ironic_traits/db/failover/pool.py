"""Checks of pooled connections to a server, with few round trips.

A connection that was just used is not pinged unless its socket is readable, for example because the server has closed
it. A connection without a transaction is not rolled back. doc/source/contributor/decisions/engines.rst says why.
"""

import functools
import select
import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy import dialects

from ironic_traits.db.failover import outage

#: Seconds for which an idle connection is assumed to be alive. Firewalls silently drop idle connections after minutes.
MAX_IDLE = 5
_USED = 'ironic_traits.used'
_PLUGIN = 'ironic_traits'
#: The bit of a MySQL server's status for an open transaction.
_IN_TRANSACTION = 1


class Plugin(sa.engine.CreateEnginePlugin):
    """The parameters of SQLAlchemy's pool and dialect that oslo.db's ``create_engine`` does not take."""

    def update_url(self, url: sa.URL) -> sa.URL:
        """Return the URL unchanged, because this plugin has no parameters."""
        return url

    def handle_dialect_kwargs(self, dialect_cls: Any, dialect_args: dict[str, Any]) -> None:
        """Do not roll back connections with autocommit."""
        dialect_args['skip_autocommit_rollback'] = True

    def handle_pool_kwargs(self, pool_cls: Any, pool_args: dict[str, Any]) -> None:
        """Let ``watch`` check the connections instead of the pool. Reuse the last used connection first."""
        pool_args |= {'pre_ping': False, 'reset_on_return': None, 'use_lifo': True}

    def engine_created(self, engine: sa.Engine) -> None:
        """Let ``outage`` handle errors before oslo.db translates them."""
        sa.event.listen(engine, 'handle_error', outage.note_unready)


dialects.plugins.register(_PLUGIN, __name__, Plugin.__name__)


def with_plugin(url: sa.URL) -> sa.URL:
    """Return the URL of a database, with the parameter that makes ``create_engine`` use the plugin."""
    return url.update_query_dict({'plugin': _PLUGIN}, append=True)


def watch(engine: sa.Engine) -> None:
    """Check the connections of an engine when they leave the pool, and when they return to it."""
    sa.event.listen(engine, 'connect', _note_use)
    sa.event.listen(engine, 'checkin', _note_use)
    sa.event.listen(engine, 'checkout', functools.partial(_check, engine.dialect))
    sa.event.listen(engine, 'reset', _reset)


def _note_use(connection: Any, record: Any) -> None:
    record.info[_USED] = time.monotonic()


def _check(dialect: Any, connection: Any, record: Any, proxy: Any) -> None:
    """Raise InvalidatePoolError if the server does not respond to a ping.

    :raises sqlalchemy.exc.InvalidatePoolError: SQLAlchemy then connects again, and drops all older connections.
    """
    if time.monotonic() - record.info[_USED] < MAX_IDLE and is_silent(connection, record.info):
        return
    try:
        dialect.do_ping(connection)
    except dialect.loaded_dbapi.Error as error:
        raise sa.exc.InvalidatePoolError from error


def is_silent(connection: Any, info: dict[Any, Any]) -> bool:
    """Whether the socket has nothing to read, not even the end of the connection.

    :param connection: connection of the driver.
    :param info: ``info`` of the pool's record of the connection.
    """
    socket = socket_of(connection)
    if socket is None or getattr(connection, 'closed', False):
        return False
    poll = select.poll()
    poll.register(socket.fileno(), select.POLLIN | select.POLLPRI)
    return not poll.poll(0)


def socket_of(connection: Any) -> Any:
    """Return the object with the file descriptor of a driver's connection; None without one.

    :param connection: connection of the driver.
    """
    # PyMySQL has no public name for its socket.
    return connection if hasattr(connection, 'fileno') else getattr(connection, '_sock', None)


def _reset(connection: Any, record: Any, state: Any) -> None:
    """Roll back an open transaction. SQLAlchemy has already rolled it back, unless an error prevented this."""
    # PyMySQL sends a ROLLBACK even if there is no transaction. psycopg2 does not.
    has_nothing = getattr(connection, 'server_status', None) is not None and not (
        connection.server_status & _IN_TRANSACTION
    )
    if state.transaction_was_reset or has_nothing:
        return
    try:
        connection.rollback()
    except Exception as error:
        # Otherwise SQLAlchemy would log the traceback. The server is gone, or has left its cluster.
        record.invalidate(error)
