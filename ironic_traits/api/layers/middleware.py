"""The middleware that handles every request first and every response last.

It assigns the request id, negotiates the API version and creates the context of the request. It adds the request id
and the version headers to each response, including those of the authentication and of the router.
"""

import functools
import logging
import re
import time
import urllib.parse
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_context import context as oslo_context
from webob import request as webob_request

from ironic_traits import failures
from ironic_traits.api import exceptions
from ironic_traits.api.layers import caching, request_log, worker_check
from ironic_traits.api.protocol import Protocol
from ironic_traits.api.resource import CONTEXT, REFUSED
from ironic_traits.api.v1 import protocol_selection
from ironic_traits.context import Context
from ironic_traits.db.drivers import timeouts
from ironic_traits.service import Service

LOG = logging.getLogger(__name__)

_REQUEST_ID = re.compile(r'req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


class Middleware:
    """The WSGI layer around authentication and the controllers."""

    def __init__(self, inside: WSGIApplication, service: Service) -> None:
        self._inside = inside
        self._service = service
        self._protocols = protocol_selection.selector(service.conf.api.serve)
        self._public_endpoint = service.conf.api.public_endpoint
        self._serve = service.conf.api.serve
        self._request_log = request_log.RequestLog(service.conf)
        self._worker_check = worker_check.WorkerCheck(service)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        started_at, statuses = time.monotonic(), ['500']

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], object]:
            statuses.append(status[:3])
            return start_response(status, headers, exc_info)

        try:
            with timeouts.request(self._service.conf.database.request_timeout):
                return self._respond(environ, start)
        finally:
            self._request_log.record(environ, statuses[-1], time.monotonic() - started_at)
            self._worker_check.look()

    def _respond(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request_id = oslo_context.generate_request_id()
        protocol = self._protocols(environ['PATH_INFO'])
        version, failure = (protocol.minimum, False), None
        try:
            version = protocol.version(environ)
        except failures.Failure as error:
            failure = error
        environ[CONTEXT] = self._context(environ, protocol, version, request_id)
        common_headers = [
            ('x-openstack-request-id', request_id),
            ('openstack-request-id', request_id),
            *protocol.headers(*version),
            *caching.headers(protocol, protocol.is_public(self._serve, environ['PATH_INFO'])),
        ]

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], object]:
            LOG.debug('%s %s: %s', environ['REQUEST_METHOD'], exceptions.url_path(environ), status)
            return start_response(status, caching.joined(headers, common_headers), exc_info)

        try:
            failure = failure or _url_failure(environ)
            if failure:
                return exceptions.answer(environ, failure)(environ, start)
            if environ['REQUEST_METHOD'] == 'OPTIONS' and protocol.takes_options:
                start('200 OK', [('Content-Length', '0')])
                return []
            if REFUSED in environ:
                return exceptions.answer(environ, failures.Overloaded())(environ, start)
            return self._inside(environ, start)
        except Exception as error:
            # Only a bug gets here: the layers below handle their own exceptions.
            return exceptions.answer_to(environ, error)(environ, start)

    def _context(
        self, environ: WSGIEnvironment, protocol: Protocol, version: tuple[int, bool], request_id: str
    ) -> Context:
        if 'HTTP_HOST' not in environ:
            # An HTTP/1.0 request may have no Host header. Its links get the name of this host.
            conf = self._service.conf
            host = f'[{conf.host}]' if ':' in conf.host else conf.host
            environ['HTTP_HOST'] = f'{host}:{conf.port}'
        base = self._public_endpoint or _url(
            environ['wsgi.url_scheme'], environ['HTTP_HOST'], environ.get('SCRIPT_NAME', '')
        )
        global_request_id = environ.get('HTTP_X_OPENSTACK_REQUEST_ID', '')
        return Context(
            self._service,
            protocol,
            version[0],
            has_additions=version[1],
            base=base.rstrip('/') + (protocol.prefix if self._serve != 'placement' else ''),
            request_id=request_id,
            global_request_id=global_request_id if _REQUEST_ID.fullmatch(global_request_id) else None,
        )


# Clients use few different addresses.
@functools.lru_cache(maxsize=256)
def _url(scheme: str, host: str, script_name: str) -> str:
    """Return the URL at which the application is mounted."""
    environ = {'wsgi.url_scheme': scheme, 'HTTP_HOST': host, 'SCRIPT_NAME': script_name}
    return webob_request.Request(environ).application_url


def _url_failure(environ: WSGIEnvironment) -> failures.Failure | None:
    """Return the failure of a URL that is not UTF-8 or contains a NUL character; None for any other URL."""
    path, query = environ.get('PATH_INFO', ''), environ.get('QUERY_STRING', '')
    if path.isascii() and not query and '\0' not in path:
        return None
    try:
        path = path.encode('latin-1').decode()
        query = urllib.parse.unquote_to_bytes(query.encode('latin-1')).decode()
    except UnicodeError:
        return failures.InvalidInput(reason='The URL is not UTF-8.')
    if '\0' in path + query:
        return failures.InvalidInput(reason='The URL contains a NUL character.')
    return None
