"""A run: the system, the clients, the faults, the check."""

import json
import random
import time
import types
from typing import NamedTuple

from tests.chaos import broken, broken_orders, checker, clients, history
from tests.chaos.faults import Faults
from tests.chaos.order import Orders
from tests.chaos.system import System
from tests.support import concurrency
from tests.support.clusters import CLUSTERS
from tests.support.service import make_app, upgraded

_TRACEBACK = 'Traceback (most recent call last)'


class Result(NamedTuple):
    """The result of a run.

    :ivar faults: {kind: number}.
    :ivar left_out: {kind: reason}.
    :ivar requests: number of requests; of ``writes``, some are ``acknowledged``.
    :ivar unavailable: number of responses with 503, of ``errors`` with another 5xx, both also to reads.
    :ivar ordered: number of calls whose order was checked, in ``rounds``; ``undecided`` rounds took too long to check.
    :ivar longest: seconds of the longest request.
    :ivar problems: [sentence, …].
    """

    database: str
    seed: str
    minutes: float
    faults: dict
    left_out: dict
    requests: int
    writes: int
    acknowledged: int
    unavailable: int
    errors: int
    ordered: int
    rounds: int
    undecided: int
    longest: float
    problems: list

    def count(self, words):
        """Return the number of problems with these words."""
        return sum(words in problem for problem in self.problems)


def run(database, seed, seconds, kinds=None, pause=0.02):
    """Run the clients on a cluster while things fail.

    :param database: ``galera`` or ``pair``.
    :param kinds: kinds of faults; None for all.
    :param pause: seconds between two requests of a client.
    """
    record = history.History()
    with System(CLUSTERS[database]()) as system:

        def make_ask(choices):
            return clients.over_http(system.bases, choices)

        ask = make_ask(random.Random(0))
        world = clients.World(ask)
        faults = Faults(system, seed, kinds)
        begun = time.monotonic()
        # The clock of the database may be set, so no reservation expires here.
        orders = Orders(record.recording(make_ask(random.Random(2))), seed, expires=False)
        with orders.running():
            follower = clients.run(
                make_ask, seed, record, seconds, world=world, pause=pause, disturb=lambda: faults.run(seconds)
            )
        minutes = (time.monotonic() - begun) / 60
        system.revive()
        problems = checker.settle(ask, world)
        try:
            follower.end()
        except AssertionError as error:
            print(system.logs()[-20000:])
            raise error
        problems += checker.problems(record, world, checker.Stored(ask), follower.copy)
        problems += [*faults.problems, *orders.problems, *tracebacks(system.logs())]
    entries = [entry for entry in record.entries if entry.ended]
    return Result(
        system.cluster.name,
        str(seed),
        minutes,
        dict(faults.counts),
        faults.left_out,
        record.statuses.total(),
        len(entries),
        sum(entry.outcome == history.OK for entry in entries),
        record.statuses[503],
        sum(number for status, number in record.statuses.items() if history.is_error(status)),
        orders.counts.total(),
        orders.rounds,
        orders.undecided,
        record.longest,
        problems,
    )


def tracebacks(logs):
    """Return a problem if services have logged exceptions: [sentence, …].

    :param logs: text.
    """
    before, *rest = logs.split(_TRACEBACK)
    # The line before it says who has logged it.
    line = before.rstrip().rpartition('\n')[2]
    return [f'{len(rest)} tracebacks in the logs. The first one: {line}\n{rest[0][:3000]}'] if rest else []


def run_broken_order(server, path, name, seed='broken'):
    """Return the problems that rounds of concurrent calls find in a build of ``broken_orders``: [sentence, …].

    :param server: of tests.support.servers.
    :param path: of a file for the result.
    """
    url = upgraded(server.create(f'order_{list(broken_orders.BUILDS).index(name)}'))
    concurrency.process(broken_orders.work, name, url, path, seed).join(broken_orders.MAX_SECONDS + 100)
    return json.loads(path.read_text())


def run_broken(server, path, name, attempt=0, seconds=3):
    """Return the problems that the checker finds in a build of ``broken``: [sentence, …].

    The build runs in a process, which is killed. A service without the bug reads the stored data.

    :param server: of tests.support.servers.
    :param path: of the file for the record.
    :param seconds: length of the run, if only the stored data can show the bug.
    """
    url = upgraded(server.create(f'build_{list(broken.BUILDS).index(name)}_{attempt}'))
    process = concurrency.process(broken.work, name, url, path, f'broken-{attempt}', seconds)
    process.join(120)
    if process.is_alive():
        process.kill()
        raise TimeoutError(name)
    world, copy = json.loads(path.with_suffix('.world').read_text())
    with make_app(url) as app:
        stored = checker.Stored(clients.in_process([app], random.Random(0)))
        return checker.problems(history.read(path), types.SimpleNamespace(**world), stored, copy)
