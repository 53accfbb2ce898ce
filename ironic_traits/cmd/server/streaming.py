"""Streams and large documents behind granian, without the threads that serve requests.

granian iterates the body of a response in the thread that has called the application. A stream would keep that thread
for an hour, and a large document (``api.chunks``) until its client has read it. But granian's object for the response
can be used from any thread, also later. So each stream gets its own thread with a small stack, which sleeps until there
is something to send. The thread of the request serves the next request.

granian passes this object only to a function in granian, which calls the application. ``provide`` replaces that
function. If a release of granian has no such function, streams run in the threads of requests, as behind other WSGI
servers, and fewer streams are allowed (``api.v1.change_events``).
"""

import contextlib
import functools
import logging
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import granian.server.mp

from ironic_traits.api.chunks import Chunks
from ironic_traits.api.resource import DETACHED
from ironic_traits.changes.change_streams import Events
from ironic_traits.cmd.server import connections

LOG = logging.getLogger(__name__)

#: Key in the WSGI environ of granian's object for the response.
_PROTOCOL = 'ironic_traits.protocol'
_WRAPPER = '_wsgi_call_wrap'
#: Headers of a response.
Headers = list[tuple[str, str]]
#: Size of the stack of a stream's thread, in bytes. Reading the feed takes less than half of it.
_STACK = 512 * 1024
#: Maximum number of seconds to wait until the thread of a stream has begun.
_START = 10
#: Milliseconds after which the kernel closes the connection of a client that does not receive.
_STALLED = 60_000


def provide() -> None:
    """Make granian provide its object for the response in the environ."""
    wrapper = getattr(granian.server.mp, _WRAPPER, None)
    if wrapper is None:
        LOG.warning('This release of granian is not supported: each stream of changes occupies a thread for requests.')
        return

    @functools.wraps(wrapper)
    def wrap(callback: Callable[..., Any], *arguments: Any) -> Callable[[Any, dict[str, Any]], Any]:
        call = wrapper(callback, *arguments)

        def called(protocol: Any, scope: dict[str, Any]) -> Any:
            scope[_PROTOCOL] = protocol
            return call(protocol, scope)

        return called

    setattr(granian.server.mp, _WRAPPER, wrap)


class Detached:
    """A WSGI layer that sends each stream, and each large document, in its own thread."""

    def __init__(self, inside: WSGIApplication) -> None:
        self._inside = inside

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        protocol = environ.pop(_PROTOCOL, None)
        if protocol is None or not hasattr(protocol, 'response_iter'):
            return self._inside(environ, start_response)
        environ[DETACHED] = True
        started: dict[str, Any] = {}

        def start(status: str, headers: Headers, exc_info: Any = None) -> Callable[[bytes], object]:
            started.update(status=int(status[:3]), headers=headers)
            return start_response(status, headers, exc_info)

        result = self._inside(environ, start)
        if isinstance(result, (Events, Chunks)):
            if isinstance(result, Events):
                # Large documents that are not read are handled by cmd.slow_readers, as all responses are.
                _limit_stalls(environ)
            _detach(protocol, started['status'], started['headers'], result)
            # granian ignores this body, because the response has begun.
            return []
        return result


def _detach(protocol: Any, status: int, headers: Headers, parts: Events | Chunks) -> None:
    """Send a body in its own thread."""
    body = _Body(parts)
    try:
        _start_thread(functools.partial(_send, protocol, status, headers, body))
    except RuntimeError:
        parts.close()
        raise
    body.has_begun.wait(_START)


class _Body:
    """The body of a response for granian: it calls ``__next__`` and ``close``."""

    def __init__(self, parts: Events | Chunks) -> None:
        self._parts = parts
        self.has_begun = threading.Event()

    def __next__(self) -> bytes:
        self.has_begun.set()
        return next(self._parts)

    def close(self) -> None:
        """End the body."""
        self._parts.close()


def _send(protocol: Any, status: int, headers: Headers, body: _Body) -> None:
    try:
        protocol.response_iter(status, headers, body)
    finally:
        body.close()


def _start_thread(function: Callable[[], object]) -> None:
    size = threading.stack_size(_STACK)
    try:
        threading.Thread(target=function, name='stream', daemon=True).start()
    finally:
        threading.stack_size(size)


def _limit_stalls(environ: WSGIEnvironment) -> None:
    """Let the kernel close the connection of a request if its client does not receive.

    granian does not say which connection the request came from. So all connections from the same address get the limit.
    """
    option = getattr(socket, 'TCP_USER_TIMEOUT', None)
    if option is None:
        return
    for connection in connections.process_sockets():
        with contextlib.suppress(OSError):
            if connection.getpeername()[0] == environ['REMOTE_ADDR']:
                connection.setsockopt(socket.IPPROTO_TCP, option, _STALLED)
