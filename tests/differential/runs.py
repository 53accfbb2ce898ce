"""Runs of generated sequences on a real service and on this one."""

import collections
import concurrent.futures
import contextlib
import dataclasses
import importlib
import itertools
import math
import tempfile
import time

from ironic_traits.inventory.provisioning import workers
from tests.differential import comparing
from tests.differential.generating import Generator, prelude
from tests.differential.peers import Peer, Saved, send
from tests.support.service import finish_work, make_app, upgraded

#: Number of random requests in a sequence.
LENGTH = 100
#: Options with which this service answers as the real one.
_OPTIONS = {
    'ironic': {'api__put_traits_returns': 'nothing', 'api__allocations_answer': 'allocating'},
    'placement': {'api__serve': 'placement'},
}
APIS = tuple(_OPTIONS)


@dataclasses.dataclass
class Figures:
    """What a run has found.

    :ivar requests: number of compared requests.
    :ivar explained: {reason: number of differences}.
    :ivar kinds: {kind of an unexplained difference: number}.
    :ivar examples: {kind: (requests up to the one with the difference, Difference)}.
    """

    requests: int = 0
    statuses: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    explained: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    kinds: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    examples: dict = dataclasses.field(default_factory=dict)
    seconds: float = 0.0

    def of_kind(self, kind):
        """Return the number of answers of the real service whose status begins with a digit."""
        return sum(number for status, number in self.statuses.items() if status // 100 == kind)


class Ours:
    """This service, with the interface of ``Peer``."""

    def __init__(self, path, app):
        self._saved = Saved(path)
        self._app = app
        facts = {'hostname': '127.0.0.1', 'pid': 1, 'conductor_group': '', 'drivers': ['fake-hardware']}
        self._beat = lambda: workers.beat(app.service, f'{comparing.KNOWN}0000-4000-8000-000000000000', **facts)

    def answers(self, requests):
        """Return the answers to a sequence of requests."""
        self._saved.load()
        self._beat()
        answers = [self._answer(request) for request in requests]
        self._saved.save()
        return answers

    def _answer(self, request):
        answer = send(self._app, request)
        if request[0] != 'GET':
            finish_work(self._app)
        return answer


@contextlib.contextmanager
def ours(name):
    """Provide this service."""
    with tempfile.TemporaryDirectory() as folder:
        url = upgraded(f'sqlite:///{folder}/ours.sqlite')
        with make_app(url, api__auth_strategy='noauth2', **_OPTIONS[name]) as app:
            yield Ours(f'{folder}/ours.sqlite', app)


@contextlib.contextmanager
def real(name):
    """Provide the real service."""
    with tempfile.TemporaryDirectory() as folder:
        peer = Peer(f'tests.differential.{name}_peer', folder)
        try:
            yield peer
        finally:
            peer.stop()


def api(name):
    """Return the Api and the rows of differences of a service."""
    requests = importlib.import_module(f'tests.differential.{name}_requests')
    rows = importlib.import_module(f'tests.differential.{name}_differences')
    return requests.API, rows.ROWS


@contextlib.contextmanager
def prepared(name):
    """Provide the real service and this one, with the objects that all sequences find."""
    raw = [each.raw() for each in prelude(api(name)[0])]
    with real(name) as peer, ours(name) as service:
        peer.answers(raw)
        service.answers(raw)
        yield peer, service


def search(name, number, seed, minutes=math.inf):
    """Compare at least a number of requests, and return the Figures.

    :param minutes: maximum duration. The run may end with fewer requests.
    """
    described, rows = api(name)
    figures = Figures()
    began_at = time.monotonic()
    with prepared(name) as (peer, service), concurrent.futures.ThreadPoolExecutor(1) as thread:
        following = _ask(thread, peer, described, f'{seed} 0')
        for count in itertools.count(1):
            requests, pending = following
            # The real service answers the next sequence meanwhile.
            answers = pending.result()
            following = _ask(thread, peer, described, f'{seed} {count}')
            add(figures, rows, requests, answers, service.answers([each.raw() for each in requests]))
            if figures.requests >= number or time.monotonic() > began_at + minutes * 60:
                break
        following[1].result()
    figures.seconds = time.monotonic() - began_at
    return figures


def _ask(thread, peer, described, seed):
    requests = Generator(described, seed).sequence(LENGTH)
    return requests, thread.submit(peer.answers, [each.raw() for each in requests])


def add(figures, rows, requests, theirs, ours):
    """Compare the answers to a sequence, up to the first one after which the services have different objects."""
    answers = list(zip(requests, theirs, ours, strict=True))
    for number, each in enumerate(answers[: compared(answers)]):
        calls = _calls(*each)
        figures.requests += 1
        figures.statuses[calls[0]['status']] += 1
        for difference in comparing.compare(*calls):
            _count(figures, rows, requests[: number + 1], difference)


def compared(answers):
    """Return the number of answers up to the first one after which the services may have different objects.

    :param answers: [(request, answer of the real service, our answer), …].
    """
    ends = (number for number, each in enumerate(answers, 1) if comparing.diverge(*_calls(*each)))
    return next(ends, len(answers))


def _calls(request, theirs, ours):
    return comparing.call(request, theirs), comparing.call(request, ours)


def _count(figures, rows, requests, difference):
    reason = comparing.reason(rows, difference)
    if reason:
        figures.explained[reason] += 1
        return
    figures.kinds[difference.kind()] += 1
    figures.examples.setdefault(difference.kind(), (requests, difference))


def kinds(rows, request, theirs, ours):
    """Return the kinds of the unexplained differences between two answers to a request."""
    found = comparing.compare(*_calls(request, theirs, ours))
    return {each.kind() for each in found if not comparing.reason(rows, each)}
