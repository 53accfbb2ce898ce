"""The part of /healthcheck that asks the database."""

import threading

import sqlalchemy as sa
from oslo_middleware.healthcheck import pluginbase

from ironic_traits.deadline import Pool

#: Seconds that the database has for its answer.
TIMEOUT = 3


class Database(pluginbase.HealthcheckBaseExtension):
    """Healthy when the database answers in time.  Gets it as ``database`` of the health check's own configuration."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._pool = Pool(1)
        self._waiting = threading.Lock()

    def healthcheck(self, server_port):
        # One question at a time: while the database does not answer one, it need not be asked another.
        if not self._waiting.acquire(timeout=TIMEOUT):
            return _unavailable()
        try:
            self._pool.call(TIMEOUT, self._ask)
        except Exception:
            return _unavailable()
        finally:
            self._waiting.release()
        return pluginbase.HealthcheckResult(available=True, reason='OK')

    def _ask(self):
        with self.conf['database'].read() as connection:
            connection.execute(sa.select(1))


def _unavailable():
    return pluginbase.HealthcheckResult(available=False, reason='The database does not answer')
