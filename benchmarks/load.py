"""Put load on a service, and measure the latency and the CPU time of the server."""

import os
import pathlib
import random
import statistics
import threading
import time

CPU_TICK = os.sysconf('SC_CLK_TCK')


def cpu_seconds(roots):
    """Return the CPU time that processes and their descendants have used so far, in seconds.

    :param roots: pids of the processes.
    """
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

    :param arguments: command line arguments: ``seconds`` that each load lasts, ``pid`` of the server's processes.
    :ivar results: {name of a load: {name of a figure: value}}.
    """

    def __init__(self, arguments):
        self.arguments = arguments
        self.results = {}

    def connect(self):
        """Open a connection."""
        raise NotImplementedError

    def load(self, name, make, concurrency):
        """Send requests for ``seconds``, and report the figures.

        :param name: name of the load.
        :param make: function that takes a random generator and the number of a thread, and returns the next requests:
            [(method, path, document), …].
        :param concurrency: number of threads.
        """
        stop, times, errors = time.perf_counter() + self.arguments.seconds, [], {}

        def work(number):
            connection, choose = self.connect(), random.Random(number)
            while time.perf_counter() < stop:
                for method, path, document in make(choose, number):
                    start = time.perf_counter()
                    status, _ = connection.ask(method, path, document)
                    times.append(time.perf_counter() - start)
                    if status >= 300:
                        errors[status] = errors.get(status, 0) + 1

        before, start = cpu_seconds(self.arguments.pid), time.perf_counter()
        threads = [threading.Thread(target=work, args=(number,)) for number in range(concurrency)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        cpu, duration = cpu_seconds(self.arguments.pid) - before, time.perf_counter() - start
        quantiles = statistics.quantiles(times, n=100)
        self.report(
            f'{name}, {concurrency} client{"s" * (concurrency > 1)}',
            per_second=len(times) / duration,
            p50_ms=quantiles[49] * 1000,
            p99_ms=quantiles[98] * 1000,
            cpu_ms=cpu / len(times) * 1000,
            **({'errors': errors} if errors else {}),
        )

    def report(self, name, **figures):
        """Print a line of figures, and add them to ``results``."""
        self.results[name] = figures
        text = '  '.join(f'{k}={v:.2f}' if isinstance(v, float) else f'{k}={v}' for k, v in figures.items())
        print(f'{name:38} {text}', flush=True)
