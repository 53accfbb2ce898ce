"""Change an Ironic while its mirror is killed: python -m benchmarks.churn URL DATABASE --pid PID[,PID…]

The Ironic needs no authentication, and has nodes that are available. The database is empty, and has the schema. The
benchmark

- reads all nodes, compares each field, and follows the cloud without changes,
- changes nodes while no mirror runs, for the CPU of the changes themselves,
- changes nodes, while the mirror is killed again and again (-9), and started at once,
- compares each field of each node ten seconds after the last change.

PID names the processes of the Ironic and its database. Their children count, too. The exit status is 1 if anything
differs.
"""

import argparse
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import sqlalchemy as sa

from benchmarks.churn_works import Changes, Waiting
from ironic_traits import conf
from ironic_traits.db import tables
from ironic_traits.service import Service
from tests.support.client import Client
from tests.support.mirror import Ironic, clouds_file, node_differences, nodes_here
from tests.support.service import Application

_TICKS = os.sysconf('SC_CLK_TCK')
_PROGRAM = pathlib.Path(sys.executable).parent / 'ironic-traits-mirror'
_CLOUD = 'churn'
#: Seconds after the last change within which the service must have all changes.
_SETTLED = 10


def cpu(pids):
    """Return the seconds of CPU that processes have used, with their children, also those that have ended."""
    families = {}
    for path in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            fields = path.read_text().rpartition(')')[2].split()
        except OSError:
            continue
        families[int(path.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    members = set(pids)
    while more := {pid for pid, (parent, _) in families.items() if parent in members} - members:
        members |= more
    return sum(families[pid][1] for pid in members if pid in families) / _TICKS


class Mirror:
    """The program ironic-traits-mirror.

    :param database: URL of the database.
    :param log: path of the file for its log.
    :ivar kills: number of times that it was killed.
    """

    def __init__(self, database, log):
        self._database, self._log, self._process, self.kills = database, log, None, 0

    def start(self):
        """Start it."""
        command = [_PROGRAM, '--database', self._database, '--cloud', _CLOUD]
        with open(self._log, 'a') as log:
            self._process = subprocess.Popen(command, stderr=log)  # noqa: S603 (our own program)

    def stop(self, is_killed=False):
        """End it."""
        (self._process.kill if is_killed else self._process.terminate)()
        self._process.wait(60)
        self.kills += is_killed

    @property
    def is_running(self):
        """Whether it still runs."""
        return self._process.poll() is None

    @property
    def cpu(self):
        """The seconds of CPU that it has used, in all of its processes."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        running = cpu([self._process.pid]) if self._process and self._process.poll() is None else 0
        return ended.ru_utime + ended.ru_stime + running


class Measurement:
    """The time, the CPU and the requests of a phase.

    :param mirror: Mirror.
    :param pids: processes of the Ironic.
    :param service: ironic_traits.service.Service.
    """

    def __init__(self, mirror, pids, service):
        self._mirror, self._pids, self._service = mirror, pids, service
        self.begin()

    def begin(self):
        """Begin a phase."""
        self._start = self._now()

    def end(self, what):
        """Print the figures of a phase, and return the CPU of the Ironic."""
        seconds, here, there, requests = (end - begin for begin, end in zip(self._start, self._now(), strict=True))
        _print(
            f'{what}: {seconds:.0f} s; CPU of the mirror {here:.1f} s ({here / seconds:.1%}), there {there:.1f} s '
            f'({there / seconds:.1%} of a core); {requests} requests of the mirror'
        )
        return there

    def _now(self):
        with self._service.read() as connection:
            requests = connection.scalar(sa.select(tables.mirror_clouds.c.requests)) or 0
        return time.monotonic(), self._mirror.cpu, cpu(self._pids), requests


def _print(text):
    print(text, flush=True)


def _wait_for_pass(service, mirror):
    """Wait until the mirror has read all nodes."""
    deadline = time.monotonic() + 1800
    while time.monotonic() < deadline and mirror.is_running:
        with service.read() as connection:
            if connection.scalar(sa.select(tables.mirror_clouds.c.passed_at)):
                return
        time.sleep(0.2)
    raise TimeoutError('The mirror has not read all nodes.')


def _compare(client, ironic, here=None):
    """Print the differences, and return the number of fields that differ.

    :param here: the nodes of this service; None to read them now.
    """
    here = here or nodes_here(client, _CLOUD)
    there = ironic.all('nodes')
    differences = list(node_differences(there, here))
    _print(f'{len(there)} nodes there, {len(here)} here; {len(differences)} differences')
    for difference in differences[:20]:
        _print(f'  {difference}')
    return len(differences)


def _churn(changes, waiting, seconds, rate, during=lambda: None):
    """Change nodes for some time, and return the number of changes."""
    begin, before = time.monotonic(), changes.count
    while (elapsed := time.monotonic() - begin) < seconds:
        if changes.count - before < elapsed * rate:
            changes.one(waiting)
        else:
            time.sleep(0.02)
        waiting.look()
        during()
    return changes.count - before


class Killer:
    """Kills the mirror from time to time.

    :param every: seconds between two kills, on average.
    """

    def __init__(self, mirror, every, chooser):
        self._mirror, self._every, self._chooser = mirror, every, chooser
        self._plan()

    def __call__(self):
        if time.monotonic() > self._at:
            self._mirror.stop(is_killed=True)
            self._mirror.start()
            self._plan()

    def _plan(self):
        self._at = time.monotonic() + self._every * self._chooser.uniform(0.5, 1.5)


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('ironic', help='URL')
    parser.add_argument('database')
    parser.add_argument('--pid', default='', help='processes of the Ironic and its database, separated by commas')
    parser.add_argument('--minutes', type=float, default=10, help='of changes')
    parser.add_argument('--idle', type=float, default=2, help='minutes without changes')
    parser.add_argument('--control', type=float, default=1, help='minutes of changes without a mirror')
    parser.add_argument('--nodes', type=int, default=10000, help='that the Ironic is to have: missing ones are created')
    parser.add_argument('--rate', type=float, default=6, help='changes in a second')
    parser.add_argument('--kill', type=float, default=60, help='seconds between two kills of the mirror, on average')
    parser.add_argument('--log', default=os.devnull, help='file for the log of the mirror')
    parser.add_argument('--seed', type=int, default=0, help='of the random numbers')
    return parser.parse_args()


def _report(waiting):
    for what, lags in sorted(waiting.lags.items()):
        if len(lags) > 1:
            cuts = statistics.quantiles(lags, n=100)
            _print(
                f'lag of {what} ({len(lags)}): median {statistics.median(lags):.1f} s, p99 {cuts[98]:.1f} s, '
                f'most {max(lags):.1f} s'
            )


def _run(arguments, service, pids):
    """Run the phases, and return the number of fields that differ."""
    ironic, client, mirror = (
        Ironic(arguments.ironic),
        Client(Application(service)),
        Mirror(arguments.database, arguments.log),
    )
    chooser = random.Random(arguments.seed)
    changes, waiting = Changes(ironic, chooser), Waiting(service)
    for _ in range(arguments.nodes - len(changes.nodes)):
        changes.create()
    measurement = Measurement(mirror, pids, service)
    try:
        mirror.start()
        _wait_for_pass(service, mirror)
        measurement.end(f'all {len(changes.nodes)} nodes')
        differing = _compare(client, ironic)
        measurement.begin()
        time.sleep(arguments.idle * 60)
        measurement.end('no changes')
        mirror.stop()
        measurement.begin()
        count = _churn(changes, Waiting(service), arguments.control * 60, arguments.rate)
        there = measurement.end(f'{count} changes without a mirror')
        _print(f'a change without a mirror: {there / max(count, 1) * 1000:.0f} ms of CPU there')
        mirror.start()
        killer = Killer(mirror, arguments.kill, chooser)
        measurement.begin()
        count = _churn(changes, waiting, arguments.minutes * 60, arguments.rate, killer)
        more = measurement.end(f'{count} changes, mirror killed {mirror.kills} times')
        _print(f'a change with a mirror: {more / max(count, 1) * 1000:.0f} ms of CPU there')
        _print(f'changes: {changes}')
        changes.settle()
        changes.one(waiting, 'rename')
        last = time.monotonic()
        while time.monotonic() < last + _SETTLED:
            waiting.look()
            time.sleep(0.05)
        here = nodes_here(client, _CLOUD)
        _report(waiting)
        if waiting.number:
            _print(f'{waiting.number} changes are not known here: {waiting}')
        return differing + _compare(client, ironic, here)
    finally:
        mirror.stop()


def main():
    """Run the benchmark."""
    arguments = _arguments()
    pids = [int(pid) for pid in arguments.pid.split(',') if pid]
    service = Service(conf.make(['--database', arguments.database]))
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / 'clouds.yaml'
        clouds_file(path, **{_CLOUD: arguments.ironic})
        os.environ['OS_CLIENT_CONFIG_FILE'] = str(path)
        sys.exit(bool(_run(arguments, service, pids)))


if __name__ == '__main__':
    main()
