"""Turns: the requests of a process run one after the other, in the order in which they came.

A turn ends when the request has ended, when it waits for the commit of its transaction, or after PATIENCE seconds. Then
the request continues concurrently with the others. doc/source/contributor/decisions/turns.rst says why.
"""

import collections
import threading
import time
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

#: Seconds after which the next request begins although the previous one has not ended.
PATIENCE = 0.02


class Turns:
    """A WSGI layer that lets requests run one after the other.

    :param inside: the wrapped WSGI application.
    """

    def __init__(self, inside: WSGIApplication) -> None:
        self._inside = inside
        self._lock = threading.Lock()
        # The locks of the requests that wait, the first one first. A request waits until its lock is released.
        self._waiting: collections.deque[threading.Lock] = collections.deque()
        # Identifies the request whose turn it is; None for no request.
        self._turn: threading.Lock | None = None
        self._began_at = 0.0
        self._number = 0
        self._local = threading.local()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        self._enter()
        try:
            return self._inside(environ, start_response)
        finally:
            self._leave()

    def is_busy(self) -> bool:
        """Whether a request is in flight."""
        return self._number > 0

    def give_up(self) -> None:
        """Let the next request begin, if it is the turn of this thread's request."""
        gate = getattr(self._local, 'gate', None)
        if gate is not None:
            with self._lock:
                self._end(gate)

    def _enter(self) -> None:
        """Wait for the turn of a new request."""
        gate = self._local.gate = threading.Lock()
        gate.acquire()
        with self._lock:
            self._number += 1
            if self._turn is None:
                self._begin(gate)
                return
            # The waiting requests must not all wake up at once.
            longest = PATIENCE * len(self._waiting)
            self._waiting.append(gate)
        while not gate.acquire(timeout=self._remaining() + longest):
            self._end_overdue()
            longest = 0

    def _leave(self) -> None:
        gate, self._local.gate = self._local.gate, None
        with self._lock:
            self._number -= 1
            self._end(gate)

    def _remaining(self) -> float:
        """Return the maximum number of seconds until the current turn ends."""
        return max(0.0, self._began_at + PATIENCE - time.monotonic())

    def _end_overdue(self) -> None:
        with self._lock:
            if self._turn is not None and not self._remaining():
                self._end(self._turn)

    def _begin(self, gate: threading.Lock) -> None:
        self._turn, self._began_at = gate, time.monotonic()

    def _end(self, gate: threading.Lock) -> None:
        """If it is the turn of a request, end the turn, and begin that of the next request."""
        if self._turn is not gate:
            return
        self._turn = None
        if self._waiting:
            following = self._waiting.popleft()
            self._begin(following)
            following.release()
