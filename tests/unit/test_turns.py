"""The order of requests in a process."""

import threading
import time

from ironic_traits.cmd.server import turns
from tests.support.concurrency import wait_until


class Application:
    """A WSGI application. The test ends its requests."""

    def __init__(self):
        self.begun = []
        self.end = {}
        self.queue = turns.Turns(self)
        self.threads = []

    def __call__(self, environ, start_response):
        self.begun.append(environ['name'])
        if environ['name'] == 'commits':
            self.queue.give_up()
        self.end[environ['name']].wait(10)
        return []

    def send(self, name):
        """Begin a request in a thread, and wait until it is in the queue."""
        self.end[name] = threading.Event()
        self.threads.append(threading.Thread(target=self.queue, args=({'name': name}, None)))
        before = self.queue._number
        self.threads[-1].start()
        wait_until(lambda: self.queue._number > before)

    def join(self):
        """Wait until all requests have ended."""
        for event in self.end.values():
            event.set()
        for thread in self.threads:
            thread.join(10)
        assert not self.queue.is_busy()


def test_requests_run_in_the_order_in_which_they_come(monkeypatch):
    monkeypatch.setattr(turns, 'PATIENCE', 60)
    application = Application()
    for name in 'abcd':
        application.send(name)
    assert application.queue.is_busy()
    for number, name in enumerate('abcd', 1):
        wait_until(lambda number=number: len(application.begun) == number)
        application.end[name].set()
    application.join()
    assert application.begun == list('abcd')


def test_a_request_that_waits_does_not_hold_up_the_others(monkeypatch):
    application = Application()
    for name in ('waits', 'waits too', 'next'):
        application.send(name)
    wait_until(lambda: application.begun == ['waits', 'waits too', 'next'])
    application.join()


def test_a_request_that_commits_lets_the_next_one_begin(monkeypatch):
    monkeypatch.setattr(turns, 'PATIENCE', 60)
    application = Application()
    application.send('commits')
    application.send('next')
    wait_until(lambda: application.begun == ['commits', 'next'])
    application.end['commits'].set()
    # This request has had its turn, and does not end that of the other one.
    application.threads[0].join(10)
    application.send('last')
    time.sleep(0.01)
    assert application.begun == ['commits', 'next']
    application.join()
    assert application.begun == ['commits', 'next', 'last']
