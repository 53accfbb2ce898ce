"""Protection against blocked requests that occupy all threads of a process.

A process has few threads ([api] threads). A request may block its thread: on the lock of a node, on a body that the
client does not send, on a database that does not respond. Two limits keep some threads free: one on the number of
writes, one on the number of all requests. /healthcheck is exempt.

Requests that wait for a thread are limited by ``cmd.admission``, which marks those that are too many. They are refused
here, where the response gets its headers and is counted.
"""

import threading
import time

from ironic_traits import failures
from ironic_traits.api import exceptions
from ironic_traits.api.resource import READS, STREAM

#: Seconds that a request waits for its turn while other requests begin or end.
PATIENCE = 1
#: Key in the WSGI environ of a request that must be refused, because too many wait already.
REFUSED = 'ironic_traits.refused'


class Gate:
    """A limit on the number of concurrent requests.

    :param capacity: the maximum number of requests.
    """

    def __init__(self, capacity):
        self._free = threading.Semaphore(capacity)
        self._moved_at = 0.0

    def enter(self):
        """Return whether the request may proceed. If so, the caller calls ``leave`` when the request ends.

        While other requests begin and end, this waits up to PATIENCE seconds for a free place. If none has begun or
        ended for that long, all of them are blocked, and waiting would not help.
        """
        is_moving = time.monotonic() - self._moved_at < PATIENCE
        if not self._free.acquire(blocking=is_moving, timeout=PATIENCE if is_moving else None):
            return False
        self._moved_at = time.monotonic()
        return True

    def leave(self):
        """Free the place of a request that has ended."""
        self._moved_at = time.monotonic()
        self._free.release()


class Overload:
    """A WSGI layer that refuses requests when nearly all threads are blocked.

    :param inside: the wrapped WSGI application.
    :param threads: the number of threads of this process.
    """

    def __init__(self, inside, threads):
        self._inside = inside
        self._all = Gate(threads - min(2, threads // 3))
        self._writes = Gate(max(1, threads // 2))

    def __call__(self, environ, start_response):
        if REFUSED in environ:
            return _refuse(environ, start_response)
        # A write that waits at the gate of writes does not take the place of a read.
        gates = [self._all] if environ['REQUEST_METHOD'] in READS else [self._writes, self._all]
        entered = []
        try:
            for gate in gates:
                if not gate.enter():
                    return _refuse(environ, start_response)
                entered.append(gate)
            return self._inside(environ, start_response)
        finally:
            # A stream that needs the thread of the request leaves when it ends.
            ends = environ[STREAM].ends if STREAM in environ else None
            for gate in entered:
                gate.leave() if ends is None else ends.append(gate.leave)


def _refuse(environ, start_response):
    return exceptions.answer(environ, failures.Overloaded())(environ, start_response)
