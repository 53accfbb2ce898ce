"""The routes of the Bare Metal API.

A route checks policy and version before it reads the body, so that a client without permission cannot make the service
wait for a body. WSME converts and validates the input: query parameters here, bodies in ``api.body``.
doc/source/contributor/decisions/expose.rst says why WSME's own ``wsexpose`` is not used.
"""

import contextlib
import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from wsgiref.types import WSGIEnvironment

import wsme.exc
import wsme.types
from oslo_config import cfg
from webob import acceptparse

from ironic_traits import failures
from ironic_traits.api import body as request_body
from ironic_traits.api import preconditions, rendering, routes
from ironic_traits.api.resource import ROUTE, SUFFIXED
from ironic_traits.api.responses import EVENTS, Response
from ironic_traits.api.routes import Route
from ironic_traits.context import Context, Grant

#: Failures that mean that nothing has the name at the end of the path.
_NAME_FAILURES = (failures.NodeNotFound, failures.RecordNotFound, failures.VifNotAttached)


class Body(NamedTuple):
    """The body of a route.

    :ivar datatype: its WSME type.
    :ivar optional: whether it may be missing. Then the method's argument ``body`` is None.
    :ivar max_size: function of the configuration that returns the largest body in bytes; None for the option that
        limits the bodies of most routes.
    :ivar check: function of the context that raises if the body need not be read; None for no such function.
    """

    datatype: Any
    optional: bool = False
    max_size: Callable[[cfg.ConfigOpts], int] | None = None
    check: Callable[[Context], None] | None = None


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class BareMetalRoute(Route):
    """A route of the Bare Metal API.

    The method gets the context of the request, then the grant of policy if it has a parameter ``grant``, then the path
    parameters, then the query parameters in the request as keyword arguments (with underscores for dashes), then
    ``body`` if the route takes one.

    ``returns`` is the WSME type of the response; ``query`` is {name: WSME type}; ``body`` is a WSME type, or a Body.

    :ivar of: for a rule that depends on the one node, record or reservation at the path: function of the context, the
        grant and the first path parameter that returns the grant for it, or raises if policy does not allow the request
        (``v1.access``). The method gets the uuid or name in the grant instead of the parameter. A route without path
        parameters calls the function itself.
    :ivar within: function of the context and the first path parameter that raises unless the caller may see the node.
        It is called first, because everything below a node that the caller may not see gets the response 404.
    :ivar policy_first: whether policy for the node is checked before the version, as Ironic does in a few places.
    :ivar streams: whether the route can return a stream of events (``change_streams.Events``), at any version.
    :ivar statuses: the statuses of successful responses; () for 200, or 204 if the route returns nothing. The first is
        that of a result that is not a Response.
    :ivar query_since: {query parameter: the minor version that brought it}, for those that are later than the route,
        and are neither filters nor in the table of a resource.
    :ivar or_returns: WSME type of the response to a query that asks for another form.
    """

    of: Callable[[Context, Grant, str], Grant] | None = None
    within: Callable[[Context, str], None] | None = None
    policy_first: bool = False
    streams: bool = False
    statuses: tuple[int, ...] = ()
    query_since: Mapping[str, int] = dataclasses.field(default_factory=dict)
    or_returns: Any = None

    @functools.cached_property
    def success(self) -> tuple[int, ...]:
        """The statuses of successful responses."""
        return self.statuses or ((204,) if self.returns is None else (200,))

    @functools.cached_property
    def return_types(self) -> list[Any]:
        """The WSME types of the responses."""
        return [_resolved(each) for each in (self.returns, self.or_returns) if each is not None]

    @functools.cached_property
    def query_types(self) -> dict[str, Any]:
        """{query parameter: its WSME type}."""
        return {name: _resolved(datatype) for name, datatype in self.query.items()}

    @functools.cached_property
    def typed_body(self) -> Body | None:
        """The body, whose type is resolved; None if the route takes none."""
        if self.body is None:
            return None
        body = self.body if isinstance(self.body, Body) else Body(self.body)
        return body._replace(datatype=_resolved(body.datatype))

    @functools.cached_property
    def _takes_grant(self) -> bool:
        return 'grant' in inspect.signature(self.method).parameters

    def respond(self, controller: Any, context: Context, path: tuple[str, ...]) -> Response:
        environ = context.request.environ
        arguments: dict[str, Any] = {}
        if not accepts_json(environ) and not self._is_stream(environ):
            raise failures.NotAcceptable
        try:
            result = self._attempt(controller, context, path, environ, arguments)
        except _NAME_FAILURES:
            if SUFFIXED not in environ:
                raise
            # Nothing has the name with the suffix, so the name without it may be meant.
            path = (*path[:-1], path[-1].rpartition('.')[0])
            result = self._attempt(controller, context, path, environ, arguments)
        return result if isinstance(result, Response) else Response(result, self.success[0])

    def _attempt(
        self,
        controller: Any,
        context: Context,
        path: tuple[str, ...],
        environ: WSGIEnvironment,
        arguments: dict[str, Any],
    ) -> Any:
        """Return the result of the method for these path parameters.

        :param arguments: the keyword arguments of the method; filled if it is empty, because a body can be read only
            once.
        """
        grant, checked_path = self._admit(context, path, environ)
        first = self._first(context, grant)
        with contextlib.ExitStack() as stack:
            stack.enter_context(preconditions.guard(context, path))
            if not arguments:
                arguments.update(self._arguments(context, environ, stack))
            return self.method(controller, *first, *checked_path, **arguments)

    def _admit(
        self, context: Context, path: tuple[str, ...], environ: WSGIEnvironment
    ) -> tuple[Grant | None, tuple[str, ...]]:
        """Raise unless policy and version allow the request; return the grant and the path parameters."""
        if self.within:
            self.within(context, path[0])
        grant = None
        if self.rules:
            grant = (context.limit_to if self.of else context.can)(*self.rules)
        is_early = not context.has(self.since) and not self._is_stream(environ)
        if self.of and path and grant and (self.policy_first or not is_early):
            grant = self.of(context, grant, path[0])
            path = (grant.ident, *path[1:])
        if is_early:
            raise self._too_early(environ)
        return grant, path

    def _is_stream(self, environ: WSGIEnvironment) -> bool:
        return self.streams and accepts_events(environ)

    def _too_early(self, environ: WSGIEnvironment) -> failures.Failure:
        """Return the failure for a version before that of the route."""
        what = f'{environ["REQUEST_METHOD"]} {environ[ROUTE]}'
        if self.before == 406:
            return failures.VersionTooLow(what=what, version=f'1.{self.since}')
        if self.before == 405:
            return failures.MethodNotAllowed(reason=f'{what} needs API version 1.{self.since}.')
        return failures.ResourceNotFound(hint=f' {what} needs API version 1.{self.since}.')

    def _first(self, context: Context, grant: Grant | None) -> tuple[Any, ...]:
        """Return the context, and the grant if the method takes it.

        :raises TypeError: the grant is limited to some nodes, and the method does not take it. Without this check, a
            route that forgets ``of`` would serve the nodes of every project.
        """
        if self._takes_grant:
            return context, grant
        if grant and grant.rules and grant.checked is None:
            name = self.method.__qualname__
            raise TypeError(f'{name}: the rule depends on the node. Set of=, or take the grant.')
        return (context,)

    def _arguments(self, context: Context, environ: WSGIEnvironment, stack: contextlib.ExitStack) -> dict[str, Any]:
        """Return the query parameters and the body as the keyword arguments of the method.

        :param stack: that of the request.
        """
        arguments = self._query(context) if environ.get('QUERY_STRING') else {}
        if body := self.typed_body:
            if body.check:
                body.check(context)
            raw = request_body.content(context, body.max_size and body.max_size(context.conf))
            stack.enter_context(request_body.turn(raw))
            arguments['body'] = request_body.converted(context, raw, body.datatype, body.optional)
        else:
            request_body.refuse(context)
        return arguments

    def _query(self, context: Context) -> dict[str, Any]:
        """Return the query parameters as keyword arguments.

        :raises failures.UnexpectedArguments: the route does not have one of them.
        :raises failures.VersionTooLow: the version of the request does not have one of them.
        """
        parameters = context.request.GET
        if unknown := set(parameters).difference(self.query_types):
            raise failures.UnexpectedArguments(unknown, self.query_types)
        arguments = {
            name: _argument(name, datatype, parameters.getall(name))
            for name, datatype in self.query_types.items()
            if name in parameters
        }
        for name, since in self.query_since.items():
            if name in arguments:
                context.needs(since, f"the argument '{name}'")
        return {name.replace('-', '_'): value for name, value in arguments.items()}


