"""The decorator that makes a method a route of the Bare Metal API.

The decorator names the policy rule of the route and the version that brought it. Both are checked before the body is
read, so that a client without permission cannot make the service wait for a body. The method gets typed arguments, and
its result or exception becomes the response. ``api.placement.expose`` has the decorator of the Placement API, which
uses the same ``route``.

WSME converts and validates the input: query parameters here, bodies in ``api.body``.
doc/source/contributor/decisions/expose.rst says why WSME's own ``wsexpose`` is not used.
"""

import contextlib
import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import pecan
import wsme.exc
import wsme.types
from webob import acceptparse
from wsme.api import FunctionArgument, FunctionDefinition

from ironic_traits import failures
from ironic_traits.api import body as request_body
from ironic_traits.api import exceptions, preconditions, rendering, responses
from ironic_traits.api.resource import CONTEXT, ROUTE, SUFFIXED
from ironic_traits.api.responses import EVENTS

#: Failures that mean that nothing has the name at the end of the path.
_NAME_FAILURES = (failures.NodeNotFound, failures.RecordNotFound, failures.VifNotAttached)
#: Used instead of a policy rule for a route that every client may use.
PUBLIC = 'public'


class Response:
    """The response of a route that is not just a body with status 200.

    :param body: a JSON document; its bytes, of the Placement API only; None for no body.
    :param status: the HTTP status.
    :param location: path for the Location header, below the host.
    :param headers: further headers, {name: value}.
    """

    def __init__(self, body=None, status=200, location=None, headers=None):
        self.body = body
        self.status = status
        self.location = location
        self.headers = headers or {}


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
    max_size: Callable[[Any], int] | None = None
    check: Callable[[Any], None] | None = None


def expose(  # noqa: PLR0913, each keyword says one thing of the route
    rule,
    returns=None,
    *,
    of=None,
    within=None,
    since=1,
    before=404,
    query=None,
    body=None,
    streams=False,
    statuses=None,
    query_since=None,
    or_returns=None,
):
    """Make a method a route of the Bare Metal API.

    The method gets the context of the request, then the grant of policy (``context.Grant``) if it has a parameter
    ``grant``, then the path parameters, then the query parameters in the request as keyword arguments (with underscores
    for dashes), then ``body`` if the route takes one.

    :param rule: name of the policy rule that must allow the request; a tuple of rules of which one must; or PUBLIC.
    :param returns: WSME type of the response. It is documentation, which the tests check, and so are the statuses.
    :param of: for a rule that depends on the one node, record or reservation at the path: function of the context, the
        grant and the first path parameter that returns the grant for it, or raises if policy does not allow the request
        (``v1.access``). The method gets the uuid or name in the grant instead of the parameter. A route without path
        parameters calls the function itself.
    :param within: function of the context and the first path parameter that raises unless the caller may see the node.
        It is called first, because everything below a node that the caller may not see gets the response 404.
    :param since: the minor version that brought the route.
    :param before: the status at earlier versions: 404, 405 or 406.
    :param query: {name: WSME type} of the query parameters.
    :param body: WSME type of the body; or a Body.
    :param streams: whether the route can return a stream of events (``change_streams.Events``), at any version.
    :param statuses: the statuses of successful responses; None for 200, or 204 if the route returns nothing. A 204 has
        no body, and neither has any response of a route that returns nothing.
    :param query_since: {query parameter: the minor version that brought it}, for those that are later than the route,
        and are neither filters nor in the table of a resource.
    :param or_returns: WSME type of the response to a query that asks for another form.
    """
    checks = _Checks(rule_names(rule), of, within, since, before, streams)
    body = body if isinstance(body, Body | None) else Body(body)

    def decorate(method):
        definition = _definition(method, returns, query or {}, body and body.datatype)
        steps = _Steps(method, definition, checks, body, query_since or {})
        exposed = route(method, steps.respond)
        exposed.respond = steps.respond
        exposed.definition = definition
        exposed.rules = checks.rules
        exposed.is_public = rule == PUBLIC
        exposed.since, exposed.before = since, before
        exposed.query_since = query_since or {}
        exposed.statuses = statuses or ((204,) if returns is None else (200,))
        exposed.has_optional_body = bool(body and body.optional)
        exposed.has_streams = streams
        exposed.return_types = [_resolved(each) for each in (returns, or_returns) if each is not None]
        return exposed

    return decorate


