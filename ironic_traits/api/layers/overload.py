"""Protection against blocked requests that occupy all threads of a process.

A process has few threads ([api] threads). A request may block its thread: on the lock of a node, on a body that the
client does not send, on a database that does not respond. Limits keep some threads free: on the number of writes, on
the number of writes that need no authentication (the data of ramdisks, and logins), and on the number of all requests.
/healthcheck is exempt.

Requests that wait for a thread are limited by ``cmd.server.admission``, which marks those that are too many. They are
refused here, where the response gets its headers and is counted.
"""

import threading
import time

from ironic_traits import failures
from ironic_traits.api import exceptions
from ironic_traits.api.layers import logins
from ironic_traits.api.resource import CONTEXT, READS, STREAM

#: Seconds that a request waits for its turn while other requests begin or end.
PATIENCE = 1
#: Key in the WSGI environ of a request that must be refused, because too many wait already.
REFUSED = 'ironic_traits.refused'


class Gate:
    """A limit on the number of concurrent requests.

    :param capacity: the maximum number of requests.
    :param patience: seconds that a request may wait.
    """

    def __init__(self, capacity, patience=PATIENCE):
        self._free = threading.Semaphore(capacity)
        self._patience = patience
        self._moved_at = 0.0

    def enter(self):
        """Return whether the request may proceed. If so, the caller calls ``leave`` when the request ends.

        While other requests begin and end, this waits for a free place, but not longer than ``patience``. If none has
        begun or ended for that long, all of them are blocked, and waiting would not help.
        """
        is_moving = time.monotonic() - self._moved_at < self._patience
        if not self._free.acquire(blocking=is_moving, timeout=self._patience if is_moving else None):
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
    :param options: the group [api] of the configuration.
    """

    def __init__(self, inside, options):
        threads = options.threads
        self._inside, self._serve = inside, options.serve
        self._all = Gate(threads - min(2, threads // 3))
        self._writes = Gate(max(1, threads // 2))
        # Strangers may send many of these. The others must not wait for them.
        self._public = Gate(max(1, threads // 4), patience=0)

    def __call__(self, environ, start_response):
        if REFUSED in environ:
            return _refuse(environ, start_response)
        entered = []
        try:
            for gate in self._gates(environ):
                if not gate.enter():
                    return _refuse(environ, start_response)
                entered.append(gate)
            return self._inside(environ, start_response)
        finally:
            # A stream that needs the thread of the request leaves when it ends.
            ends = environ[STREAM].ends if STREAM in environ else None
            for gate in entered:
                gate.leave() if ends is None else ends.append(gate.leave)

    def _gates(self, environ):
        """Return the gates of a request. A write that waits at its own gate does not take the place of a read."""
        if environ['REQUEST_METHOD'] in READS:
            return [self._all]
        path = environ['PATH_INFO']
        is_public = path == logins.PATH or environ[CONTEXT].protocol.is_public(self._serve, path)
        return [self._public if is_public else self._writes, self._all]


def _refuse(environ, start_response):
    return exceptions.answer(environ, failures.Overloaded())(environ, start_response)
