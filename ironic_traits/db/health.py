"""The database check of /healthcheck."""

import threading
from typing import Any

import sqlalchemy as sa
from oslo_middleware.healthcheck import pluginbase

from ironic_traits.deadline import Pool

#: Most seconds that the database may take to respond.
TIMEOUT = 3


class Database(pluginbase.HealthcheckBaseExtension):
    """A plugin of oslo.middleware: healthy if the database responds in time.

    The configuration of the health check has the Database as ``database``.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._pool = Pool(1)
        self._waiting = threading.Lock()

    def healthcheck(self, server_port: int) -> pluginbase.HealthcheckResult:
        # One query at a time, so that threads do not pile up while the database does not respond.
        if not self._waiting.acquire(timeout=TIMEOUT):
            return _unavailable()
        try:
            self._pool.call(TIMEOUT, self._query)
        except Exception:
            return _unavailable()
        finally:
            self._waiting.release()
        return pluginbase.HealthcheckResult(available=True, reason='OK')

    def _query(self) -> None:
        with self.conf['database'].read() as connection:
            connection.execute(sa.select(1))


def _unavailable() -> pluginbase.HealthcheckResult:
    return pluginbase.HealthcheckResult(available=False, reason='The database does not answer')
