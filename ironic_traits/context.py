"""Who asks, at which version, and what the service has to answer with."""

import urllib.parse

from oslo_context import context as oslo_context

from ironic_traits import failures


def target_of(owner):
    """Give what policy is told of a node.

    :param owner: row with ``owner`` and ``lessee``.
    """
    return {'node.owner': owner.owner, 'node.lessee': owner.lessee}


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
        self.waiters = service.waiters
        self.wake_worker = service.wake_worker
        self.protocol = protocol
        self.minor = minor
        self.base = base
        self._service = service
        #: The rules that policy is still to be asked by, of a certain node; () for none.
        self.limited_to = ()

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

    def to_policy_values(self):
        """Return what rules compare with, as a dict: oslo.context leaves the project's name out.

        A request without a project has no ``project_id`` to compare.  oslo.policy compares texts, and "None" would
        equal the owner of a node without one.
        """
        values = {**super().to_policy_values(), 'project_name': self.project_name}
        return values if self.project_id else {key: values[key] for key in values.keys() - {'project_id'}}

    def can(self, rule, *others, target=None):
        """Do nothing when policy allows it, for all nodes or for some.

        Without a target the latter is enough: ``limited_to`` then names the rules that are still to be asked, of the
        node that it is done to (``api.v1.access``).

        :param rule: name of a policy rule (``policies/``).
        :param others: rules each of which will do instead.
        :param target: what it is done to, as a dict.
        :raises failures.Forbidden: policy does not allow it.
        """
        rules = (rule, *others)
        if any(self.may(each, target) for each in rules):
            self.limited_to = ()
            return
        mine = {'node.owner': self.project_id, 'node.lessee': self.project_id}
        if target is not None or not self.project_id or not any(self.may(each, mine) for each in rules):
            raise failures.Forbidden(rule=rule)
        self.limited_to = rules

    def limit_to(self, *rules):
        """Name the policy rules that decide about the one node, or record, that the request is for.

        Nothing is refused here: ``api.v1.access`` asks the rules when it knows the node.  A caller who may not see the
        node gets the same 404 as for one that does not exist, as in the real service.

        :param rules: names of policy rules, any of which allows it.
        """
        self.limited_to = () if any(self.may(rule) for rule in rules) else rules

    def may(self, rule, target=None):
        """Tell whether policy allows it; as ``can``."""
        # Under noauth there is no enforcer, and everything is allowed.
        enforcer = self._service.enforcer
        if enforcer is None:
            return True
        services = {'config.service_project_name': self.conf.api.service_project_name}
        return enforcer.authorize(rule, services | (target or {}), self)

    def sees_secrets(self, rule):
        """Tell whether policy says that secrets are not masked; where there is no policy, they are."""
        return self._service.enforcer is not None and self.may(rule)

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
