"""The decorator that makes a method a route of the Placement API.

Versions, Accept, policy, and what comes in are looked at here, by what the decorator is told: query and body by JSON
schemas, whose messages are part of the wire.
"""

import datetime

import pecan
import webob.datetime_utils

from ironic_traits.api import body as request_body
from ironic_traits.api import expose as common
from ironic_traits.api.placement import validation
from ironic_traits.failures import Failure
from ironic_traits.placement import failures

#: The minor version that brought Last-Modified and Cache-Control.
TIMES_SINCE = 15


class Answer(common.Answer):
    """What a method returns.

    :param body: a JSON document; None for no body.
    :param modified: when it was last modified; None when that is not shown.
    :param rest: status and location, as ``api.expose.Answer``.
    """

    def __init__(self, body=None, modified=None, **rest):
        super().__init__(body, **rest)
        self.modified = modified


def expose(rule, *, since=0, before=404, query=None, body=None, exists=None):
    """Make a method a route.

    The method gets the request's context, then the rest of the path, then ``query`` (the request's query arguments,
    which may be there several times) and ``body`` (the document) if the route takes them.

    :param rule: of policy, asked first; None for a method that asks by itself.
    :param since: the minor version that brought the route.
    :param before: the status at earlier versions.
    :param query: {minor version: schema of the query arguments from there on}; None to look at none.
    :param body: {minor version: schema of the body from there on, None for no body}.
    :param exists: function of the context and the path's first parameter that raises when there is no such thing: that
        is told rather than that the body is wrong.
    """
    queries, bodies = validation.validators(query or {}), validation.validators(body or {})

    def decorate(method):
        def answer(self, context, path):
            if context.minor < since:
                raise failures.MethodNotAllowed(reason='') if before == 405 else failures.NotFound(reason='')
            arguments = {}
            raw = _raw(context, bodies)
            if pecan.request.method == 'GET' and not common.accepts_json():
                raise failures.NotAcceptable
            if rule:
                context.can(rule)
            if queries:
                arguments['query'] = _query(validation.at(queries, context.minor))
            if bodies:
                try:
                    arguments['body'] = _document(raw, validation.at(bodies, context.minor))
                except Failure:
                    if exists:
                        exists(context, *path[:1])
                    raise
            return _timed(context, method(self, context, *path, **arguments))

        exposed = common.route(method, answer)
        exposed.rule = rule
        return exposed

    return decorate


def modified(rows):
    """Give when rows were last modified: the latest of them; now for none."""
    return max((row.updated_at or row.created_at for row in rows), default=now())


def now():
    """Give the time."""
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def _raw(context, bodies):
    """Give the bytes of the body, if the route takes one at this version.

    :raises failures.BadRequest: it has no type.
    :raises failures.UnsupportedMediaType: it is no JSON.
    """
    request = pecan.request
    length = request.environ.get('CONTENT_LENGTH') or '0'
    if not length.isdecimal():
        raise failures.BadRequest(reason='content-length header must be an integer')
    if int(length) and not request.headers.get('Content-Type'):
        raise failures.BadRequest(reason='content-type header required when content-length > 0')
    if not bodies or validation.at(bodies, context.minor) is None:
        return b''
    if request.content_type != 'application/json':
        raise failures.UnsupportedMediaType(media_type=request.content_type or None)
    return request_body.content(context)


def _query(validator):
    arguments = pecan.request.GET
    # Of what is there several times, the first and the last.
    given = list(arguments.items())
    for document in (dict(given), dict(reversed(given))):
        validation.check(validator, document, 'Invalid query string parameters')
    return arguments


def _document(raw, validator):
    if validator is None:
        return None
    document = request_body.parse(raw)
    validation.check(validator, document, 'JSON does not validate')
    return document


def _timed(context, answer):
    if answer.modified and context.minor >= TIMES_SINCE:
        answer.headers |= {
            'Last-Modified': webob.datetime_utils.serialize_date(answer.modified),
            'Cache-Control': 'no-cache',
        }
    return answer
