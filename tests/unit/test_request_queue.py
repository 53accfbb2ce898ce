"""The queue of the requests of a process: how many run, in which order, and which are refused."""

import threading
import time

import pytest

from ironic_traits import failures
from ironic_traits.api.layers import request_queue
from ironic_traits.api.layers.request_queue import RequestQueue
from ironic_traits.api.resource import REFUSED, STREAM
from tests.support.concurrency import wait_until


class Options:
    """The options of [api]: five requests run at a time, of which three write and one is public. Two may wait."""

    serve = 'all'
    threads = 6
    max_waiting_requests = 1


class Application:
    """A WSGI application behind a queue. The test ends its requests.

    :param options: attributes of ``Options`` with other values.
    """

    def __init__(self, takes_turns=True, **options):
        options = type('_', (Options,), options)
        self.queue = RequestQueue(self.run, options, takes_turns)
        self.begun, self.refused, self.end, self.threads = [], [], {}, {}
        #: The names of those for which others have done the work.
        self.served = set()

    def run(self, environ, start_response):
        name = environ['name']
        if REFUSED in environ:
            self.refused.append(name)
            return []
        self.begun.append(name)
        if name.startswith('commits'):
            self.queue.end_turn()
        if name.startswith('follows'):
            try:
                self.queue.wait(lambda: self.end[f'wait of {name}'].wait(30) and name in self.served)
            except failures.Overloaded:
                self.refused.append(name)
                return []
            self.begun.append(f'{name} again')
        assert self.end[name].wait(30)
        return []

    def send(self, *names, method='GET', path='/v1/nodes'):
        """Begin requests in threads, each when the one before runs, waits or is refused."""
        for name in names:
            before, self.end[name] = self._number(), threading.Event()
            environ = {'name': name, 'REQUEST_METHOD': method, 'PATH_INFO': path}
            self.threads[name] = threading.Thread(target=self.queue, args=(environ, None), daemon=True)
            self.threads[name].start()
            wait_until(lambda before=before: self._number() > before)

    def _number(self):
        # Under the lock, each request that waits is one that really waits.
        with self.queue._lock:
            return len(self.begun) + len(self.refused) + len(self.queue._waiting)

    def finish(self, *names):
        """End requests, and wait until they have ended."""
        for name in names:
            self.end[name].set()
            self.threads[name].join(30)

    def runs(self, *names):
        """Wait until these requests, and no others, have begun, in this order."""
        wait_until(lambda: len(self.begun) >= len(names))
        assert self.begun == list(names)


@pytest.fixture
def make(monkeypatch):
    """Make an Application. At the end, all its requests end, and the queue is as it was."""
    made = []

    def make(patience=60, turn=60, **options):
        monkeypatch.setattr(request_queue, 'PATIENCE', patience)
        monkeypatch.setattr(request_queue, 'TURN', turn)
        made.append(Application(**options))
        return made[-1]

    yield make
    for application in made:
        for end in application.end.values():
            end.set()
        application.finish(*application.threads)
        assert not application.queue.is_busy()
        queue = application.queue
        assert [limit.free for limit in (queue._all, queue._writes, queue._public)] == [4, 3, 1]


def test_requests_take_turns_in_the_order_in_which_they_come(make):
    application = make(max_waiting_requests=9)
    application.send(*'abcd')
    assert application.queue.is_busy()
    for number in range(4):
        application.runs(*'abcd'[: number + 1])
        application.finish('abcd'[number])


def test_a_request_that_waits_does_not_hold_up_the_others(make):
    application = make(turn=0.02)
    application.send('waits', 'waits too', 'next')
    application.runs('waits', 'waits too', 'next')


def test_a_request_that_commits_lets_the_next_one_begin(make):
    application = make()
    application.send('commits', 'next')
    application.runs('commits', 'next')
    # This request has had its turn, and does not end that of the other one.
    application.finish('commits')
    application.send('last')
    time.sleep(0.01)
    application.runs('commits', 'next')
    application.finish('next')
    application.runs('commits', 'next', 'last')


@pytest.mark.parametrize('takes_turns', [True, False])
def test_requests_run_wait_or_are_refused(make, takes_turns):
    """Four run and three wait, which are six threads and one that waits. Health checks do not wait."""
    application = make(takes_turns=takes_turns)
    running, waiting = [f'commits {number}' for number in range(4)], ['a', 'b', 'c']
    application.send(*running, *waiting, 'too many')
    assert (application.begun, application.refused) == (running, ['too many'])
    application.send('health', path='/healthcheck')
    application.send('metrics', path='/metrics')
    running += ['health', 'metrics']
    application.runs(*running)
    application.finish('commits 0')
    application.runs(*running, 'a')
    application.send('d')
    application.send('still too many')
    assert application.refused == ['too many', 'still too many']


