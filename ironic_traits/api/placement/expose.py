"""The decorator that makes a method a route of the Placement API.

The decorator checks the version, the headers and policy before the body is read. It validates the query and the body
with JSON schemas, because the messages of the schema validation are part of the API.
"""

import datetime
import functools

import pecan
import webob.datetime_utils

from ironic_traits.api import body as request_body
from ironic_traits.api import expose as common
from ironic_traits.api import preconditions
from ironic_traits.api.expose import PUBLIC
from ironic_traits.api.placement import validation
from ironic_traits.failures import Failure
from ironic_traits.placement import failures

#: The minor version that brought Last-Modified and Cache-Control.
TIMES_SINCE = 15
#: ``returns`` of a route whose responses have no body.
NOTHING: dict[int, dict[int, dict | None]] = {0: {204: None}}
#: The failures at a version before that of the route, by status.
_EARLY = {404: failures.NotFound, 405: failures.MethodNotAllowed}


class Response(common.Response):
    """The response of a route.

    :param body: a JSON document, or its bytes; None for no body.
    :param modified: time for the Last-Modified header; None for no header.
    :param rest: further arguments of ``api.expose.Response``: status, location.
    """

    def __init__(self, body=None, modified=None, **rest):
        super().__init__(body, **rest)
        self.modified = modified


def expose(  # noqa: PLR0913, each keyword says one thing of the route
    rule, *, target=None, since=0, before=404, query=None, body=None, exists=None, returns=NOTHING
):
    """Make a method a route of the Placement API.

    The method gets the context of the request, then the path parameters, then ``query`` (a multi-dict of the query
    parameters) and ``body`` (the document) if the route takes them.

    :param rule: name of the policy rule that must allow the request; or PUBLIC.
    :param target: for a rule that depends on the query: function of the query that returns the target of the rule.
    :param since: the minor version that brought the route.
    :param before: the status at earlier versions.
    :param query: {minor version: schema of the query parameters from that version on}; None if the route has none.
    :param body: {minor version: schema of the body from that version on, None for no body}.
    :param exists: function of the context and the first path parameter that raises if the resource does not exist. It
        is called if the body is invalid, because a missing resource takes precedence.
    :param returns: {minor version: {status: schema of the body from that version on, None for no body}} of the
        successful responses. It is documentation, which the tests check.
    """
    rules = common.rule_names(rule)
    queries, bodies = validation.validators(query or {}), validation.validators(body or {})

    def decorate(method):
        def admit(context):
            """Raise unless version, headers and policy allow the request; return the bytes of its body."""
            preconditions.refuse(pecan.request.environ)
            if context.minor < since:
                raise _EARLY[before](reason='')
            takes_body = bool(bodies) and validation.at(bodies, context.minor) is not None
            _check_headers(takes_body)
            if rules and not target:
                context.can(*rules)
            return request_body.content(context) if takes_body else b''

        def respond(self, context, path):
            arguments = {}
            raw = admit(context)
            if queries:
                arguments['query'] = _query(validation.at(queries, context.minor))
            if target:
                context.can(*rules, target=target(arguments['query']))
            with request_body.turn(raw):
                if bodies:
                    look_up = functools.partial(exists, context, *path[:1]) if exists else None
                    arguments['body'] = _document(context, raw, validation.at(bodies, context.minor), look_up)
                return _with_times(context, method(self, context, *path, **arguments))

        exposed = common.route(method, respond)
        exposed.rules = rules
        exposed.is_public = rule == PUBLIC
        exposed.since = since
        exposed.queries, exposed.bodies, exposed.responses = query or {}, body or {}, returns
        return exposed

    return decorate


def modified(rows):
    """Return the time of the latest modification of any of the rows; the current time if there are none."""
    return latest(row.updated_at or row.created_at for row in rows)


def latest(moments):
    """Return the latest of some times; the current time if there are none."""
    return max(moments, default=None) or now()


def now():
    """Return the current time in UTC, without an offset."""
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def _check_headers(takes_body):
    """Raise unless the headers of a request fit the route.

    :param takes_body: whether the route takes a body at this version.
    :raises failures.BadRequest: it has no Content-Type, or the Content-Length is malformed.
    :raises failures.UnsupportedMediaType: its Content-Type is not JSON.
    :raises failures.NotAcceptable: the Accept header of a GET excludes JSON.
    """
    request = pecan.request
    length = request.environ.get('CONTENT_LENGTH') or '0'
    if not length.isdecimal():
        raise failures.BadRequest(reason='content-length header must be an integer')
    if int(length) and not request.headers.get('Content-Type'):
        raise failures.BadRequest(reason='content-type header required when content-length > 0')
    if takes_body and request.content_type != 'application/json':
        raise failures.UnsupportedMediaType(media_type=request.content_type or None)
    if request.method == 'GET' and not common.accepts_json():
        raise failures.NotAcceptable


def _query(validator):
    arguments = pecan.request.GET
    validation.check_query(validator, arguments)
    return arguments


def _document(context, raw, validator, look_up):
    """Return the document of a body; None if the validator is None.

    :param look_up: function that raises if the resource at the path does not exist; None for no such function.
    """
    if validator is None:
        return None
    try:
        document = request_body.parse(context, raw)
        validation.check(validator, document, 'JSON does not validate')
    except Failure:
        if look_up:
            look_up()
        raise
    return document


def _with_times(context, response):
    if response.modified and context.minor >= TIMES_SINCE:
        response.headers |= {
            'Last-Modified': webob.datetime_utils.serialize_date(response.modified),
            'Cache-Control': 'no-cache',
        }
    return response
