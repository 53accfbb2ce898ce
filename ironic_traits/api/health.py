"""The parts of /healthcheck that ask keystone, where tokens are its, and for workers."""

from typing import Any

from oslo_middleware.healthcheck import pluginbase

from ironic_traits.inventory import workers

#: Seconds that it has, when [keystone_authtoken] http_connect_timeout does not say.
TIMEOUT = 5


class Keystone(pluginbase.HealthcheckBaseExtension):
    """Healthy when keystone answers.  Gets the service's configuration as ``conf`` of the health check's own."""

    def healthcheck(self, server_port):
        from keystoneauth1 import exceptions, loading, session

        conf = self.conf['conf']
        options = conf.keystone_authtoken
        try:
            auth: Any = loading.load_auth_from_conf_options(conf, 'keystone_authtoken')
            asking = session.Session(
                verify=False if options.insecure else options.cafile or True,
                cert=(options.certfile, options.keyfile) if options.certfile else None,
                timeout=options.http_connect_timeout or TIMEOUT,
            )
            asking.get(auth.auth_url, authenticated=False)
        except exceptions.ClientException:
            return pluginbase.HealthcheckResult(available=False, reason='Keystone does not answer')
        return pluginbase.HealthcheckResult(available=True, reason='OK')


class Workers(pluginbase.HealthcheckBaseExtension):
    """Always healthy: the reason says how many workers are alive, and how long work has waited for one.

    Gets the service as ``service`` of the health check's own configuration.
    """

    def healthcheck(self, server_port):
        try:
            reason = workers.summary(self.conf['service'])
        except Exception:
            reason = 'The workers are not known'
        return pluginbase.HealthcheckResult(available=True, reason=reason)