#: The decorator that makes a method a route of the Bare Metal API: ``routes.expose``.
expose = functools.partial(routes.expose, BareMetalRoute)


def accepts_json(environ: WSGIEnvironment) -> bool:
    """Whether the Accept header of a request allows a JSON response."""
    return _allows_json(environ.get('HTTP_ACCEPT'))


def accepts_events(environ: WSGIEnvironment) -> bool:
    """Whether the Accept header of a request prefers a stream of events to JSON."""
    return _prefers_events(environ.get('HTTP_ACCEPT', ''))


@functools.lru_cache(maxsize=256)
def _prefers_events(header: str) -> bool:
    if EVENTS not in header:
        return False
    offers = acceptparse.create_accept_header(header).acceptable_offers([rendering.CONTENT_TYPE, EVENTS])
    return bool(offers) and offers[0][0] == EVENTS


# Clients send few different headers. To parse one takes as long as a tenth of a short request.
@functools.lru_cache(maxsize=256)
def _allows_json(header: str | None) -> bool:
    # Ironic and Placement take an empty header for none.
    accept = acceptparse.create_accept_header(header or None)
    return not accept or bool(accept.acceptable_offers([rendering.CONTENT_TYPE]))


def _resolved(datatype: Any) -> Any:
    return wsme.types.registry.resolve_type(datatype)


def _argument(name: str, datatype: Any, values: Any) -> Any:
    if not wsme.types.isarray(datatype):
        if len(values) > 1:
            raise failures.InvalidInput(reason=f'Parameter {name} may be given only once')
        values = values[0]
    try:
        return wsme.types.validate_value(datatype, values)
    except (TypeError, ValueError) as error:
        raise failures.InvalidInput(reason=f'Invalid {name}: {error}') from error
    except wsme.exc.InvalidInput as error:
        raise failures.InvalidInput(reason=f'Invalid {name}: {error.msg}') from error