def test_a_request_that_waits_gives_its_place_to_another_one(make):
    """It ends beside those that have begun meanwhile, and then the next one waits for two of them."""
    application = make(max_waiting_requests=9, turn=0.02)
    application.end['wait of follows'] = threading.Event()
    application.served.add('follows')
    application.send('follows', *'abc', method='POST')
    application.runs('follows', *'abc')
    application.send('d', method='POST')
    application.end['wait of follows'].set()
    application.runs('follows', *'abc', 'follows again')
    assert application.queue._writes.free == -1
    application.finish('a')
    application.runs('follows', *'abc', 'follows again')
    application.finish('b')
    application.runs('follows', *'abc', 'follows again', 'd')


def test_a_request_that_has_waited_in_vain_queues_again(make):
    """Those that have begun meanwhile may be blocked, as the one that it has waited for."""
    application = make(max_waiting_requests=9, turn=0.02)
    application.end['wait of follows'] = threading.Event()
    application.send('follows', *'abc', method='POST')
    application.end['wait of follows'].set()
    wait_until(lambda: application.queue._waiting)
    application.send('read')
    application.runs('follows', *'abc', 'read')
    application.finish('a')
    application.runs('follows', *'abc', 'read', 'follows again')


def test_a_request_that_has_waited_in_vain_is_refused(make):
    """If those that have begun meanwhile are blocked, it is refused as one that comes."""
    application = make(max_waiting_requests=9, turn=0.02, patience=0.5)
    application.end['wait of follows'] = threading.Event()
    application.send('follows', *'abc', method='POST')
    application.end['wait of follows'].set()
    wait_until(lambda: application.refused == ['follows'])
    application.finish('follows')
    assert application.queue._writes.free == 0


def test_a_request_that_waits_behind_another_server(make):
    """It occupies a thread, so it keeps its place."""
    application = make(max_waiting_requests=9, turn=0.02, takes_turns=False)
    application.end['wait of follows'] = threading.Event()
    application.send('follows', *'abc', method='POST')
    application.runs('follows', *'ab')
    application.end['wait of follows'].set()
    application.runs('follows', *'ab', 'follows again')


def test_a_request_whose_wait_fails(make):
    """It ends, and gives its place back once."""
    queue = make().queue
    queue._inside = lambda environ, start_response: queue.wait(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        queue({'REQUEST_METHOD': 'POST', 'PATH_INFO': '/v1/nodes'}, None)


def test_a_wait_outside_of_requests(make):
    assert make().queue.wait(lambda: True)


def test_reads_pass_writes_that_wait_for_writes(make):
    application = make()
    application.send('commits 0', 'commits 1', 'commits 2', 'write', method='PUT')
    application.send('read')
    application.runs('commits 0', 'commits 1', 'commits 2', 'read')
    application.finish('read', 'commits 1')
    application.runs('commits 0', 'commits 1', 'commits 2', 'read', 'write')


@pytest.mark.parametrize('takes_turns', [True, False])
def test_a_write_is_refused_when_no_other_one_moves(make, takes_turns):
    application = make(takes_turns=takes_turns, patience=0.2, turn=0.02)
    application.send('a', 'b', 'c', 'd', method='PUT')
    wait_until(lambda: application.refused == ['d'])
    application.send('e', method='DELETE')
    application.send('read')
    application.runs('a', 'b', 'c', 'read')
    assert application.refused == ['d', 'e']
    application.finish('a')
    application.send('f', method='PUT')
    application.runs('a', 'b', 'c', 'read', 'f')


def test_strangers_do_not_wait_for_each_other(make):
    application = make()
    for path in ('/v1/continue_inspection', '/ui/login'):
        application.send(f'commits {path}', method='POST', path=path)
    assert application.refused == ['commits /ui/login']
    application.send('write', method='PUT')
    application.runs('commits /v1/continue_inspection', 'write')


def test_a_request_waits_briefly_for_a_thread_of_another_server(make):
    """Requests that begin and end do not prolong the wait of one that occupies a thread."""
    application = make(takes_turns=False, patience=0.3)
    application.send('a', 'b', 'c', 'waits', method='PUT')
    number = 0
    while not application.refused:
        # Others of the same kind begin and end.
        application.queue._writes.move(0)
        time.sleep(0.01)
        number += 1
        assert number < 3000
    assert application.refused == ['waits']


def test_a_stream_keeps_its_place_until_it_ends(make):
    class Events:
        ends = []

    def stream(environ, start_response):
        environ[STREAM] = Events
        return []

    queue = make().queue
    inside, queue._inside = queue._inside, stream
    queue({'REQUEST_METHOD': 'GET', 'PATH_INFO': '/v1/changes'}, None)
    queue._inside = inside
    assert not queue.is_busy()
    assert queue._all.free == 3
    Events.ends[0]()
    assert queue._all.free == 4
