"""The file of a SQLite database, and the engine for it."""

import contextlib
import os
import pathlib
import sqlite3
import time
from typing import Any

import sqlalchemy as sa
from oslo_db.sqlalchemy import exc_filters

from ironic_traits.db.drivers import timeouts


def prepare_file(path: str, create: bool) -> None:
    """Create the file of a SQLite database unless it exists.

    An existing file is not opened, because closing it would drop the locks of this process's other connections.

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


def engine(url: sa.URL, autocommit: bool, limits: timeouts.Limits) -> sa.Engine:
    """Return an engine for SQLite. Unlike oslo.db's, it pools connections, and writers lock the database at BEGIN."""
    path = str(url.database)
    # The parameters of statements that fail are not logged, because they may contain passwords.
    created = sa.create_engine(url, hide_parameters=True)
    exc_filters.register_engine(created)

    @sa.event.listens_for(created, 'do_connect')
    def open_existing(dialect: sa.Dialect, record: Any, arguments: list[Any], options: dict[str, Any]) -> None:
        # Without mode=rw, SQLite would create a new file after the file was removed, and write to an empty database.
        arguments[0] = f'{pathlib.Path(arguments[0]).absolute().as_uri()}?mode=rw'
        options['uri'] = True

    @sa.event.listens_for(created, 'checkout')
    def check_file(connection: Any, record: Any, proxy: Any) -> None:
        # A connection would still write to a file that was removed or replaced, and the data would be lost.
        current = identity(path)
        if record.info.setdefault('file', current) != current:
            raise sa.exc.DisconnectionError('the file of the database was replaced')

    @sa.event.listens_for(created, 'connect')
    def prepare(connection: sqlite3.Connection, record: Any) -> None:
        # Without this, Python's sqlite3 module begins transactions implicitly.
        connection.isolation_level = None
        # synchronous = FULL: committed data survives a crash of the machine.
        for pragma in (f'busy_timeout = {limits.lock * 1000}', 'synchronous = FULL', 'foreign_keys = ON'):
            connection.execute(f'PRAGMA {pragma}')
        _use_wal(connection, limits)

    if not autocommit:

        @sa.event.listens_for(created, 'begin')
        def begin(connection: sa.Connection) -> None:
            # A plain BEGIN takes the write lock at the first write, which fails at once if another transaction has
            # written since the first read.
            connection.exec_driver_sql('BEGIN IMMEDIATE')

    return created


def identity(path: str) -> tuple[int, int] | None:
    """Return (device, inode) of a file; None if it does not exist."""
    with contextlib.suppress(FileNotFoundError):
        status = os.stat(path)
        return status.st_dev, status.st_ino
    return None


def _use_wal(connection: sqlite3.Connection, limits: timeouts.Limits) -> None:
    """Switch the database to write-ahead logging, in which readers and a writer do not block each other.

    The file keeps this setting. For the first switch, SQLite needs an exclusive lock, and does not wait for it.
    Therefore this function retries.
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
