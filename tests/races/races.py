"""Runs races, and checks what comes out."""

import collections
import contextlib
import functools
import heapq
import itertools
import json
import math
from typing import NamedTuple
from unittest import mock

from ironic_traits.db.failover import reused_connections
from ironic_traits.inventory.search.node_index import NodeIndex
from ironic_traits.inventory.search.search_places import Places
from ironic_traits.placement.trait_cache import TraitCache
from tests.races import accesses
from tests.races.locks import BEGIN, Locks
from tests.races.scheduler import COMMIT, ROLLBACK, Scheduler
from tests.races.world import HEADERS, OPTIONS, World
from tests.races.writers import ACCEPTED, LATE, WRITERS
from tests.support.client import Client
from tests.support.service import database, finish_work, make_app

#: Responses that ask the client to repeat the request, or its preview. A request with one counts as not sent, if it
#: cannot be explained otherwise.
RETRYABLE = (
    *('503', 'placement.concurrent_update', 'baremetal.node.locked', 'baremetal.node.changed'),
    'baremetal.inspection.outdated',
)
#: The numbers of a new capacity reservation that are read after it is created.
_FIGURES = {'used', 'left', 'free', 'short'}


class Outcome(NamedTuple):
    """What came out of a race.

    :ivar responses: (text for each writer, …); None for a writer that did not take part.
    :ivar differences: of the World.
    """

    responses: tuple
    differences: tuple

    def without_reasons(self):
        """Return the outcome without the codes of refused requests: a reason may be another one a moment later."""
        responses = (text[:3] if text and text[0] == '4' else text for text in self.responses)
        return self._replace(responses=tuple(responses))

    def only_leaves_names(self, other):
        """Whether this is another outcome, with the names of new traits that a refused request has left.

        A request creates new names in a transaction of its own. It may be refused afterwards.
        """
        more = set(self.differences).difference(other.differences)
        is_refused = any(text and text[0] == '4' for text in self.responses)
        is_more = set(other.differences) < set(self.differences)
        return is_refused and is_more and self.responses == other.responses and all(map(_is_name, more))


