"""The checks of pooled connections to a server, with few round trips.

SQLAlchemy and oslo.db ping the server before each use of a connection, and roll back after it. On a local network these
two round trips take as long as the one statement of most reads. So a connection that was used a moment ago is not
pinged unless its socket has news, such as that the server has closed it; and what has no transaction is not rolled
back.
"""

import functools
import select
import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy import dialects

from ironic_traits.db import outage

#: Seconds for which a connection is taken for alive. Firewalls drop idle connections after minutes, without a word.
MAX_IDLE = 5
_USED = 'ironic_traits.used'
_PLUGIN = 'ironic_traits'
#: The bit of a MySQL server's status that a transaction is open.
_IN_TRANSACTION = 1


class Plugin(sa.engine.CreateEnginePlugin):
    """The parameters of SQLAlchemy's pool and dialect that oslo.db's ``create_engine`` does not take."""

    def update_url(self, url: sa.URL) -> sa.URL:
        """Return the URL without the parameters of this plugin: it has none."""
        return url

    def handle_dialect_kwargs(self, dialect_cls: Any, dialect_args: dict[str, Any]) -> None:
        """Let no connection roll back under autocommit."""
        dialect_args['skip_autocommit_rollback'] = True

    def handle_pool_kwargs(self, pool_cls: Any, pool_args: dict[str, Any]) -> None:
        """Let ``watch`` check the connections instead of the pool; use the connection that was used last."""
        pool_args |= {'pre_ping': False, 'reset_on_return': None, 'use_lifo': True}

    def engine_created(self, engine: sa.Engine) -> None:
        """Let ``outage`` see errors before oslo.db translates them."""
        sa.event.listen(engine, 'handle_error', outage.note_unready)


dialects.plugins.register(_PLUGIN, __name__, Plugin.__name__)


def with_plugin(url: sa.URL) -> sa.URL:
    """Return the URL of a database with which ``create_engine`` uses the plugin."""
    return url.update_query_dict({'plugin': _PLUGIN}, append=True)


def watch(engine: sa.Engine) -> None:
    """Check the connections of an engine when they leave the pool, and when they come back."""
    sa.event.listen(engine, 'connect', _note_use)
    sa.event.listen(engine, 'checkin', _note_use)
    sa.event.listen(engine, 'checkout', functools.partial(_check, engine.dialect))
    sa.event.listen(engine, 'reset', _reset)


def _note_use(connection: Any, record: Any) -> None:
    record.info[_USED] = time.monotonic()


def _check(dialect: Any, connection: Any, record: Any, proxy: Any) -> None:
    """Raise InvalidatePoolError, upon which SQLAlchemy connects anew, if the server does not answer a ping.

    :raises sqlalchemy.exc.InvalidatePoolError: all connections that were opened before are lost, too.
    """
    if time.monotonic() - record.info[_USED] < MAX_IDLE and is_silent(connection, record.info):
        return
    try:
        dialect.do_ping(connection)
    except dialect.loaded_dbapi.Error as error:
        raise sa.exc.InvalidatePoolError from error


def is_silent(connection: Any, info: dict[Any, Any]) -> bool:
    """Whether the server has sent nothing since the last response. The end of the connection would be something.

    :param connection: of the driver.
    :param info: of the pool's record of the connection.
    """
    socket = socket_of(connection)
    if socket is None or getattr(connection, 'closed', False):
        return False
    poll = select.poll()
    poll.register(socket.fileno(), select.POLLIN | select.POLLPRI)
    return not poll.poll(0)


def socket_of(connection: Any) -> Any:
    """Return what has the file descriptor of a driver's connection; None without one.

    :param connection: of the driver.
    """
    # PyMySQL has no public name for its socket.
    return connection if hasattr(connection, 'fileno') else getattr(connection, '_sock', None)


def _reset(connection: Any, record: Any, state: Any) -> None:
    """Roll back what a connection has not committed. SQLAlchemy has done so itself, unless an error came between."""
    # PyMySQL asks the server even if there is nothing to roll back. psycopg2 does not.
    has_nothing = getattr(connection, 'server_status', None) is not None and not (
        connection.server_status & _IN_TRANSACTION
    )
    if state.transaction_was_reset or has_nothing:
        return
    try:
        connection.rollback()
    except Exception as error:
        # SQLAlchemy would log the traceback. The server is gone, or is no node of its cluster any more.
        record.invalidate(error)
