"""Waking the worker of this machine when a request leaves work for it.

Requests and the worker that ``ironic-traits-api`` starts share a datagram socket.  Nothing depends on it: a worker that
hears nothing, because it runs elsewhere or was started by itself, looks for work every [deploy] poll_interval seconds.
"""

import contextlib
import logging
import os
import select
import socket

LOG = logging.getLogger(__name__)

#: Environment variable with the path of the socket; missing where no worker was started.
ADDRESS = 'IRONIC_TRAITS_WAKEUP_SOCKET'


class Sender:
    """Wakes a worker.

    :param path: of the worker's socket; None to wake nobody.
    """

    def __init__(self, path):
        self._path = path
        self._socket = _socket() if path else None

    def send(self):
        """Wake the worker, if it is there; a worker that does not read yet finds the work by itself."""
        if self._socket:
            with contextlib.suppress(OSError):
                self._socket.sendto(b'.', self._path)

    def close(self):
        """Close the socket."""
        if self._socket:
            self._socket.close()


class Receiver:
    """Waits to be woken.

    :param path: of the socket to make.
    :raises OSError: it cannot be made.
    """

    def __init__(self, path):
        with contextlib.suppress(FileNotFoundError):
            # Of a worker that was killed.
            os.unlink(path)
        self._path = path
        self._socket = _socket()
        self._socket.bind(path)

    def wait(self, seconds):
        """Return after some seconds, or as soon as somebody wakes the worker."""
        if select.select([self._socket], [], [], seconds)[0]:
            with contextlib.suppress(BlockingIOError):
                # One look for work does for all that were sent.
                while True:
                    self._socket.recv(1)

    def interrupt(self):
        """End a wait; may be called by a signal handler."""
        with contextlib.suppress(OSError):
            self._socket.sendto(b'.', self._path)


def receiver():
    """Make the receiver of a worker that ``ironic-traits-api`` started.

    :returns: Receiver; None where there is nobody to hear, or no socket can be made.
    """
    path = os.environ.get(ADDRESS)
    try:
        return Receiver(path) if path else None
    except OSError as error:
        LOG.warning('Requests cannot wake this worker, which looks for work by itself: %s: %s', path, error)
        return None


def _socket():
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.setblocking(False)
    return made
