"""Each work in turns: this service, the real one, the floor, and again."""

import random
import statistics
import time
from dataclasses import dataclass, field

from benchmarks.compare import memory, works
from benchmarks.load import cpu_seconds


@dataclass
class Side:
    """One side of a comparison, and its times so far.

    :ivar do: function of a random generator: the work.
    :ivar cpu: function without arguments: CPU seconds so far of (the service, the database).
    :ivar before: function without arguments, which prepares a turn.
    :ivar after: function without arguments, which undoes a turn.
    :ivar pids: of the service; None for the floor.
    """

    do: object
    cpu: object
    before: object = lambda: None
    after: object = lambda: None
    pids: set | None = None
    times: list = field(default_factory=list)
    used: list = field(default_factory=lambda: [0.0, 0.0])

    def turn(self, seconds, choose):
        """Do the work for some seconds, at least once."""
        self.before()
        cpu, stop = self.cpu(), time.perf_counter() + seconds
        try:
            while True:
                start = time.perf_counter()
                self.do(choose)
                now = time.perf_counter()
                self.times.append(now - start)
                if now > stop:
                    break
        except works.Exhausted:
            pass
        self.used = [used + after - before for used, after, before in zip(self.used, self.cpu(), cpu, strict=True)]
        self.after()

    def figures(self):
        """Return {name of a figure: value}: times in milliseconds, the peak memory of a process in MiB."""
        if not self.times:
            return {}
        times = [each * 1000 for each in self.times]
        quantiles = statistics.quantiles(times, n=100, method='inclusive') if len(times) > 1 else times * 99
        service, database = (each * 1000 / len(times) for each in self.used)
        return {
            'requests': len(times),
            'p50_ms': quantiles[49],
            'p99_ms': quantiles[98],
            'service_cpu_ms': service,
            'database_cpu_ms': database,
            'cpu_ms': service + database,
            **({'peak_mib': memory.peak(self.pids)} if self.pids else {}),
        }


class Turns:
    """The works of one size.

    :param running: services.Running.
    :param floor: floor.Floor, or None.
    :param database_pids: pids of the database server.
    """

    def __init__(self, running, floor, database_pids):
        self._running, self._floor, self._database = running, floor, database_pids
        self._clients = {}

    def measure(self, work, seconds, rounds):
        """Do a work in turns, and return {side: {name of a figure: value}}.

        :param work: works.Work.
        :param seconds: of a turn.
        :param rounds: number of turns of each side.
        """
        sides = dict(self._sides(work))
        for side in sides.values():
            # A warm-up for caches, connections and statements. It does not count.
            side.turn(0, random.Random(0))
            side.times.clear()
            side.used = [0.0, 0.0]
            memory.reset(side.pids or ())
        for number in range(1, rounds + 1):
            for side in sides.values():
                side.turn(seconds, random.Random(number))
        return {name: side.figures() for name, side in sides.items()}

    def _sides(self, work):
        yield 'ours', self._side('ours', work, work.run)
        real = 'ironic' if work.api == 'nodes' else 'placement'
        if work.real and real in self._running.sites:
            yield 'real', self._side(real, work, work.real)
        if self._floor and (do := self._floor.works().get(work.name)):
            yield 'floor', Side(do, lambda: self._cpu(time.process_time()), self._floor.begin, self._floor.undo)

    def _side(self, name, work, run):
        site = self._running.sites[name]
        key = (name, work.api)
        client = self._clients.setdefault(key, works.Client(site.urls[work.api], self._running.sample))
        return Side(
            lambda choose: run(client, choose),
            lambda: self._cpu(cpu_seconds(site.pids)),
            lambda: work.before(client),
            lambda: works.undo(client),
            site.pids,
        )

    def _cpu(self, service):
        return service, cpu_seconds(self._database)
