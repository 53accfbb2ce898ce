"""The TCP connections of this process. granian does not provide those of its clients."""

import contextlib
import os
import socket
import stat
from collections.abc import Iterator

_TCP = {(family, socket.SOCK_STREAM) for family in (socket.AF_INET, socket.AF_INET6)}


def process_sockets() -> Iterator[socket.socket]:
    """Generate the TCP sockets of this process, on Linux. Each one can be used until the next one is requested.

    This function must not close or duplicate descriptors. Closing any descriptor of a SQLite file would drop the locks
    of this process.
    """
    with contextlib.suppress(OSError):
        for name in os.listdir('/proc/self/fd'):
            with contextlib.suppress(OSError):
                if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                    connection = socket.socket(fileno=int(name))
                    try:
                        if (connection.family, connection.type) in _TCP:
                            yield connection
                    finally:
                        connection.detach()
