"""Blocking calls with a time limit.

A read in a database driver cannot be interrupted.  Such calls run in daemon threads, so that the caller can stop
waiting.  The threads end with the process.
"""

import queue
import threading


class Pool:
    """A pool of threads for calls that may block.

    :param size: most threads.  A call waits for a free thread, and that wait counts towards its time limit.
    """

    def __init__(self, size):
        self._size = size
        self._calls: queue.SimpleQueue = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0

    def call(self, seconds, function, *arguments):
        """Call a function in a thread.  Return what it returns, or raise what it raises.

        :param seconds: time limit.
        :raises TimeoutError: the call did not end in time.  It continues, but its result is dropped.
        """
        call = _Call(function, arguments)
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
            elif self._threads < self._size:
                self._threads += 1
                threading.Thread(target=self._work, daemon=True, name='deadline').start()
            else:
                # The next thread that becomes idle takes the call.
                self._idle -= 1
        self._calls.put(call)
        return call.result(seconds)

    def _work(self):
        while True:
            self._calls.get().run()
            with self._lock:
                self._idle += 1


class _Call:
    def __init__(self, function, arguments):
        self._function = function
        self._arguments = arguments
        self._ended = threading.Event()
        self._result = None
        self._error: BaseException | None = None

    def run(self):
        try:
            self._result = self._function(*self._arguments)
        except BaseException as error:
            self._error = error
        self._ended.set()

    def result(self, seconds):
        if not self._ended.wait(seconds):
            raise TimeoutError
        if self._error:
            raise self._error
        return self._result
