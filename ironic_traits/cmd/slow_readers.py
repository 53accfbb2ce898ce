"""The end of connections whose clients do not read their responses, or read too slowly.

A response that granian has begun to send stays in memory until the client has read it, and granian does not limit how
long that takes. Some hundred clients that stop reading could use up the memory of a machine. So a thread looks at the
connections of its process, and shuts down those whose clients have read less than RATE for some time although there is
something to read. Linux counts the bytes that a client has acknowledged; on other systems nothing is shut down.
"""

import contextlib
import logging
import os
import socket
import stat
import struct
import threading
import time
from collections.abc import Iterator

LOG = logging.getLogger(__name__)

#: Bytes per second that a client must read.
RATE = 16 * 1024
#: Looks in the time that a client may read slowly.
_LOOKS = 4
#: The beginning of struct tcp_info of linux/tcp.h, of which only tcpi_bytes_acked and tcpi_notsent_bytes are read.
_INFO = struct.Struct('=120xQ16xI')

#: A connection: its file descriptor, and the address of the client.
_Key = tuple[int, object]


def watch(port: int, seconds: float) -> None:
    """Begin a thread that shuts down the connections of slow readers. Return at once.

    :param port: the port of the service.
    :param seconds: how long a client may read slowly; 0 for no limit.
    """
    if seconds and hasattr(socket, 'TCP_INFO'):
        threading.Thread(target=_run, args=(port, seconds), name='slow-readers', daemon=True).start()


def _run(port: int, seconds: float) -> None:
    slow: dict[_Key, tuple[float, int]] = {}
    while True:
        time.sleep(seconds / _LOOKS)
        slow = look(port, seconds, slow)


def look(port: int, seconds: float, before: dict[_Key, tuple[float, int]]) -> dict[_Key, tuple[float, int]]:
    """Shut down the connections of clients that have read too slowly.

    :param before: the result of the look before.
    :returns: {connection with something to read: (since when it is measured, what was acknowledged then)}.
    """
    now, after = time.monotonic(), {}
    for connection in _connections(port):
        with contextlib.suppress(OSError):
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


def _connections(port: int) -> Iterator[socket.socket]:
    """Generate the connections of clients.

    Nothing is closed or duplicated here. To close any descriptor of a SQLite file would drop the locks of this process.
    """
    with contextlib.suppress(OSError):
        for name in os.listdir('/proc/self/fd'):
            with contextlib.suppress(OSError):
                if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                    connection = socket.socket(fileno=int(name))
                    try:
                        if _is_of_client(connection, port):
                            yield connection
                    finally:
                        connection.detach()


def _is_of_client(connection: socket.socket, port: int) -> bool:
    return (
        connection.family in (socket.AF_INET, socket.AF_INET6)
        and connection.type == socket.SOCK_STREAM
        and connection.getsockname()[1] == port
        and not connection.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    )


def _progress(connection: socket.socket) -> tuple[int, int]:
    """Return how many bytes wait to be sent, because the client reads slowly, and how many it has acknowledged so far.

    What is on its way, as the last event of a stream may be, does not count as waiting.
    """
    values = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
    acknowledged, waiting = _INFO.unpack(values)
    return waiting, acknowledged
