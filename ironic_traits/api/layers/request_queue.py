"""The queue of the requests of a process: how many run at a time, in which order, and which are refused.

A request may block its thread: on the lock of a node, on a body that the client does not send, on a database that does
not respond. Limits keep some threads free: on the number of writes, on the number of writes that need no
authentication (the data of ramdisks, and logins), and on the number of all requests. The others wait. The first one
begins whose limits are not reached: reads pass the writes that wait for blocked ones.

A request is refused with 503 if too many wait already. It is also refused if no request of its kind has begun or ended
for PATIENCE seconds: then all of them are blocked, and waiting would not help. /healthcheck and /metrics do not wait.

granian calls the application in threads. Requests without a thread wait in a queue of granian. That queue has no limit,
and the application cannot see it. Therefore ironic-traits-api has a thread for each request that may wait. It sleeps
on a lock, and needs neither the interpreter nor a connection to the database. There, requests also run in turns: the
next one begins when the one before has ended, waits for the commit of its transaction, or has run for TURN seconds.
doc/source/contributor/decisions/turns.rst says why. Behind other WSGI servers, a request that waits occupies one of few
threads, so it waits for PATIENCE seconds at most.
"""

import collections
import functools
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from oslo_config import cfg

from ironic_traits import failures
from ironic_traits.api.layers import logins
from ironic_traits.api.resource import READS, REFUSED, STREAM
from ironic_traits.api.v1 import protocol_selection

#: Seconds that a request waits while no other one begins or ends.
PATIENCE = 1
#: Seconds after which the next request begins although the previous one has not ended.
TURN = 0.02
_ALWAYS = frozenset({'/healthcheck', '/metrics'})


class _Limit:
    """A limit on how many requests of a kind run at a time.

    :param most: the maximum number.
    :param patience: seconds without a begin or an end after which all of them are taken for blocked.
    :ivar free: how many more may run; below 0 if requests that have waited for others end beside more.
    """

    def __init__(self, most: int, patience: float) -> None:
        self.free, self._patience, self._moved_at = most, patience, 0.0

    def move(self, change: int) -> None:
        self.free += change
        self._moved_at = time.monotonic()

    def refuses_at(self) -> float:
        """Return when waiting is of no use."""
        return self._moved_at + self._patience


class _QueuedRequest:
    """A request in the queue.

    :param limits: those of its kind.
    :param until: time when it is refused at the latest.
    :ivar gate: a lock, which is released when the request runs or is refused.
    :ivar runs: whether it runs; None while it waits.
    """

    def __init__(self, limits: Sequence[_Limit], until: float) -> None:
        self.limits, self._until = limits, until
        self.gate = threading.Lock()
        self.gate.acquire()
        self.runs: bool | None = None

    def has_room(self) -> bool:
        return all(limit.free > 0 for limit in self.limits)

    def patience(self) -> float:
        """Return for how many seconds the request may still wait for requests that run."""
        until = min([self._until, *(limit.refuses_at() for limit in self.limits if limit.free <= 0)])
        return max(0, until - time.monotonic())

    def move(self, change: int) -> None:
        """Begin or end the request."""
        for limit in self.limits:
            limit.move(change)


