"""Admission: limits on how many requests of a process run at a time, and on how many wait.

granian calls the application in threads. Requests without a thread wait in a queue of granian. That queue has no limit,
and the application cannot see it. Therefore the process has a thread for each request that may run or wait, and some
spare ones. A request beyond the limits is marked, and ``api.layers.overload`` refuses it at once. /healthcheck and
/metrics do not wait.

Each waiting thread sleeps on a lock. It needs neither the interpreter nor a connection to the database.
"""

import collections
import threading
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from ironic_traits.api.layers.overload import REFUSED

#: Number of spare threads. They refuse requests beyond the limits, and answer health checks.
SPARE_THREADS = 8
_ALWAYS = frozenset({'/healthcheck', '/metrics'})


class Admission:
    """A WSGI layer that limits how many requests run and how many wait. Requests run in the order in which they came.

    :param inside: the wrapped WSGI application for requests that may run.
    :param refusing: the WSGI application for all others, with REFUSED in their environ.
    :param running: maximum number of requests that run at a time.
    :param waiting: maximum number of requests that wait at a time.
    """

    def __init__(self, inside: WSGIApplication, refusing: WSGIApplication, running: int, waiting: int) -> None:
        self._inside, self._refusing = inside, refusing
        self._free, self._max_waiting = running, waiting
        self._lock = threading.Lock()
        # The locks of the requests that wait, the first one first. A request waits until its lock is released.
        self._waiting: collections.deque[threading.Lock] = collections.deque()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ['PATH_INFO'] in _ALWAYS or not self._enter():
            environ[REFUSED] = True
            return self._refusing(environ, start_response)
        try:
            return self._inside(environ, start_response)
        finally:
            self._leave()

    def is_busy(self) -> bool:
        """Whether requests wait."""
        return bool(self._waiting)

    def _enter(self) -> bool:
        """Wait until the request may run, and return whether it may."""
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            if len(self._waiting) >= self._max_waiting:
                return False
            gate = threading.Lock()
            gate.acquire()
            self._waiting.append(gate)
        # No timeout is needed: requests that run have one, and ``api.layers.overload`` refuses requests that are
        # blocked.
        gate.acquire()
        return True

    def _leave(self) -> None:
        """Let the next request run, because one has ended."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._free += 1
