"""Who asks, at which version, and what the service has to answer with."""

import urllib.parse

from oslo_context import context as oslo_context

from ironic_traits import failures


class Context(oslo_context.RequestContext):
    """One request.

    :param service: ironic_traits.service.Service: configuration, database, drivers, policy.
    :param protocol: ironic_traits.api.protocols.Protocol: which of the two APIs is spoken.
    :param minor: the negotiated version of it, as its minor number.
    :param base: where clients reach the API: scheme, host, and the prefix that it is mounted under.
    :param ids: what oslo.context takes: request_id, global_request_id, user_id, project_id, roles, …
    """

    def __init__(self, service, protocol, minor, base, **ids):
        super().__init__(**ids)
        self.conf = service.conf
        self.drivers = service.drivers
        self.hooks = service.hooks
        self.read = service.read
        self.write = service.write
        self.protocol = protocol
        self.minor = minor
        self.base = base
        self._service = service

    def identified(self, environ):
        """Give the same context with whom keystonemiddleware found to be asking.

        :param environ: the request's, behind keystonemiddleware.
        """
        return self.from_environ(
            environ,
            service=self._service,
            protocol=self.protocol,
            minor=self.minor,
            base=self.base,
            request_id=self.request_id,
            global_request_id=self.global_request_id,
        )

    def can(self, rule, target=None):
        """Do nothing when policy allows it.

        :param rule: name of a policy rule (``policies/``).
        :param target: what it is done to, as a dict.
        :raises failures.Forbidden: policy does not allow it.
        """
        if not self.may(rule, target):
            raise failures.Forbidden(rule=rule)

    def may(self, rule, target=None):
        """Tell whether policy allows it; as ``can``."""
        # Under noauth there is no enforcer, and everything is allowed.
        enforcer = self._service.enforcer
        return enforcer is None or enforcer.authorize(rule, target or {}, self)

    def needs(self, minor, what):
        """Do nothing when the version is high enough.

        :param minor: the minor version with which it came.
        :param what: what the client asked for, for the sentence.
        :raises failures.VersionTooLow: it came later.
        """
        if self.minor < minor:
            raise failures.VersionTooLow(what=what, version=f'1.{minor}')

    def url(self, path):
        """Make an address of a path."""
        return self.base + path

    def path(self, path):
        """Make a path of a path: below what the service, and the API in it, are mounted under."""
        return urllib.parse.urlsplit(self.base).path + path

    def links(self, *path):
        """Make the two links that Ironic gives for everything: to itself, and to itself without a version."""
        below = '/'.join(path)
        return [
            {'href': f'{self.base}/v1/{below}', 'rel': 'self'},
            {'href': f'{self.base}/{below}', 'rel': 'bookmark'},
        ]
