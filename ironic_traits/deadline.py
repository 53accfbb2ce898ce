"""Calls that block, and that are waited for no longer than a number of seconds.

A read from a database driver cannot be told to stop.  Such calls run in threads of their own, which end with the
process and keep nobody else waiting.
"""

import queue
import threading


class Pool:
    """Threads for calls that may block.

    :param size: how many there may be; a call for which there is none waits, and its seconds count.
    """

    def __init__(self, size):
        self._size = size
        self._calls: queue.SimpleQueue = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0

    def call(self, seconds, function, *arguments):
        """Return what a function returns, or raise what it raises.

        :raises TimeoutError: it has not ended in time.  It goes on, and what comes of it is dropped.
        """
        call = _Call(function, arguments)
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
            elif self._threads < self._size:
                self._threads += 1
                threading.Thread(target=self._work, daemon=True, name='deadline').start()
            else:
                # One that becomes idle takes it.
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
