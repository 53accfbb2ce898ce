"""What keeps requests that wait from using up all threads of a process.

A process has few threads ([api] threads).  Requests wait in them: for the locks of nodes, for bodies that clients do
not send, for a database that does not answer.  Two gates see to it that some threads are always left: one for writes,
one for all requests.  /healthcheck goes through neither.
"""

import threading
import time

from ironic_traits import failures
from ironic_traits.api.expose import CONTEXT

#: Seconds that a request waits at a gate, while others come through it.
PATIENCE = 1
#: Methods of requests that take no locks, and have no body.
_READS = frozenset({'GET', 'HEAD', 'OPTIONS'})
_RETRY = [('Retry-After', '1')]


class Gate:
    """Lets a number of requests in at a time.

    :param capacity: how many.
    """

    def __init__(self, capacity):
        self._free = threading.Semaphore(capacity)
        self._moved_at = 0.0

    def enter(self):
        """Whether the request may go on; the caller then calls ``leave`` when it has ended.

        Where requests come and go, it waits for its turn.  Where none has begun or ended for a while, all of them wait
        for something, and it would only wait with them.
        """
        moving = time.monotonic() - self._moved_at < PATIENCE
        if not self._free.acquire(blocking=moving, timeout=PATIENCE if moving else None):
            return False
        self._moved_at = time.monotonic()
        return True

    def leave(self):
        """Let the next request in."""
        self._moved_at = time.monotonic()
        self._free.release()


class Overload:
    """A WSGI layer that refuses requests when nearly all threads wait.

    :param inside: WSGI application.
    :param threads: how many threads serve this process.
    """

    def __init__(self, inside, threads):
        self._inside = inside
        self._all = Gate(threads - min(2, threads // 3))
        self._writes = Gate(max(1, threads // 2))

    def __call__(self, environ, start_response):
        gates = [self._all] if environ['REQUEST_METHOD'] in _READS else [self._all, self._writes]
        entered = []
        try:
            for gate in gates:
                if not gate.enter():
                    protocol = environ[CONTEXT].protocol
                    return protocol.refuse(failures.Overloaded(), environ, start_response, _RETRY)
                entered.append(gate)
            return self._inside(environ, start_response)
        finally:
            for gate in entered:
                gate.leave()
