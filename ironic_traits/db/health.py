"""The part of /healthcheck that asks the database."""

import sqlalchemy as sa
from oslo_middleware.healthcheck import pluginbase


class Database(pluginbase.HealthcheckBaseExtension):
    """Healthy when the database answers.  Gets it as ``database`` of the health check's own configuration."""

    def healthcheck(self, server_port):
        try:
            with self.conf['database'].read() as connection:
                connection.execute(sa.select(1))
        except Exception:
            return pluginbase.HealthcheckResult(available=False, reason='The database does not answer')
        return pluginbase.HealthcheckResult(available=True, reason='OK')
