"""Waking the worker that ``ironic-traits-api`` started, when a request creates work for it.

Requests send to a datagram socket, from which the worker reads. This is only an optimization. Workers without the
socket, which run elsewhere or were started separately, poll for work every [deploy] poll_interval seconds.
"""

import contextlib
import logging
import os
import select
import socket

LOG = logging.getLogger(__name__)

#: Environment variable with the path of the socket; unset if no worker was started.
ADDRESS = 'IRONIC_TRAITS_WAKEUP_SOCKET'


class Sender:
    """The side of the requests, which wakes the worker.

    :param path: path of the worker's socket; None if there is no worker to wake.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._socket = _socket() if path else None

    def send(self) -> None:
        """Wake the worker. Errors are ignored: a worker that is not listening yet finds the work when it polls."""
        if self._socket and self._path:
            with contextlib.suppress(OSError):
                self._socket.sendto(b'.', self._path)

    def close(self) -> None:
        """Close the socket."""
        if self._socket:
            self._socket.close()


class Receiver:
    """The side of the worker, which waits to be woken.

    :param path: path at which the socket is created.
    :raises OSError: it cannot be created.
    """

    def __init__(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            # A worker that was killed leaves its socket behind.
            os.unlink(path)
        self._path = path
        self._socket = _socket()
        self._socket.bind(path)

    def wait(self, seconds: float) -> None:
        """Return after a number of seconds, or as soon as a request wakes the worker."""
        if select.select([self._socket], [], [], seconds)[0]:
            with contextlib.suppress(BlockingIOError):
                # Drain the socket: one poll for work serves all pending wakeups.
                while True:
                    self._socket.recv(1)

    def interrupt(self) -> None:
        """End a wait. Signal handlers may call this."""
        with contextlib.suppress(OSError):
            self._socket.sendto(b'.', self._path)


def receiver() -> Receiver | None:
    """Create the receiver of a worker that ``ironic-traits-api`` started.

    :returns: Receiver; None for other workers, or if the socket cannot be created.
    """
    path = os.environ.get(ADDRESS)
    try:
        return Receiver(path) if path else None
    except OSError as error:
        LOG.warning('Requests cannot wake this worker, which only polls for work: %s: %s', path, error)
        return None


def _socket() -> socket.socket:
    result = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    result.setblocking(False)
    return result
