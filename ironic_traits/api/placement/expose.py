"""The routes of the Placement API.

A route checks the version, the headers and policy before it reads the body. It validates the query and the body with
JSON schemas, because the messages of the schema validation are part of the API.
"""

import dataclasses
import datetime
import functools
from collections.abc import Callable, Iterable
from typing import Any

import sqlalchemy as sa
import webob.datetime_utils

from ironic_traits.api import body as request_body
from ironic_traits.api import preconditions, routes
from ironic_traits.api.expose import accepts_json
from ironic_traits.api.placement import validation
from ironic_traits.api.responses import Response
from ironic_traits.api.routes import Route
from ironic_traits.context import Context
from ironic_traits.failures import Failure
from ironic_traits.placement import failures

#: The minor version that brought Last-Modified and Cache-Control.
TIMES_SINCE = 15
#: The failures at a version before that of the route, by status.
_EARLY = {404: failures.NotFound, 405: failures.MethodNotAllowed}


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class PlacementRoute(Route):
    """A route of the Placement API.

    The method gets the context of the request, then the path parameters, then ``query`` (a multi-dict of the query
    parameters) and ``body`` (the document) if the route takes them. It returns a Response, or None for a response
    without a body.

    ``returns`` is {minor version: {status: schema of the body from that version on, None for no body}}; ``query`` is
    {minor version: schema of the query parameters from that version on}; ``body`` is {minor version: schema of the body
    from that version on, None for no body}.

    :ivar target: for a rule that depends on the query: function of the query that returns the target of the rule.
    :ivar exists: function of the context and the first path parameter that raises if the resource does not exist. It is
        called if the body is invalid, because a missing resource takes precedence.
    """

    returns: dict[int, dict[int, dict | None]] = dataclasses.field(default_factory=lambda: {0: {204: None}})
    target: Callable[[Any], dict[str, str]] | None = None
    exists: Callable[[Context, str], Any] | None = None

    @functools.cached_property
    def _queries(self) -> dict[int, Any]:
        return validation.validators(self.query)

    @functools.cached_property
    def _bodies(self) -> dict[int, Any]:
        return validation.validators(self.body or {})

    def respond(self, controller: Any, context: Context, path: tuple[str, ...]) -> Response:
        arguments = {}
        raw = self._admit(context)
        if self.query:
            arguments['query'] = _query(context.request.GET, validation.at(self._queries, context.minor))
        if self.target:
            context.can(*self.rules, target=self.target(arguments['query']))
        with request_body.turn(raw):
            if self.body:
                look_up = functools.partial(self.exists, context, *path[:1]) if self.exists else None
                arguments['body'] = _document(context, raw, validation.at(self._bodies, context.minor), look_up)
            result = self.method(controller, context, *path, **arguments)
            return _with_times(context, result or Response(status=204))

    def _admit(self, context: Context) -> bytes:
        """Raise unless version, headers and policy allow the request; return the bytes of its body."""
        preconditions.refuse(context)
        if context.minor < self.since:
            raise _EARLY[self.before](reason='')
        takes_body = bool(self.body) and validation.at(self._bodies, context.minor) is not None
        _check_headers(context.request, takes_body)
        if self.rules and not self.target:
            context.can(*self.rules)
        return request_body.content(context) if takes_body else b''


#: The decorator that makes a method a route of the Placement API: ``routes.expose``.
expose = functools.partial(routes.expose, PlacementRoute)


def modified(rows: Iterable[sa.Row]) -> datetime.datetime:
    """Return the time of the latest modification of any of the rows; the current time if there are none."""
    return latest(row.updated_at or row.created_at for row in rows)


def latest(moments: Iterable[datetime.datetime]) -> datetime.datetime:
    """Return the latest of some times; the current time if there are none."""
    return max(moments, default=None) or now()


def now() -> datetime.datetime:
    """Return the current time in UTC, without an offset."""
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def _check_headers(request: Any, takes_body: bool) -> None:
    """Raise unless the headers of a request fit the route.

    :param takes_body: whether the route takes a body at this version.
    :raises failures.BadRequest: it has no Content-Type, or the Content-Length is malformed.
    :raises failures.UnsupportedMediaType: its Content-Type is not JSON.
    :raises failures.NotAcceptable: the Accept header of a GET excludes JSON.
    """
    length = request.environ.get('CONTENT_LENGTH') or '0'
    if not length.isdecimal():
        raise failures.BadRequest(reason='content-length header must be an integer')
    if int(length) and not request.headers.get('Content-Type'):
        raise failures.BadRequest(reason='content-type header required when content-length > 0')
    if takes_body and request.content_type != 'application/json':
        raise failures.UnsupportedMediaType(media_type=request.content_type or None)
    if request.method == 'GET' and not accepts_json(request.environ):
        raise failures.NotAcceptable


def _query(arguments: Any, validator: Any) -> Any:
    validation.check_query(validator, arguments)
    return arguments


def _document(context: Context, raw: bytes, validator: Any, look_up: Callable[[], Any] | None) -> Any:
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


def _with_times(context: Context, response: Response) -> Response:
    if response.modified and context.minor >= TIMES_SINCE:
        response.headers |= {
            'Last-Modified': webob.datetime_utils.serialize_date(response.modified),
            'Cache-Control': 'no-cache',
        }
    return response