@dataclasses.dataclass(frozen=True)
class _Checks:
    """What a route checks before it reads its arguments; as in ``expose``."""

    rules: tuple[str, ...]
    of: Callable | None
    within: Callable | None
    since: int
    before: int
    streams: bool

    def check_type(self, environ):
        """Raise NotAcceptable unless the client takes what the route returns."""
        if not _allows_json(environ.get('HTTP_ACCEPT')) and not self._is_stream(environ):
            raise failures.NotAcceptable

    def admit(self, context, path, environ):
        """Raise unless policy and version allow the request.

        :returns: (grant or None, path parameters).
        """
        if self.within:
            self.within(context, path[0])
        grant = None
        if self.rules:
            grant = (context.limit_to if self.of else context.can)(*self.rules)
        if context.minor < self.since and not self._is_stream(environ):
            raise _too_early(self.before, self.since)
        if self.of and path:
            grant = self.of(context, grant, path[0])
            path = (grant.ident, *path[1:])
        return grant, path

    def _is_stream(self, environ):
        return self.streams and _prefers_events(environ.get('HTTP_ACCEPT', ''))


class _Steps:
    """The steps of a request: the checks of its route, its arguments, and the method.

    :param method: the method that is a route.
    :param definition: of WSME: the types of the query parameters and of the body.
    :param checks: _Checks.
    :param body: Body; None if the route takes none.
    :param query_since: {query parameter: the minor version that brought it}.
    """

    def __init__(self, method, definition, checks, body, query_since):
        self._method, self._definition, self._checks, self._body = method, definition, checks, body
        self._query_since = query_since
        self._takes_grant = 'grant' in inspect.signature(method).parameters

    def respond(self, controller, context, path):
        """Return the result of the method.

        :param path: the path parameters.
        """
        environ = pecan.request.environ
        arguments: dict[str, Any] = {}
        self._checks.check_type(environ)
        try:
            return self._attempt(controller, context, path, environ, arguments)
        except _NAME_FAILURES:
            if SUFFIXED not in environ:
                raise
            # Nothing has the name with the suffix, so the name without it may be meant.
            path = (*path[:-1], path[-1].rpartition('.')[0])
            return self._attempt(controller, context, path, environ, arguments)

    def _attempt(self, controller, context, path, environ, arguments):
        """Return the result of the method for these path parameters.

        :param arguments: the keyword arguments of the method, a dict; filled if it is empty, because a body can be read
            only once.
        """
        grant, checked_path = self._checks.admit(context, path, environ)
        first = self._first(context, grant)
        with contextlib.ExitStack() as stack:
            stack.enter_context(preconditions.guard(context, path, environ))
            if not arguments:
                arguments.update(self._arguments(context, environ, stack))
            return self._method(controller, *first, *checked_path, **arguments)

    def _first(self, context, grant):
        """Return the context, and the grant if the method takes it.

        :raises TypeError: the grant is limited to some nodes, and the method does not take it. Without this check, a
            route that forgets ``of`` would serve the nodes of every project.
        """
        if self._takes_grant:
            return context, grant
        if grant and grant.rules and grant.checked is None:
            name = self._method.__qualname__
            raise TypeError(f'{name}: the rule depends on the node. Set of=, or take the grant.')
        return (context,)

    def _arguments(self, context, environ, stack):
        """Return the query parameters and the body as the keyword arguments of the method.

        :param stack: contextlib.ExitStack of the request.
        """
        arguments = _query(self._definition) if environ.get('QUERY_STRING') else {}
        if arguments:
            self._check_versions(context, arguments)
        if self._body:
            if self._body.check:
                self._body.check(context)
            raw = request_body.content(context, self._body.max_size and self._body.max_size(context.conf))
            stack.enter_context(request_body.turn(raw))
            arguments['body'] = request_body.converted(context, raw, self._definition.body_type, self._body.optional)
        else:
            request_body.refuse(context)
        return arguments

    def _check_versions(self, context, arguments):
        """Raise VersionTooLow unless the version of the request has all of its query parameters."""
        for name, since in self._query_since.items():
            if name.replace('-', '_') in arguments:
                context.needs(since, f"the argument '{name}'")


