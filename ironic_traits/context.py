"""The context of a request: its caller, its API version, and the service that handles it."""

import contextlib
import copy
import dataclasses
import functools
import threading
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from wsgiref.types import WSGIEnvironment

import sqlalchemy as sa
from oslo_config import cfg
from oslo_context import context as oslo_context

from ironic_traits import failures
from ironic_traits.db.engine import ReaderAndWriter
from ironic_traits.resources import additions
from ironic_traits.resources.fields import NOBODY

if TYPE_CHECKING:
    # Not every program that reads the inventory needs them.
    from ironic_traits.changes.change_streams import Streams
    from ironic_traits.changes.etags import Tags
    from ironic_traits.deploy.base import Driver
    from ironic_traits.deploy.validate import Hook
    from ironic_traits.inventory.core.trait_writers import Writers
    from ironic_traits.inventory.search.node_index import NodeIndex
    from ironic_traits.inventory.traits.noted_traits import NotedTraits
    from ironic_traits.placement.trait_cache import TraitCache

#: The keys of targets that name the project of a node, an allocation or a capacity reservation.
_OF_PROJECT = ('node.owner', 'node.lessee', 'allocation.owner', 'capacity_reservation.project')
#: Policy target of an action: {'node.owner': project, …}.
Target = Mapping[str, str | None]


def target_of(owner: sa.Row) -> Target:
    """Return the policy target of a node.

    :param owner: row with ``owner`` and ``lessee``.
    :returns: {'node.owner': …, 'node.lessee': …}.
    """
    return {'node.owner': owner.owner, 'node.lessee': owner.lessee}


@dataclasses.dataclass(frozen=True)
class Grant:
    """What policy allows a request, for the functions that read nodes, records and reservations.

    :ivar rules: names of the policy rules of which one must allow the request for its node; () if policy allows it for
        all nodes. With rules, lists have only the nodes of the caller's project.
    :ivar checked: uuid or name of the one node, record or reservation that the rules allow the request for; None as
        long as they were not checked (``api.v1.access``).
    """

    rules: tuple[str, ...]
    checked: str | None = None

    @property
    def ident(self) -> str:
        """The uuid or the name of the one node, record or reservation.

        :raises TypeError: the rules were not checked: a bug in the route.
        """
        if self.checked is None:
            raise TypeError('The grant is not for one node, record or reservation.')
        return self.checked

    def of(self, ident: str) -> 'Grant':
        """Return the grant for one node, record or reservation, after the rules were checked for it."""
        return dataclasses.replace(self, checked=ident)


class Process(ReaderAndWriter, Protocol):
    """What a function needs that reads options and the database only: a ``service.Service``, or a Context."""

    conf: cfg.ConfigOpts


class Parts(Process, Protocol):
    """A ``service.Service``, which describes the attributes. Its module imports this one."""

    drivers: 'Mapping[str, Driver]'
    hooks: 'Sequence[Hook]'
    #: An Enforcer of oslo.policy, which is imported only if it is needed. Imports have one that allows everything.
    enforcer: Any
    waiters: threading.Semaphore
    writers: 'Writers'
    noted_traits: 'NotedTraits'
    has_promises: bool
    promise_reading: Any
    etags: 'Tags'
    node_index: 'NodeIndex'
    trait_cache: 'TraitCache'
    streams: 'Streams'
    wake_worker: Callable[[], None]
    #: The modules of these five import this module, or are optional.
    rules: Any
    conductors: Any
    places: Any
    combined: Any
    clouds: dict[str, Any]

    def snapshot(self) -> contextlib.AbstractContextManager[sa.Connection]:
        """Return a context manager of a connection for reading, of which all statements see the same moment."""


