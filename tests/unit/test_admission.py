"""The limits of running and waiting requests of a process."""

import threading
import time

from ironic_traits.api.layers.overload import REFUSED
from ironic_traits.cmd.server.admission import Admission


class Application:
    """A WSGI application behind an Admission. The test ends its requests."""

    def __init__(self):
        self.begun, self.passed, self.threads = [], [], []
        self.end = threading.Semaphore(0)
        self.admission = Admission(self.run, self.refuse, running=2, waiting=2)

    def run(self, environ, start_response):
        self.begun.append(environ['PATH_INFO'])
        assert self.end.acquire(timeout=30)
        return []

    def refuse(self, environ, start_response):
        assert environ[REFUSED]
        self.passed.append(environ['PATH_INFO'])
        return []

    def send(self, path):
        """Begin a request in a thread, and wait until it runs, waits or is refused."""
        before = self.number()
        self.threads.append(threading.Thread(target=self.admission, args=({'PATH_INFO': path}, None), daemon=True))
        self.threads[-1].start()
        self.until(lambda: self.number() > before)

    def number(self):
        return len(self.begun) + len(self.passed) + len(self.admission._waiting)

    def until(self, condition):
        deadline = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.001)


def test_requests_run_wait_or_are_refused():
    application = Application()
    for path in ('/1', '/2', '/3', '/4', '/5', '/healthcheck', '/metrics'):
        application.send(path)
    assert application.begun == ['/1', '/2']
    assert application.passed == ['/5', '/healthcheck', '/metrics']
    assert application.admission.is_busy()
    application.end.release()
    application.until(lambda: len(application.begun) == 3)
    application.send('/6')
    assert application.passed[-1] == '/metrics'
    # Begin one after the other, because threads that begin at the same time may be recorded in another order.
    for begun in (4, 5):
        application.end.release()
        application.until(lambda begun=begun: len(application.begun) == begun)
    application.end.release(2)
    for thread in application.threads:
        thread.join(30)
    assert application.begun == ['/1', '/2', '/3', '/4', '/6']
    assert not application.admission.is_busy()
    assert application.admission._free == 2
