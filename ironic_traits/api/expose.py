"""The decorator that makes a method a route of the Bare Metal API.

The decorator names the policy rule of the route and the version that brought it. Both are checked before the body is
read, so that a client without permission cannot make the service wait for a body. The method gets typed arguments, and
its result or exception becomes the response. ``api.placement.expose`` has the decorator of the Placement API, which
uses the same ``route``.

WSME converts and validates the input: query parameters here, bodies in ``api.body``. WSME's own ``wsexpose`` is not
used: it puts the text of an unexpected exception into a 500, lets malformed bodies raise arbitrary exceptions, and does
not support query parameters with a dash in the name.
"""

import functools
import inspect
from typing import Any

import pecan
import wsme.exc
import wsme.types
from webob import acceptparse
from wsme.api import FunctionArgument, FunctionDefinition

from ironic_traits import failures
from ironic_traits.api import body as request_body
from ironic_traits.api import conditional, exceptions, preconditions, rendering
from ironic_traits.api.protocols import BARE_METAL
from ironic_traits.api.resource import CONTEXT, ROUTE, SUFFIXED
from ironic_traits.change_streams import Events

#: Failures that mean that nothing has the name at the end of the path.
_NAME_FAILURES = (failures.NodeNotFound, failures.RecordNotFound, failures.VifNotAttached)
#: Content type of a stream of events.
EVENTS = 'text/event-stream'
#: Proxies must not store or collect events: nginx collects unless it reads X-Accel-Buffering.
_EVENT_HEADERS = {'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no'}
#: In place of the policy rule of a route that every client may use.
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
    optional_body=False,
    max_body_size=None,
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
        (``v1.access``). The method gets the uuid or name in the grant in place of the parameter. A route without path
        parameters calls the function itself.
    :param within: function of the context and the first path parameter that raises unless the caller may see the node.
        It is called first, because everything below a node that the caller may not see is a 404.
    :param since: the minor version that brought the route.
    :param before: the status at earlier versions: 404, 405 or 406.
    :param query: {name: WSME type} of the query parameters.
    :param body: WSME type of the body.
    :param optional_body: whether the body may be missing; ``body`` is None then.
    :param max_body_size: function of the configuration that returns the largest body in bytes; None for the option
        that limits the bodies of most routes.
    :param streams: whether the route can return a stream of events (``change_streams.Events``), at any version.
    :param statuses: the statuses of successful responses; None for 200, or 204 if the route returns nothing. A 204 has
        no body, and neither has any response of a route that returns nothing.
    :param query_since: {query parameter: the minor version that brought it}, for those that are later than the route,
        and are neither filters nor in the table of a resource.
    :param or_returns: WSME type of the response to a query that asks for another form.
    """
    rules = rule_names(rule)

    def decorate(method):
        definition = _definition(method, returns, query or {}, body)
        takes_grant = 'grant' in inspect.signature(method).parameters
        limit = max_body_size or (lambda conf: conf.api.max_request_body_size)

        def is_stream():
            return streams and accepts_events()

        def admit(context, path):
            """Raise unless policy and version allow the request; return the first arguments of the method."""
            if within:
                within(context, path[0])
            grant = (context.limit_to if of else context.can)(*rules) if rules else None
            if context.minor < since and not is_stream():
                raise _too_early(before, since)
            if of and path:
                grant = of(context, grant, path[0])
                path = (grant.ident, *path[1:])
            return (*_first_arguments(method, takes_grant, context, grant), *path)

        def respond(self, context, path):
            if not accepts_json() and not is_stream():
                raise failures.NotAcceptable
            # Cached, because a body can be read only once.
            read = functools.partial(request_body.read, optional=optional_body, limit=limit(context.conf))
            arguments = functools.cache(lambda: _arguments(context, exposed, read if body is not None else None))

            def attempt(path):
                first = admit(context, path)
                with preconditions.guard(context, path):
                    return method(self, *first, **arguments())

            return _with_either_name(attempt, path)

        exposed = route(method, respond)
        exposed.respond = respond
        exposed.definition = definition
        exposed.rules = rules
        exposed.is_public = rule == PUBLIC
        exposed.since = since
        exposed.query_since = query_since or {}
        exposed.statuses = statuses or ((204,) if returns is None else (200,))
        exposed.has_optional_body = optional_body
        exposed.has_streams = streams
        exposed.return_types = [_resolved(each) for each in (returns, or_returns) if each is not None]
        return exposed

    return decorate


def _with_either_name(attempt, path):
    """Return the result of a function of the path parameters, which may end in a name with a suffix."""
    try:
        return attempt(path)
    except _NAME_FAILURES:
        if SUFFIXED not in pecan.request.environ:
            raise
        # Nothing has the name with the suffix, so the name without it may be meant.
        return attempt((*path[:-1], path[-1].rpartition('.')[0]))


def rule_names(rule):
    """Return the names of the policy rules in the first argument of ``expose``, a tuple."""
    if rule == PUBLIC:
        return ()
    return (rule,) if isinstance(rule, str) else tuple(rule)


def route(method, respond):
    """Return the function that pecan calls for a method. It turns results and exceptions into responses.

    :param method: its positional-only parameters after self, context and grant are the path parameters.
    :param respond: function of the controller, the context and the path parameters that returns a Response, or a body.
    """
    path_parameters = _path_parameters(method)

    @functools.wraps(method)
    def handler(self, *path):
        context = pecan.request.environ[CONTEXT]
        try:
            return _send(context, respond(self, context, path))
        except Exception as error:
            return exceptions.answer_to(pecan.request.environ, error)

    exposed: Any = handler
    # pecan inspects the signature to find out how many path parameters the method takes.
    exposed.__signature__ = inspect.Signature([_SELF, *path_parameters])
    pecan.expose(template='wsmejson:', content_type=rendering.CONTENT_TYPE)(exposed)
    pecan.util._cfg(exposed)['argspec'] = inspect.getfullargspec(exposed)
    required = sum(parameter.default is parameter.empty for parameter in path_parameters)
    exposed.path_names = [parameter.name for parameter in path_parameters]
    exposed.path_parameters = range(required, len(path_parameters) + 1)
    return exposed


def accepts_json():
    """Whether the Accept header of the request allows a JSON response."""
    return _allows_json(pecan.request.environ.get('HTTP_ACCEPT'))


def accepts_events():
    """Whether the Accept header of the request prefers a stream of events to JSON."""
    header = pecan.request.environ.get('HTTP_ACCEPT', '')
    return EVENTS in header and _preferred(header) == EVENTS


@functools.lru_cache(maxsize=256)
def _preferred(header):
    offers = acceptparse.create_accept_header(header).acceptable_offers([rendering.CONTENT_TYPE, EVENTS])
    return offers[0][0] if offers else None


# Clients send few different headers. To parse one takes as long as a tenth of a short request.
@functools.lru_cache(maxsize=256)
def _allows_json(header):
    accept = acceptparse.create_accept_header(header)
    return not accept or bool(accept.acceptable_offers([rendering.CONTENT_TYPE]))


_SELF = inspect.Parameter('self', inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _path_parameters(method):
    """Return the path parameters of a method: the positional-only ones after self, context and grant."""
    parameters = [p for p in inspect.signature(method).parameters.values() if p.kind is p.POSITIONAL_ONLY]
    return [p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in parameters if p.name not in ('self', 'context', 'grant')]


def _definition(method, returns, query, body):
    definition = FunctionDefinition(method)
    definition.return_type = returns
    definition.set_options(body=body, rest_content_types=('json',))
    definition.arguments = [FunctionArgument(name, datatype, False, None) for name, datatype in query.items()]
    definition.resolve_types(wsme.types.registry)
    return definition


def _resolved(datatype):
    return wsme.types.registry.resolve_type(wsme.types.registry.register(datatype))


def _first_arguments(method, takes_grant, context, grant):
    """Return the context, and the grant if a method takes it.

    :raises TypeError: the grant is limited to some nodes, and the method does not take it. Without this check, a route
        that forgets ``of`` would serve the nodes of every project.
    """
    if takes_grant:
        return context, grant
    if grant and grant.rules and grant.checked is None:
        raise TypeError(f'{method.__qualname__}: the rule depends on the node. Set of=, or take the grant.')
    return (context,)


def _too_early(status, since):
    """Return the failure for a route that a later version brought, with the HTTP status."""
    what = f'{pecan.request.method} {pecan.request.environ[ROUTE]}'
    if status == 406:
        return failures.VersionTooLow(what=what, version=f'1.{since}')
    if status == 405:
        return failures.MethodNotAllowed(reason=f'{what} needs API version 1.{since}.')
    return failures.ResourceNotFound(hint=f' {what} needs API version 1.{since}.')


def _arguments(context, exposed, read):
    """Return the query parameters and the body as the keyword arguments of a method.

    :param exposed: the route.
    :param read: function of the context and the WSME type of the body that returns the body; None for no body.
    """
    arguments = _query(exposed.definition)
    for name, since in exposed.query_since.items():
        if name.replace('-', '_') in arguments:
            context.needs(since, f"the argument '{name}'")
    if read:
        arguments['body'] = read(context, exposed.definition.body_type)
    else:
        request_body.refuse(context)
    return arguments


def _query(definition):
    arguments = {argument.name: argument.datatype for argument in definition.arguments}
    unknown = sorted(set(pecan.request.GET) - set(arguments))
    if unknown:
        raise failures.UnexpectedArguments(names=', '.join(unknown))
    return {
        name.replace('-', '_'): _argument(name, datatype)
        for name, datatype in arguments.items()
        if name in pecan.request.GET
    }


def _argument(name, datatype):
    values = pecan.request.GET.getall(name)
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


class _EventStream(pecan.Response):
    """The response with a stream of events."""

    def __init__(self, events):
        super().__init__(app_iter=events, content_type=EVENTS, charset=None, headerlist=None)
        self.headers.update(_EVENT_HEADERS)

    @property
    def body(self):
        """Not the body: pecan only looks whether it is empty, and to read it would take as long as the stream."""
        return b'events'


def _send(context, result):
    if not isinstance(result, Response):
        result = Response(result)
    response = pecan.response
    response.status = result.status
    if result.location:
        response.headers['Location'] = context.url(result.location)
    response.headers.update(result.headers)
    if result.body is None:
        # pecan sends a returned response as it is.
        response.body, response.content_type = b'', None
        return response
    if isinstance(result.body, Events):
        return _EventStream(result.body)
    if isinstance(result.body, bytes):
        response.body, response.content_type = result.body, rendering.CONTENT_TYPE
        return response
    if pecan.request.method == 'GET' and context.protocol is BARE_METAL:
        return conditional.respond(response, result.body)
    return {'result': result.body}
