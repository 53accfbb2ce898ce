"""Spans of requests, with the names of OpenTelemetry's conventions for HTTP."""

from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from ironic_traits import spans
from ironic_traits.api.exceptions import url_path
from ironic_traits.api.resource import CONTEXT, METHODS, READS, ROUTE

#: What monitoring asks for every few seconds.
_LEFT_OUT = ('/healthcheck', '/metrics')
_METHODS = READS | METHODS.keys()


class RequestSpans:
    """A WSGI layer that measures requests. The ``traceparent`` of a request names the span of its client."""

    def __init__(self, inside: WSGIApplication) -> None:
        self._inside = inside

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ['PATH_INFO'] in _LEFT_OUT:
            return self._inside(environ, start_response)
        status = 500

        def start(line: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], object]:
            nonlocal status
            status = int(line[:3])
            return start_response(line, headers, exc_info)

        with spans.span(environ['REQUEST_METHOD'], {}, _headers(environ)) as span:
            try:
                return self._inside(environ, start)
            finally:
                span.attributes |= _attributes(environ, status)
                span.name = _name(environ)
                span.error = str(status) if status >= 500 else ''


def _headers(environ: WSGIEnvironment) -> dict[str, str]:
    names = ('traceparent', 'tracestate')
    return {name: environ.get(f'HTTP_{name.upper()}', '') for name in names}


def _name(environ: WSGIEnvironment) -> str:
    method = environ['REQUEST_METHOD']
    return f'{method if method in _METHODS else "HTTP"} {environ.get(ROUTE, "")}'.strip()


def _attributes(environ: WSGIEnvironment, status: int) -> dict[str, str | int]:
    """Return the attributes of a request with a response. Its query is left out, which may have secrets."""
    method, context = environ['REQUEST_METHOD'], environ.get(CONTEXT)
    values: dict[str, str | int | None] = {
        'http.request.method': method if method in _METHODS else '_OTHER',
        'http.response.status_code': status,
        'http.route': environ.get(ROUTE),
        'url.path': url_path(environ),
        'url.scheme': environ['wsgi.url_scheme'],
        'openstack.request_id': context and context.request_id,
        'openstack.global_request_id': context and context.global_request_id,
    }
    return {name: value for name, value in values.items() if value is not None}
