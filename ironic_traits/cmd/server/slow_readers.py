"""The shutdown of connections whose clients do not read their responses, or read too slowly.

A response that granian has begun to send stays in memory until the client has read it. granian does not limit how long
that takes. Some hundred clients that stop reading could use up the memory of a machine. Therefore a thread checks the
connections of its process. It shuts down a connection if bytes wait to be sent, and the client has read less than RATE
for some time. Linux counts the bytes that a client has acknowledged. On other systems no connection is shut down.
"""

import contextlib
import logging
import socket
import struct
import threading
import time

from ironic_traits.cmd.server import connections

LOG = logging.getLogger(__name__)

#: Bytes per second that a client must read.
RATE = 16 * 1024
#: Number of checks in the time that a client may read slowly.
_LOOKS = 4
#: The beginning of struct tcp_info of linux/tcp.h, of which only tcpi_bytes_acked and tcpi_notsent_bytes are read.
_INFO = struct.Struct('=120xQ16xI')

#: A connection: its file descriptor, and the address of the client.
Key = tuple[int, object]


def watch(port: int, seconds: float) -> None:
    """Begin a thread that shuts down the connections of slow readers. Return at once.

    :param port: the port of the service.
    :param seconds: how long a client may read slowly; 0 for no limit.
    """
    if seconds and hasattr(socket, 'TCP_INFO'):
        threading.Thread(target=_run, args=(port, seconds), name='slow-readers', daemon=True).start()


def _run(port: int, seconds: float) -> None:
    slow: dict[Key, tuple[float, int]] = {}
    while True:
        late = sleep(seconds / _LOOKS)
        slow = look(port, seconds, {key: (since + late, then) for key, (since, then) in slow.items()})


def sleep(seconds: float) -> float:
    """Sleep, and return how many seconds longer it took. This process stood still then; no client was slow."""
    begun = time.monotonic()
    time.sleep(seconds)
    return time.monotonic() - begun - seconds


def look(port: int, seconds: float, before: dict[Key, tuple[float, int]]) -> dict[Key, tuple[float, int]]:
    """Shut down the connections of clients that have read too slowly.

    :param before: the result of the previous call.
    :returns: {connection with bytes that wait: (time when its measurement began, bytes acknowledged by then)}.
    """
    now, after = time.monotonic(), {}
    for connection in connections.process_sockets():
        with contextlib.suppress(OSError):
            if not is_of_client(connection, port):
                continue
            waiting, acknowledged = _progress(connection)
            if not waiting:
                continue
            key = (connection.fileno(), connection.getpeername())
            since, then = before.get(key, (now, acknowledged))
            if now - since < seconds:
                after[key] = (since, then)
            elif acknowledged - then >= RATE * (now - since):
                after[key] = (now, acknowledged)
            else:
                LOG.warning('A client at %s reads its response too slowly. Its connection is closed.', key[1])
                connection.shutdown(socket.SHUT_RDWR)
    return after


def is_of_client(connection: socket.socket, port: int) -> bool:
    """Whether a connection is one that a client has made to the service at a port."""
    return connection.getsockname()[1] == port and not connection.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)


def _progress(connection: socket.socket) -> tuple[int, int]:
    """Return how many bytes wait to be sent, because the client reads slowly, and how many it has acknowledged so far.

    Bytes in flight, such as the last event of a stream, do not count as waiting.
    """
    values = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
    acknowledged, waiting = _INFO.unpack(values)
    return waiting, acknowledged
