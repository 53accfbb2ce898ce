"""The pauses of a process of the service after faults of the database node that it uses.

    python -m benchmarks.failover [galera|pair] [REPETITIONS]

A pause is the longest time in which none of four clients that write without a pause had a success. The clusters are
those of the tests, with the settings of doc/source/scale.rst, and the options of the service have their defaults.
"""

import sys
import time

from tests.support import clusters
from tests.support.service import make_app, upgraded
from tests.support.writers import Writers

#: Seconds of the wait after a fault, in which its effect begins and ends.
WINDOW = 8


def main(kind='galera', repetitions='3'):
    """Print the pauses after each fault."""
    measure = {'galera': of_galera, 'pair': of_pair}[kind]
    pauses = {}
    for _ in range(int(repetitions)):
        for fault, pause in measure():
            pauses.setdefault(fault, []).append(pause)
            print(fault, f'{pause:.1f} s', flush=True)
    for fault, each in pauses.items():
        print(f'{fault}: {min(each):.1f} to {max(each):.1f} s')


def of_galera():
    """Yield (fault, seconds) for each fault of the first of three nodes."""
    cluster = clusters.Galera()
    try:
        cluster.start()
        first, second, _ = cluster.nodes
        with make_app(upgraded(cluster.create('failover'))) as app, Writers([app]) as writers:
            faults = {
                'killed': (first.kill, first.start),
                'frozen': (first.freeze, first.thaw),
                'isolated': (lambda: first.isolate(True), lambda: first.isolate(False)),
                'desynced': (lambda: first.desync(True), lambda: first.desync(False)),
            }
            for name, (begin, end) in faults.items():
                writers.wait()
                begin()
                yield name, writers.wait(seconds=WINDOW)
                end()
                yield f'comes back after: {name}', writers.wait(seconds=WINDOW)
                cluster.settle()
            before = int(second.status('wsrep_local_commits'))
            begun = time.monotonic()
            first.desync(True)
            while int(second.status('wsrep_local_commits')) < before + 4:
                time.sleep(0.02)
            yield 'until a desynced node is left', time.monotonic() - begun
    finally:
        cluster.stop()


def of_pair():
    """Yield (fault, seconds) for faults of the primary. The standby is promoted at once."""
    for name in ('killed', 'frozen'):
        cluster = clusters.PostgresPair()
        try:
            cluster.start()
            primary = cluster.nodes[0]
            with make_app(upgraded(cluster.create('failover'))) as app, Writers([app]) as writers:
                writers.wait()
                (primary.kill if name == 'killed' else primary.freeze)()
                cluster.promote()
                yield name, writers.wait(seconds=WINDOW)
        finally:
            cluster.stop()


if __name__ == '__main__':
    main(*sys.argv[1:])
