"""The end of connections whose clients send the body of a request too slowly.

A request reads its body in its thread, and granian does not limit how long that takes. A few clients that send a body
byte by byte could keep all threads for writes busy. Therefore a thread looks at the bodies that are being read, and
ends the connection of one that is overdue: the request then fails, because its body is not complete.

granian does not say which connection a request came from. So the thread chooses those that have the address of the
client, and that have only received data since the request began. Another request of the same client that has lasted as
long may lose its connection, too. Linux has the times. On other systems, no connection is ended.
"""

import contextlib
import logging
import socket
import struct
import threading
import time
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from ironic_traits.cmd.server import connections
from ironic_traits.cmd.server.slow_readers import RATE, Key, is_of_client

LOG = logging.getLogger(__name__)

#: Number of checks in the time in which a small body must arrive.
_LOOKS = 4
#: The beginning of struct tcp_info of linux/tcp.h: tcpi_last_data_sent and tcpi_last_data_recv, milliseconds ago.
_INFO = struct.Struct('=44xI4xI')
#: Maximum number of seconds from the beginning of a request until "100 Continue" is sent.
_MOMENT = 0.25


class Bodies:
    """A WSGI layer that limits how long the bodies of requests may take.

    :param seconds: how long a body may take, in addition to its size divided by RATE; 0 for no limit.
    """

    def __init__(self, inside: WSGIApplication, seconds: float) -> None:
        self._inside, self._seconds = inside, seconds
        self._reads: dict[_Body, tuple[float, float]] = {}

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if self._seconds:
            environ['wsgi.input'] = _Body(environ, self._seconds + _length(environ) / RATE, self._reads)
        return self._inside(environ, start_response)

    def watch(self, port: int) -> None:
        """Begin the thread that ends connections. Return at once.

        :param port: the port of the service.
        """
        if self._seconds and hasattr(socket, 'TCP_INFO'):
            threading.Thread(target=self._run, args=(port,), name='slow-senders', daemon=True).start()

    def _run(self, port: int) -> None:
        receiving: dict[Key, float] = {}
        while True:
            time.sleep(self._seconds / _LOOKS)
            receiving = self._look(port, receiving)

    def _look(self, port: int, before: dict[Key, float]) -> dict[Key, float]:
        """Stop receiving on the connections that overdue bodies may come from.

        :param before: the result of the previous call.
        :returns: {connection that has received data, and sent none since: time when that was seen first}.
        """
        bodies, now, after = dict(self._reads), time.monotonic(), {}
        overdue = [(body, begun) for body, (begun, end) in bodies.items() if end < now]
        for connection in connections.process_sockets() if bodies else ():
            with contextlib.suppress(OSError):
                if not is_of_client(connection, port):
                    continue
                key = (connection.fileno(), connection.getpeername())
                sent, received = _times(connection, now)
                if sent < received:
                    since = before.get(key, now)
                    after[key] = since if sent < since else now
                own = [(body, begun) for body, begun in overdue if body.address == key[1][0]]
                if any(self._may_send(body, begun, after.get(key), sent) for body, begun in own):
                    LOG.warning('A client at %s sends its request too slowly. Its connection is closed.', key[1])
                    connection.shutdown(socket.SHUT_RD)
        return after

    def _may_send(self, body: '_Body', begun: float, since: float | None, sent: float) -> bool:
        """Whether a body that is being read may come from a connection.

        :param begun: time when the reading began.
        :param since: time since when the connection only receives; None if it has sent something last.
        :param sent: time when it has sent something.
        """
        if since is not None and since - begun < 2 * self._seconds / _LOOKS:
            return True
        return body.is_awaited and abs(sent - begun) < _MOMENT


class _Body:
    """The body of a request, as ``wsgi.input``."""

    def __init__(self, environ: WSGIEnvironment, seconds: float, reads: 'dict[_Body, tuple[float, float]]') -> None:
        self._inner, self._seconds, self._reads = environ['wsgi.input'], seconds, reads
        self.address = environ.get('REMOTE_ADDR')
        self.is_awaited = 'HTTP_EXPECT' in environ

    def read(self, *size: int) -> bytes:
        """Return the bytes of the body, which are fewer than expected if the connection ends."""
        begun = time.monotonic()
        self._reads[self] = begun, begun + self._seconds
        try:
            return self._inner.read(*size)
        finally:
            del self._reads[self]


def _length(environ: WSGIEnvironment) -> int:
    text = environ.get('CONTENT_LENGTH') or '0'
    return int(text) if text.isdecimal() else 0


def _times(connection: socket.socket, now: float) -> tuple[float, float]:
    """Return the times at which a connection has last sent and received data."""
    values = _INFO.unpack(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size))
    sent, received = (now - value / 1000 for value in values)
    return sent, received
