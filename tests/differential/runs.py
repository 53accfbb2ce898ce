"""Runs of generated sequences on a real service and on this one."""

import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import importlib
import itertools
import logging
import math
import multiprocessing
import tempfile
import time

from ironic_traits.inventory.provisioning import workers
from tests.differential import comparing
from tests.differential.generating import Generator, prelude
from tests.differential.kept import Kept
from tests.differential.peers import Peer, Saved, send
from tests.support.service import finish_work, make_app, upgraded

#: Number of random requests in a sequence.
LENGTH = 100
#: Number of requests that are sent at once.
_CHUNK = 10
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
    :ivar explained: {number of a row of the differences: {kind of a difference: number}}.
    :ivar kinds: {kind of an unexplained difference: number}.
    :ivar examples: {kind: (requests up to the one with the difference, Difference)}.
    """

    requests: int = 0
    statuses: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    explained: dict = dataclasses.field(default_factory=functools.partial(collections.defaultdict, collections.Counter))
    kinds: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    examples: dict = dataclasses.field(default_factory=dict)
    seconds: float = 0.0

    @property
    def differences(self):
        """The number of explained differences."""
        return sum(kinds.total() for kinds in self.explained.values())

    def merge(self, other):
        """Add what another run has found."""
        self.requests += other.requests
        self.statuses.update(other.statuses)
        self.kinds.update(other.kinds)
        self.examples = other.examples | self.examples
        for number, kinds in other.explained.items():
            self.explained[number].update(kinds)

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
        self._beat()

    def answers(self, requests):
        """Return the answers to some requests."""
        return [self._answer(request) for request in requests]

    def reset(self):
        """End a sequence of requests: save the objects after the first one, and restore them after all others."""
        self._saved.reset()
        self._beat()

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
def prepared(name, kept=':memory:'):
    """Provide the real service and this one, with the objects that all sequences find.

    :param kept: file for the answers of the real service.
    """
    with real(name) as peer, ours(name) as service:
        asked((peer, service), prelude(api(name)[0]))
        yield Kept(peer, kept), service


@dataclasses.dataclass(frozen=True)
class Run:
    """A run.

    :ivar number: of requests to compare at least.
    :ivar minutes: maximum duration. The run may end with fewer requests.
    :ivar jobs: number of processes, each with both services.
    :ivar kept: file for the answers of the real service.
    """

    name: str
    number: int
    seed: str
    minutes: float = math.inf
    jobs: int = 1
    kept: str = ':memory:'

    def search(self):
        """Compare requests, and return the Figures."""
        began_at = time.monotonic()
        figures = Figures()
        context = multiprocessing.get_context('spawn')
        with concurrent.futures.ProcessPoolExecutor(self.jobs, context, logging.disable, (logging.CRITICAL,)) as pool:
            for each in pool.map(self._part, range(self.jobs)):
                figures.merge(each)
        figures.seconds = time.monotonic() - began_at
        return figures

    def _part(self, job):
        figures = Figures()
        ends_at = time.monotonic() + self.minutes * 60
        described, rows = api(self.name)
        with prepared(self.name, self.kept) as services:
            for count in itertools.count(job, self.jobs):
                requests = Generator(described, f'{self.seed} {count}').sequence(LENGTH)
                add(figures, rows, asked(services, requests))
                if figures.requests >= self.number / self.jobs or time.monotonic() > ends_at:
                    break
        return figures


def asked(services, requests):
    """Send a sequence of requests, and return [(request, answer of the real service, our answer), …].

    End with the first one after which the services may have different objects.

    :param services: the real one, and this one.
    """
    found = list(_answered(*services, requests))
    for each in services:
        each.reset()
    return found


def _answered(peer, service, requests):
    for begin in range(0, len(requests), _CHUNK):
        chunk = requests[begin : begin + _CHUNK]
        raw = [each.raw() for each in chunk]
        # The real service answers at the same time.
        peer.ask(raw)
        ours = service.answers(raw)
        for each in zip(chunk, peer.read(), ours, strict=True):
            yield each
            if comparing.diverge(*each):
                return


def add(figures, rows, answers):
    """Compare the answers to a sequence.

    :param answers: as ``asked`` returns them.
    """
    for number, each in enumerate(answers, 1):
        calls = _calls(*each)
        figures.requests += 1
        figures.statuses[calls[0]['status']] += 1
        for difference in comparing.compare(*calls):
            _count(figures, rows, [request for request, *_ in answers[:number]], difference)


def _calls(request, theirs, ours):
    return comparing.call(request, theirs), comparing.call(request, ours)


def _count(figures, rows, requests, difference):
    row = comparing.explanation(rows, difference)
    if row is not None:
        figures.explained[row][difference.kind()] += 1
        return
    if difference.kind() not in figures.kinds:
        print(f'{difference.kind()}\n    {requests[-1]}', flush=True)
    figures.kinds[difference.kind()] += 1
    figures.examples.setdefault(difference.kind(), (requests, difference))


def kinds(rows, request, theirs, ours):
    """Return the kinds of the unexplained differences between two answers to a request."""
    found = comparing.compare(*_calls(request, theirs, ours))
    return {each.kind() for each in found if comparing.explanation(rows, each) is None}
