"""The end of connections whose clients send the body of a request too slowly.

A request reads its body in its thread, and granian does not limit how long that takes. A few clients that send a body
byte by byte could keep all threads for writes busy. Therefore a thread looks at the bodies that are being read, and
ends the connection of one that is overdue: the request then fails, because its body is not complete.

granian does not say which connection a request came from. So the thread chooses those that have the address of the
client, and whose request may have begun before the body: they have only received data since, or sent something at about
that time. Another request of the same client that has lasted as long may lose its connection, and so may a connection
that became idle a moment before. Linux has the times. On other systems, no connection is ended.
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
from ironic_traits.cmd.server.slow_readers import RATE, Key, is_of_client, sleep

LOG = logging.getLogger(__name__)

#: Number of checks in the time in which a small body must arrive.
_LOOKS = 4
#: From struct tcp_info of linux/tcp.h: tcpi_last_data_sent and tcpi_last_data_recv, milliseconds ago, and
#: tcpi_data_segs_in and tcpi_data_segs_out.
_INFO = struct.Struct('=44xI4xI96xII')
#: Maximum number of seconds between a request, or "100 Continue", and the beginning of its body.
_MOMENT = 1
#: Seconds by which the times of Linux may be wrong.
_TICK = 0.05


class Bodies:
    """A WSGI layer that limits how long the bodies of requests may take.

    :param seconds: how long a body may take, in addition to its size divided by RATE; 0 for no limit.
    """

    def __init__(self, inside: WSGIApplication, seconds: float) -> None:
        self._inside, self._seconds = inside, seconds
        self._reads: dict[_Body, list[float]] = {}

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
        beginnings: dict[Key, float] = {}
        last = time.monotonic()
        while True:
            late = sleep(self._seconds / _LOOKS)
            for times in list(self._reads.values()):
                times[1] += late
            now = time.monotonic()
            beginnings = self.look(port, beginnings, last)
            last = now

    def look(self, port: int, before: dict[Key, float], last: float) -> dict[Key, float]:
        """Stop receiving on the connections that overdue bodies may come from.

        :param before: the result of the previous call.
        :param last: time of the previous call.
        :returns: {connection that may be receiving a request: the earliest time at which that request may have begun}.
        """
        bodies, after = dict(self._reads), {}
        for connection in connections.process_sockets() if bodies else ():
            with contextlib.suppress(OSError):
                if not is_of_client(connection, port):
                    continue
                key = (connection.fileno(), connection.getpeername())
                own = {body: times for body, times in bodies.items() if body.address == key[1][0]}
                begun = _beginning(connection, before.get(key, last), own)
                if begun is None:
                    continue
                after[key], now = begun, time.monotonic()
                if any(end < now and begun < start + body.delay for body, (start, end) in own.items()):
                    LOG.warning('A client at %s sends its request too slowly. Its connection is closed.', key[1])
                    connection.shutdown(socket.SHUT_RD)
        return after


class _Body:
    """The body of a request, as ``wsgi.input``."""

    def __init__(self, environ: WSGIEnvironment, seconds: float, reads: 'dict[_Body, list[float]]') -> None:
        self._inner, self._seconds, self._reads = environ['wsgi.input'], seconds, reads
        self.address = environ.get('REMOTE_ADDR')
        #: Seconds after which something may be sent although the request has begun before.
        self.delay = _MOMENT if 'HTTP_EXPECT' in environ else _TICK

    def read(self, *size: int) -> bytes:
        """Return the bytes of the body, which are fewer than expected if the connection ends."""
        begun = time.monotonic()
        self._reads[self] = [begun, begun + self._seconds]
        try:
            return self._inner.read(*size)
        finally:
            del self._reads[self]


def _length(environ: WSGIEnvironment) -> int:
    text = environ.get('CONTENT_LENGTH') or '0'
    return int(text) if text.isdecimal() else 0


def _beginning(connection: socket.socket, earliest: float, bodies: dict[_Body, list[float]]) -> float | None:
    """Return the earliest time at which the request that a connection receives may have begun; None if it is idle.

    :param earliest: a time before which it has not begun.
    :param bodies: {body that is being read from its client: [time when that began, time when it is overdue]}.
    """
    values = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
    sent_ago, received_ago, number_received, number_sent = _INFO.unpack(values)
    sent = time.monotonic() - sent_ago / 1000
    # Linux counts in ticks: the first data may have the time of the connection itself.
    if received_ago < sent_ago or (number_received and not number_sent):
        return max(sent, earliest)
    if not number_received:
        return None
    # What was sent last may be an earlier response, a part of the handshake of TLS, or "100 Continue".
    near = (begun for body, (begun, _) in bodies.items() if begun - _MOMENT < sent < begun + body.delay)
    return min(near, default=None)