def rule_names(rule):
    """Return the names of the policy rules in the first argument of ``expose``, a tuple."""
    if rule == PUBLIC:
        return ()
    return (rule,) if isinstance(rule, str) else tuple(rule)


def route(method, respond):
    """Return the function that the application calls for a method. It turns results and exceptions into responses.

    :param method: its positional-only parameters after self, context and grant are the path parameters.
    :param respond: function of the controller, the context and the path parameters that returns a Response, or a body.
    """
    path_parameters = _path_parameters(method)

    @functools.wraps(method)
    def handler(self, *path):
        environ = pecan.request.environ
        context = environ[CONTEXT]
        try:
            result = respond(self, context, path)
            return responses.render(context, environ, result if isinstance(result, Response) else Response(result))
        except Exception as error:
            return exceptions.answer_to(environ, error)

    exposed: Any = handler
    required = sum(parameter.default is parameter.empty for parameter in path_parameters)
    exposed.path_names = [parameter.name for parameter in path_parameters]
    exposed.path_parameters = range(required, len(path_parameters) + 1)
    return exposed


def accepts_json():
    """Whether the Accept header of the request allows a JSON response."""
    return _allows_json(pecan.request.environ.get('HTTP_ACCEPT'))


def accepts_events():
    """Whether the Accept header of the request prefers a stream of events to JSON."""
    return _prefers_events(pecan.request.environ.get('HTTP_ACCEPT', ''))


@functools.lru_cache(maxsize=256)
def _prefers_events(header):
    if EVENTS not in header:
        return False
    offers = acceptparse.create_accept_header(header).acceptable_offers([rendering.CONTENT_TYPE, EVENTS])
    return bool(offers) and offers[0][0] == EVENTS


# Clients send few different headers. To parse one takes as long as a tenth of a short request.
@functools.lru_cache(maxsize=256)
def _allows_json(header):
    accept = acceptparse.create_accept_header(header)
    return not accept or bool(accept.acceptable_offers([rendering.CONTENT_TYPE]))


def _path_parameters(method):
    """Return the path parameters of a method: the positional-only ones after self, context and grant."""
    parameters = [p for p in inspect.signature(method).parameters.values() if p.kind is p.POSITIONAL_ONLY]
    return [p for p in parameters if p.name not in ('self', 'context', 'grant')]


def _definition(method, returns, query, body):
    definition = FunctionDefinition(method)
    definition.return_type = returns
    definition.set_options(body=body, rest_content_types=('json',))
    definition.arguments = [FunctionArgument(name, datatype, False, None) for name, datatype in query.items()]
    definition.resolve_types(wsme.types.registry)
    return definition


def _resolved(datatype):
    return wsme.types.registry.resolve_type(wsme.types.registry.register(datatype))


def _too_early(status, since):
    """Return the failure for a route that a later version brought, with the HTTP status."""
    what = f'{pecan.request.method} {pecan.request.environ[ROUTE]}'
    if status == 406:
        return failures.VersionTooLow(what=what, version=f'1.{since}')
    if status == 405:
        return failures.MethodNotAllowed(reason=f'{what} needs API version 1.{since}.')
    return failures.ResourceNotFound(hint=f' {what} needs API version 1.{since}.')


def _query(definition):
    """Return the query parameters as keyword arguments."""
    parameters = pecan.request.GET
    datatypes = {argument.name: argument.datatype for argument in definition.arguments}
    if unknown := set(parameters).difference(datatypes):
        raise failures.UnexpectedArguments(unknown, datatypes)
    return {
        name.replace('-', '_'): _argument(name, datatype, parameters.getall(name))
        for name, datatype in datatypes.items()
        if name in parameters
    }


def _argument(name, datatype, values):
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