class Race:
    """Writers that write at the same time.

    :param arena: Arena.
    :param names: of WRITERS.
    """

    def __init__(self, arena, names):
        self._arena, self.names = arena, names
        #: {writers that take part: ({Outcome: names in this order}, iterator of the orders that were not run yet)}.
        self._serial = {}
        self.schedules = self.requests = self.refused = self.left_names = self.other_reasons = 0

    def run(self, schedule=(), taking=None, choose=None):
        """Run the writers by a schedule, and return (Outcome, [Step, …], [problem, …]).

        :param schedule: numbers of writers. After it, a writer continues as long as it can.
        :param taking: numbers of the writers that take part; all by default.
        :param choose: function (possible writers, writer before) that chooses after the schedule.
        """
        taking = tuple(range(len(self.names))) if taking is None else taking
        left = iter(schedule)

        def next_writer(possible, before):
            wanted = next(left, None)
            if wanted in possible:
                return wanted
            if choose:
                return choose(possible, before)
            return before if before in possible else possible[0]

        outcome, steps, problems = self._arena.run([self.names[number] for number in taking], next_writer)
        responses = dict(zip(taking, outcome.responses, strict=True))
        self.requests += len(taking)
        return outcome._replace(responses=tuple(map(responses.get, range(len(self.names))))), steps, problems

    def check(self, schedule=(), choose=None):
        """Run the writers by a schedule, and return ([Step, …], [problem, …])."""
        outcome, steps, problems = self.run(schedule, choose=choose)
        self.schedules += 1
        problems += [text for text in outcome.responses if text.startswith('5') and not text.startswith('503')]
        if not self._is_serial(outcome) and not any(words in str(outcome) for words in ACCEPTED):
            problems.append(self._explain(outcome))
        return steps, problems

    def matters(self, statement):
        """Whether another writer can notice when a statement is executed."""
        if statement in (COMMIT, ROLLBACK, BEGIN):
            return True
        read, written = accesses.of(statement)
        return any(not (read | written).isdisjoint(shared) for shared in self.shared())

    def shared(self):
        """Generate the names of the tables that two of the writers share."""
        seen = [self._arena.accesses[name] for name in self.names]
        return (first.shared(second) for first, second in itertools.combinations(seen, 2))

    def _is_serial(self, outcome):
        """Whether the writers could have run one after another."""
        everyone = tuple(range(len(self.names)))
        if outcome in self._one_by_one(everyone):
            return True
        if outcome.without_reasons() in map(Outcome.without_reasons, self._one_by_one(everyone)):
            self.other_reasons += 1
            return True
        if self._without_late(outcome) in map(self._without_late, self._one_by_one(everyone)):
            return True
        if any(map(outcome.only_leaves_names, self._one_by_one(everyone))):
            self.left_names += 1
            return True
        refused = [number for number in everyone if any(word in outcome.responses[number][:200] for word in RETRYABLE)]
        for count in range(1, len(refused) + 1):
            for some in itertools.combinations(refused, count):
                others = tuple(number for number in everyone if number not in some)
                responses = tuple(None if number in some else text for number, text in enumerate(outcome.responses))
                if outcome._replace(responses=responses) in self._one_by_one(others):
                    self.refused += 1
                    return True
        return False

    def _without_late(self, outcome):
        """Return an outcome without the responses of writers with a late effect: they may come before others."""
        both = zip(self.names, outcome.responses, strict=True)
        return outcome._replace(responses=tuple(None if name in LATE else text for name, text in both))

    def _one_by_one(self, taking):
        """Generate the outcomes of all orders of some writers. Each order is run once, when it is needed."""
        known, orders = self._serial.setdefault(taking, ({}, itertools.permutations(taking)))
        yield from list(known)
        for order in orders:
            places = [taking.index(number) for number in order]
            outcome, *_ = self.run(taking=taking, choose=functools.partial(_in_order, places))
            known[outcome] = ', '.join(self.names[number] for number in order)
            yield outcome

    def _explain(self, outcome):
        """Return how an outcome differs from that of the most similar order."""
        lines, everyone = set(_lines(outcome)), tuple(range(len(self.names)))
        best = min(self._one_by_one(everyone), key=lambda other: len(lines.symmetric_difference(_lines(other))))
        names = self._serial[everyone][0][best]
        differences = [
            *(f'got  {line}' for line in sorted(lines.difference(_lines(best)))),
            *(f'want {line}' for line in sorted(set(_lines(best)) - lines)),
        ]
        return '\n    '.join([f'not as in any order; most similar is: {names}', *differences])


def _is_name(line):
    return line.startswith("traits + {'name': 'CUSTOM_")


def _lines(outcome):
    return [*(f'{number}: {text}' for number, text in enumerate(outcome.responses)), *outcome.differences]


def _in_order(order, possible, before):
    return min(possible, key=order.index)


def explore(race, preemptions, most, choices):
    """Check all schedules in which no writer is interrupted more often than a number of times.

    :param preemptions: how often a writer stops although it could continue. Schedules with the fewest come first.
    :param most: maximum number of schedules.
    :param choices: random.Random, which chooses among equally simple schedules.
    :returns: ([(schedule, problem), …], whether all schedules were run).
    """
    waiting, found = [(0, 0, ())], []
    while waiting and race.schedules < most:
        cost, _, prefix = heapq.heappop(waiting)
        steps, problems = race.check(prefix)
        chosen = [step.chosen for step in steps]
        found += [(tuple(chosen), problem) for problem in problems]
        for place in range(len(prefix), len(steps)):
            step = steps[place]
            interrupts = step.before in step.possible
            if interrupts and not race.matters(step.statement):
                # The same comes out if the writer is interrupted before its next statement that matters.
                continue
            more = cost + interrupts
            for other in step.possible:
                if other != step.chosen and more <= preemptions:
                    heapq.heappush(waiting, (more, choices.random(), (*chosen[:place], other)))
    return found, not waiting