class Context(oslo_context.RequestContext):
    """The context of one request.

    :param service: the Service: configuration, database, drivers, policy.
    :param protocol: ironic_traits.api.protocol.Protocol, from a floor above: which of the two APIs the request is for;
        None outside of requests.
    :param minor: the negotiated version of that API, as its minor number.
    :param base: URL at which clients reach the API: scheme, host, and the prefix that it is mounted under.
    :param has_additions: whether the request names the version of our additions, and gets them at each version.
    :param ids: arguments of oslo.context: request_id, global_request_id, user_id, project_id, roles, …
    """

    def __init__(
        self, service: Parts, protocol: Any, minor: int, base: str, has_additions: bool = False, **ids: Any
    ) -> None:
        # Before the base class calls ``update_store``.
        self.protocol = protocol
        super().__init__(**ids)
        self.service = service
        self.conf = service.conf
        self.snapshot = service.snapshot
        self.minor = minor
        self.base = base
        self.has_additions = has_additions
        #: The request, of webob; None outside of the API.
        self.request: Any = None
        #: Called with the connection at the beginning of each transaction (``api.preconditions``).
        self.guard: Callable[[sa.Connection], None] | None = None
        #: The promises that were read last (``inventory.holds.promised_nodes``).
        self.promised: Any = None
        self._connection: sa.Connection | None = None

    def read(self) -> contextlib.AbstractContextManager[sa.Connection]:
        """Return a context manager of a connection for reading."""
        return self.service.read() if self._connection is None else contextlib.nullcontext(self._connection)

    def write(self) -> contextlib.AbstractContextManager[sa.Connection]:
        """Return a context manager of a connection in a transaction, which begins with the guard."""
        return self.service.write() if self.guard is None else self._guarded(self.guard)

    @contextlib.contextmanager
    def _guarded(self, guard: Callable[[sa.Connection], None]) -> Iterator[sa.Connection]:
        with self.service.write() as connection:
            guard(connection)
            yield connection

    def of_read(self, request: Any, connection: sa.Connection) -> 'Context':
        """Return the same context for a request that reads through a connection."""
        context = copy.copy(self)
        context.request, context.guard, context._connection = request, None, connection
        return context

    def update_store(self) -> None:
        """Let log lines of this thread name the request. Outside of requests, there is none to name."""
        if self.protocol is not None:
            super().update_store()

    def identified(self, environ: WSGIEnvironment) -> 'Context':
        """Return the same context with the user, project and roles that keystonemiddleware found.

        :param environ: WSGI environ of the request, behind keystonemiddleware.
        """
        return self.from_environ(
            environ,
            service=self.service,
            protocol=self.protocol,
            minor=self.minor,
            base=self.base,
            has_additions=self.has_additions,
            request_id=self.request_id,
            global_request_id=self.global_request_id,
        )

    def to_policy_values(self) -> dict[str, Any]:
        """Return the credentials that policy rules compare with.

        ``project_name`` is added, which oslo.context leaves out. ``project_id`` is removed when the request has no
        project: oslo.policy compares strings, and "None" would equal the owner of a node that has no owner.
        """
        values = {**super().to_policy_values(), 'project_name': self.project_name}
        return values if self.project_id else {key: values[key] for key in values.keys() - {'project_id'}}

    @functools.cached_property
    def caller(self) -> str:
        """The credentials that policy rules compare with, as a text."""
        return repr(sorted(self.to_policy_values().items()))

    def can(self, rule: str, *others: str, target: Target | None = None) -> Grant:
        """Raise Forbidden unless policy allows the action, for all nodes or for nodes of the caller's project.

        Without a target, it is enough that policy allows the action for nodes or allocations of the caller's project.
        The grant then has the rules that ``api.v1.access`` checks once it has the node.

        :param rule: name of a policy rule (``policies/``).
        :param others: names of alternative rules: one that allows the action is enough.
        :param target: policy target of the action.
        :raises failures.Forbidden: policy does not allow it.
        """
        rules = (rule, *others)
        if any(self.may(each, target) for each in rules):
            return Grant(())
        if target is not None or not self.project_id or not any(self.may(each, self._own()) for each in rules):
            raise self.forbidden(*rules)
        return Grant(rules)

    def forbidden(self, rule: str, *others: str) -> failures.Forbidden:
        """Return the failure of a request that policy does not allow. It says if only the scope of the token is wrong.

        The message depends on the rules and the token only, and never on what the request is about.

        :param rule: name of the policy rule.
        :param others: names of alternative rules.
        """
        rules = (rule, *others)
        own, of_system = self._own(), self.to_policy_values() | {'system_scope': 'all'}
        is_of_scope = (
            self.service.enforcer is not None
            and not self.system_scope
            and not any(self.may(each, own) for each in rules)
            and any(self.may(each, own, of_system) for each in rules)
        )
        if not is_of_scope:
            return failures.Forbidden(rule)
        scope = 'project' if self.project_id else 'domain' if self.domain_id else 'no'
        return failures.Forbidden(
            rule, f'. Your roles allow it with system scope only, and the token has {scope} scope.'
        )

    def _own(self) -> Target:
        """Return the policy target of what belongs to the project of the caller."""
        return {role: self.project_id for role in _OF_PROJECT}

    def limit_to(self, *rules: str) -> Grant:
        """Return the grant for the one node, or record, that the request is for, with the rules to check against it.

        Nothing is refused here: ``api.v1.access`` checks the rules once it has the node. A caller who may not see the
        node gets the same 404 as for a node that does not exist, as in Ironic.

        :param rules: names of policy rules: one that allows the action is enough.
        """
        return Grant(() if any(self.may(rule) for rule in rules) else rules)

    def may(self, rule: str, target: Target | None = None, credentials: Mapping[str, Any] | None = None) -> bool:
        """Whether policy allows an action.

        :param rule: name of a policy rule.
        :param target: policy target of the action.
        :param credentials: of another caller; None for those of the request.
        """
        # Under noauth and http_basic there is no enforcer, and everything is allowed.
        enforcer = self.service.enforcer
        if enforcer is None:
            return True
        services = {'config.service_project_name': self.conf.api.service_project_name}
        return enforcer.authorize(rule, {**services, **(target or {})}, credentials or self)

    def policy_version(self) -> tuple[int, ...] | None:
        """Return a value that changes when the rules of policy change; None without policy."""
        enforcer = self.service.enforcer
        # oslo.policy replaces the checks of the rules when it reads its files again.
        return None if enforcer is None else tuple(map(id, enforcer.rules.values()))

    def sees_secrets(self, rule: str) -> bool:
        """Whether policy lets the caller see secrets unmasked. Without policy, they are masked.

        :param rule: name of a policy rule; NOBODY for no caller.
        """
        return rule != NOBODY and self.service.enforcer is not None and self.may(rule)

    def has(self, minor: int) -> bool:
        """Whether the request gets a feature.

        :param minor: the minor version that brought it; an Addition if Ironic does not have it.
        """
        return additions.has(minor, self.minor, self.has_additions)

    def needs(self, minor: int, what: str) -> None:
        """Raise VersionTooLow unless the version of the request is high enough.

        :param minor: the minor version that brought the feature.
        :param what: name of the feature, for the message.
        :raises failures.VersionTooLow: the request has an earlier version.
        """
        if not self.has(minor):
            raise failures.VersionTooLow(what=what, version=f'1.{minor}')

    def url(self, path: str) -> str:
        """Return the URL of a path."""
        return self.base + path

    def path(self, path: str) -> str:
        """Return a path with the prefix that the API is mounted under."""
        return urllib.parse.urlsplit(self.base).path + path

    def links(self, *path: str) -> list[dict[str, str]]:
        """Return the two links that Ironic has for each resource: one with the version in its path, one without.

        :param path: segments below /v1.
        """
        joined = '/'.join(path)
        return [
            {'href': f'{self.base}/v1/{joined}', 'rel': 'self'},
            {'href': f'{self.base}/{joined}', 'rel': 'bookmark'},
        ]
