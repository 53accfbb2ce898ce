"""The database check of /healthcheck."""

import threading
from typing import Any

import sqlalchemy as sa
from oslo_middleware.healthcheck import pluginbase

from ironic_traits.db import engine

#: Maximum number of seconds that the database may take to respond.
TIMEOUT = 3


class Database(pluginbase.HealthcheckBaseExtension):
    """A plugin of oslo.middleware: healthy if the database responds in time.

    The configuration of the health check has the Database as ``database``.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._lock = threading.Lock()
        self._query: _Query | None = None

    def healthcheck(self, server_port: int) -> pluginbase.HealthcheckResult:
        with self._lock:
            # One query at a time, so that threads do not accumulate while the database does not respond.
            if self._query is None or not self._query.is_alive():
                self._query = _Query(self.conf['database'])
                self._query.start()
            query = self._query
        query.join(TIMEOUT)
        if query.is_alive() or query.error:
            return pluginbase.HealthcheckResult(available=False, reason='The database does not answer')
        return pluginbase.HealthcheckResult(available=True, reason='OK')


class _Query(threading.Thread):
    """One query in a thread. A read in a database driver cannot be interrupted, but the caller can stop waiting.

    :ivar error: the exception of the query; None while it runs, and after success.
    """

    def __init__(self, database: engine.Database) -> None:
        super().__init__(daemon=True, name='healthcheck')
        self._database = database
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            with self._database.read() as connection:
                connection.execute(sa.select(1))
        except Exception as error:
            self.error = error