class RequestQueue:
    """The outermost WSGI layer. It marks the requests that the middleware refuses.

    :param options: the group [api] of the configuration.
    :param takes_turns: whether each request that waits has a thread, and requests run in turns.
    """

    def __init__(self, inside: WSGIApplication, options: cfg.ConfigOpts.GroupAttr, takes_turns: bool = False) -> None:
        threads = options.threads
        self._inside, self._takes_turns = inside, takes_turns
        self._serve, self._protocol = options.serve, protocol_selection.selector(options.serve)
        self._all = _Limit(threads - min(2, threads // 3), PATIENCE)
        self._writes = _Limit(max(1, threads // 2), PATIENCE)
        # Strangers may send many of these. The others must not wait for them.
        self._public = _Limit(max(1, threads // 4), 0)
        self._lock = threading.Lock()
        # Requests that run or wait, without streams.
        self._number, self._most = 0, threads + options.max_waiting_requests
        self._waiting: collections.deque[_QueuedRequest] = collections.deque()
        # The request whose turn it is.
        self._turn: _QueuedRequest | None = None
        self._turn_ends_at = 0.0
        self._local = threading.local()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ['PATH_INFO'] in _ALWAYS:
            return self._inside(environ, start_response)
        request = self._enter(self._limits(environ))
        if request is None:
            environ[REFUSED] = True
            return self._inside(environ, start_response)
        try:
            self._local.request = request
            return self._inside(environ, start_response)
        finally:
            self._local.request = None
            self._leave(request, environ)

    def is_busy(self) -> bool:
        """Whether requests run or wait."""
        return self._number > 0

    def end_turn(self) -> None:
        """Let the next request begin, if it is the turn of this thread's request."""
        request = getattr(self._local, 'request', None)
        if request is not None and self._turn is request:
            with self._lock:
                self._next(request)

    def wait(self, wait: Callable[[], bool]) -> bool:
        """Let other requests run in the place of this thread's request, which waits for one of them.

        Not behind other WSGI servers: it occupies a thread of theirs.

        :param wait: waits, and returns whether the request ends soon. If not, it queues again: others that it would
            run beside may be blocked.
        :returns: the result of ``wait``.
        :raises failures.Overloaded: it may not run again.
        """
        request = getattr(self._local, 'request', None)
        if request is None or not self._takes_turns:
            return wait()
        with self._lock:
            request.move(1)
            self._next(request)
        ends = True
        try:
            ends = wait()
        finally:
            # A request that fails ends soon, too.
            if ends or not self._queue(request):
                # The end of the request gives its place back.
                with self._lock:
                    request.move(-1)
        if not ends and not request.runs:
            raise failures.Overloaded
        return ends

    def _limits(self, environ: WSGIEnvironment) -> list[_Limit]:
        if environ['REQUEST_METHOD'] in READS:
            return [self._all]
        path = environ['PATH_INFO']
        is_public = path == logins.PATH or self._protocol(path).is_public(self._serve, path)
        return [self._public if is_public else self._writes, self._all]

    def _enter(self, limits: Sequence[_Limit]) -> _QueuedRequest | None:
        """Wait until a request may run, and return it; None if it is refused."""
        longest = float('inf') if self._takes_turns else PATIENCE
        request = _QueuedRequest(limits, time.monotonic() + longest)
        with self._lock:
            if self._number >= self._most:
                return None
            self._number += 1
        if self._queue(request):
            return request
        with self._lock:
            self._number -= 1
        return None

    def _queue(self, request: _QueuedRequest) -> bool:
        """Wait until a request may run; return False if it is refused."""
        request.runs = None
        with self._lock:
            self._waiting.append(request)
            self._next()
            pause = self._pause(request)
        while not request.gate.acquire(timeout=pause):
            with self._lock:
                self._next()
                pause = self._pause(request)
        return bool(request.runs)

    def _pause(self, request: _QueuedRequest) -> float:
        """Return after how many seconds the thread of a request that waits must see what can be decided."""
        if request.runs is not None:
            return 0
        if self._turn is None:
            return request.patience()
        # The threads must not all wake up at once.
        return max(0, self._turn_ends_at - time.monotonic()) + TURN * self._waiting.index(request)

    def _leave(self, request: _QueuedRequest, environ: WSGIEnvironment) -> None:
        with self._lock:
            self._number -= 1
            if STREAM in environ:
                # A stream that needs the thread of the request ends later.
                environ[STREAM].ends.append(functools.partial(self._end, request))
            else:
                request.move(1)
            self._next(request)

    def _end(self, request: _QueuedRequest) -> None:
        with self._lock:
            request.move(1)
            self._next()

    def _next(self, ended: _QueuedRequest | None = None) -> None:
        """Decide about the requests that wait, as long as it is not the turn of another one.

        :param ended: a request whose turn has ended, if it has one.
        """
        if self._turn is not None and (self._turn is ended or self._turn_ends_at <= time.monotonic()):
            self._turn = None
        while self._turn is None:
            request = next((each for each in self._waiting if each.has_room() or not each.patience()), None)
            if request is None:
                return
            self._waiting.remove(request)
            self._decide(request)

    def _decide(self, request: _QueuedRequest) -> None:
        """Let a request run, or refuse it."""
        request.runs = request.has_room()
        if request.runs:
            request.move(-1)
            if self._takes_turns:
                self._turn, self._turn_ends_at = request, time.monotonic() + TURN
        request.gate.release()
