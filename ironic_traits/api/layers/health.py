"""Health check plugins for keystone (if it authenticates clients), for the workers and for mirrors."""

from typing import Any

from oslo_middleware.healthcheck import pluginbase

from ironic_traits.inventory.mirrored import mirror_clouds
from ironic_traits.inventory.provisioning import workers

#: Timeout of the request to keystone, in seconds, if [keystone_authtoken] http_connect_timeout is not set.
TIMEOUT = 5


class Keystone(pluginbase.HealthcheckBaseExtension):
    """A check that keystone responds. The options of the health check have the service's configuration as ``conf``."""

    def healthcheck(self, server_port: int) -> pluginbase.HealthcheckResult:
        from keystoneauth1 import exceptions, loading, session

        conf = self.conf['conf']
        options = conf.keystone_authtoken
        try:
            auth: Any = loading.load_auth_from_conf_options(conf, 'keystone_authtoken')
            keystone = session.Session(
                verify=False if options.insecure else options.cafile or True,
                cert=(options.certfile, options.keyfile) if options.certfile else None,
                timeout=options.http_connect_timeout or TIMEOUT,
            )
            keystone.get(auth.auth_url, authenticated=False)
        except exceptions.ClientException:
            return pluginbase.HealthcheckResult(available=False, reason='Keystone does not respond')
        return pluginbase.HealthcheckResult(available=True, reason='OK')


class Workers(pluginbase.HealthcheckBaseExtension):
    """A check that is always healthy: its reason says how many workers are alive, and how long work has waited.

    The options of the health check have the service as ``service``.
    """

    def healthcheck(self, server_port: int) -> pluginbase.HealthcheckResult:
        try:
            reason = workers.summary(self.conf['service'])
        except Exception:
            reason = 'The state of the workers is unknown'
        return pluginbase.HealthcheckResult(available=True, reason=reason)


class Mirrors(pluginbase.HealthcheckBaseExtension):
    """A check that is always healthy: its reason says how far each mirror of a cloud is behind.

    The options of the health check have the service as ``service``.
    """

    def healthcheck(self, server_port: int) -> pluginbase.HealthcheckResult:
        try:
            reason = mirror_clouds.summary(self.conf['service']) or 'No cloud is mirrored'
        except Exception:
            reason = 'The state of the mirrors is unknown'
        return pluginbase.HealthcheckResult(available=True, reason=reason)
