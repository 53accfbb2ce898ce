"""Bodies of requests that are refused before they are read.

A connection that ends while it has unread data is reset. The client, or a proxy, which then reports a 502, may lose the
response with it. So the rest of the body is read and dropped after the response was sent.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

#: Maximum number of bytes that are dropped: more than the default limits of all bodies. Of a body that is announced to
#: be larger, none are: slow_senders would wait for days for it.
_MOST = 16 * 1024 * 1024
_PART = 64 * 1024
#: Number of bodies that are dropped at a time, so that strangers who send slowly keep few threads busy.
_AT_A_TIME = 8


class Unread:
    """A WSGI layer that drops what is left of a body."""

    def __init__(self, inside: WSGIApplication) -> None:
        self._inside = inside
        self._places = threading.BoundedSemaphore(_AT_A_TIME)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        body, is_refused = environ['wsgi.input'], False

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], object]:
            nonlocal is_refused
            is_refused = status >= '400'
            return start_response(status, headers, exc_info)

        response = self._inside(environ, start)
        # A client with "Expect" has not sent its body yet.
        if is_refused and _may_be_dropped(environ) and 'HTTP_EXPECT' not in environ:
            return self._then_drop(response, body)
        return response

    def _then_drop(self, response: Iterable[bytes], body: Any) -> Iterator[bytes]:
        yield from response
        if self._places.acquire(blocking=False):
            try:
                _drop(body)
            finally:
                self._places.release()


def _may_be_dropped(environ: WSGIEnvironment) -> bool:
    return 0 < int(environ.get('CONTENT_LENGTH') or 0) <= _MOST or 'HTTP_TRANSFER_ENCODING' in environ


def _drop(body: Any) -> None:
    size = 0
    while size < _MOST and (part := body.read(_PART)):
        size += len(part)