def at_random(race, count, choices):
    """Check schedules that are chosen at random, and return [(schedule, problem), …]."""
    found = []
    for _ in range(count):

        def choose(possible, before):
            return before if before in possible and choices.random() < 0.6 else choices.choice(possible)

        steps, problems = race.check(choose=choose)
        found += [(tuple(step.chosen for step in steps), problem) for problem in problems]
    return found


def text(names, steps):
    """Return a schedule as lines: writer and statement."""
    shown = (' '.join(step.statement.split())[:100] or 'begins' for step in steps)
    return '\n'.join(f'    {names[step.chosen]}: {statement}' for step, statement in zip(steps, shown, strict=True))


class Arena:
    """A database with a World, and a scheduler.

    :param url: of an empty database.
    :ivar accesses: {name of a writer: the Accesses of what it has executed so far}.
    """

    def __init__(self, url):
        self._url, self._apps = url, []
        self.accesses = collections.defaultdict(accesses.Accesses)
        self._stack = contextlib.ExitStack()
        with self._stack:
            # The end of an old connection is a ROLLBACK. A schedule that is run again would have it elsewhere.
            self._stack.enter_context(mock.patch.object(reused_connections, 'MAX_AGE', math.inf))
            opened = self._stack.enter_context(database(url))
            # Connections of earlier tests have no listeners.
            opened.close()
            locks = self._stack.enter_context(contextlib.closing(Locks(url)))
            self._world = World(url, opened)
            self._scheduler = self._stack.enter_context(Scheduler(locks))
            self._stack = self._stack.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._stack.close()

    def run(self, names, choose):
        """Run writers from the same beginning, and return (Outcome, [Step, …], [problem, …])."""
        # A process for each writer.
        while len(self._apps) < len(names):
            self._apps.append(self._stack.enter_context(make_app(self._url, **OPTIONS)))
        for app in self._apps:
            _forget(app.service)
        works = [functools.partial(self._work, *each) for each in zip(self._apps, names, strict=False)]
        writers, steps = self._scheduler.run(works, choose)
        for name, writer in zip(names, writers, strict=True):
            for statement in writer.written:
                self.accesses[name] |= accesses.of(statement)
        self._world.read([statement for writer in writers for statement in writer.written])
        responses = tuple(self._response(writer.result) for writer in writers)
        outcome, problems = Outcome(responses, self._world.differences()), self._world.problems()
        self._world.restore()
        return outcome, steps, problems

    def _work(self, app, name):
        method, path, body = WRITERS[name]
        if method == 'worker':
            return finish_work(app)
        text = json.dumps([path, body])
        for word, value in self._world.known.items():
            text = text.replace(f'"{word}"', json.dumps(value)).replace(word, str(value))
        path, body = json.loads(text)
        return Client(app).ask(method, path, body, headers=HEADERS)

    def _response(self, result):
        """Return what counts of a response: its status, with the code of a failure, or with the body."""
        if isinstance(result, Exception):
            return f'500 {result!r}'
        if result is None:
            return ''
        status = result.status_int
        if status == 404:
            # What was deleted in the meantime may be missing in several ways.
            return '404'
        text = _code(result.json) if 400 <= status < 500 else result.text
        if status == 201 and '"short":' in text:
            # These figures are read after the promise. Another writer may have changed them by then.
            text = str({name: value for name, value in result.json.items() if name not in _FIGURES})
        if status == 200 and 'changes' in result.json:
            # Changes have the order of their numbers. A request may number them all at once, or one after another.
            text = json.dumps(sorted(self._world.plain(str(each)) for each in result.json['changes']))
        return self._world.plain(f'{status} {text}')


def _code(document):
    return document.get('code') or document['errors'][0]['code']


def _forget(service):
    """Let a process forget what it knows of the time before the database was restored."""
    service.noted_traits.forget()
    # A change of exclusive traits is in use at once, so its request need not wait for that.
    service.noted_traits.seconds = 0
    service.has_promises = False
    service.places, service.trait_cache, service.node_index = Places(), TraitCache(), NodeIndex()
