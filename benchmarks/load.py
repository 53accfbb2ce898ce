"""Load on a service, and what it takes of time and of the server's CPU."""

import os
import pathlib
import random
import statistics
import threading
import time

CPU_TICK = os.sysconf('SC_CLK_TCK')


def cpu_seconds(roots):
    """Give the CPU time that processes and their children have used so far, in seconds."""
    parents, used = {}, {}
    for path in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            fields = path.read_text().rsplit(')', 1)[1].split()
        except OSError:
            continue
        pid = int(path.parent.name)
        parents[pid], used[pid] = int(fields[1]), int(fields[11]) + int(fields[12])
    total = 0
    for pid, ticks in used.items():
        while pid and pid not in roots:
            pid = parents.get(pid, 0)
        total += ticks if pid else 0
    return total / CPU_TICK


class Load:
    """A service under load.

    :param arguments: of the command line: ``seconds`` that each load lasts, ``pid`` of the server's processes.
    :ivar results: {name: {figure: value}}.
    """

    def __init__(self, arguments):
        self.arguments = arguments
        self.results = {}

    def connect(self):
        """Open a connection."""
        raise NotImplementedError

    def load(self, name, make, concurrency):
        """Send the requests that ``make`` gives, for some seconds, from several threads.

        :param make: function of a random generator and a thread's number, giving [(method, path, document), …].
        """
        stop, times, wrong = time.perf_counter() + self.arguments.seconds, [], {}

        def work(number):
            connection, choose = self.connect(), random.Random(number)
            while time.perf_counter() < stop:
                for method, path, document in make(choose, number):
                    start = time.perf_counter()
                    status, _ = connection.ask(method, path, document)
                    times.append(time.perf_counter() - start)
                    if status >= 300:
                        wrong[status] = wrong.get(status, 0) + 1

        before, start = cpu_seconds(self.arguments.pid), time.perf_counter()
        threads = [threading.Thread(target=work, args=(number,)) for number in range(concurrency)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        cpu, took = cpu_seconds(self.arguments.pid) - before, time.perf_counter() - start
        quantiles = statistics.quantiles(times, n=100)
        self.tell(
            f'{name}, {concurrency} client{"s" * (concurrency > 1)}',
            per_second=len(times) / took,
            p50_ms=quantiles[49] * 1000,
            p99_ms=quantiles[98] * 1000,
            cpu_ms=cpu / len(times) * 1000,
            **({'wrong': wrong} if wrong else {}),
        )

    def tell(self, name, **figures):
        """Print one line of figures, and keep them."""
        self.results[name] = figures
        shown = '  '.join(f'{k}={v:.2f}' if isinstance(v, float) else f'{k}={v}' for k, v in figures.items())
        print(f'{name:38} {shown}', flush=True)
