"""Mirror a cloud of clouds.yaml: python -m benchmarks.mirror CLOUD postgresql+psycopg://… --pid PID_OF_IRONIC[,PID…]

The database is empty, and has the schema. The benchmark reads all nodes, follows the cloud without changes, and then
changes the descriptions of nodes there. It prints the duration of each step, the CPU of the mirror and of the
processes, and the lag of the changes.
"""

import argparse
import os
import statistics
import threading
import time

import openstack
import sqlalchemy as sa

from ironic_traits import conf
from ironic_traits.db import tables
from ironic_traits.inventory.mirrored import mirror_clouds
from ironic_traits.mirror.follower import Follower
from ironic_traits.service import Service

_TICKS = os.sysconf('SC_CLK_TCK')


def cpu(pids):
    """Return the seconds of CPU that processes have used, with their threads."""
    seconds = 0.0
    for pid in pids:
        with open(f'/proc/{pid}/stat') as file:
            fields = file.read().rpartition(')')[2].split()
        seconds += (int(fields[11]) + int(fields[12])) / _TICKS
    return seconds


class Measurement:
    """The time and the CPU of a block.

    :param what: name of the block.
    """

    def __init__(self, what, pids, follower):
        self._what, self._pids, self._follower = what, pids, follower

    def _now(self):
        return time.monotonic(), time.process_time(), cpu(self._pids), self._follower.requests

    def __enter__(self):
        self._begin = self._now()

    def __exit__(self, *exception):
        seconds, here, there, requests = (end - begin for begin, end in zip(self._begin, self._now(), strict=True))
        print(
            f'{self._what}: {seconds:.1f} s; CPU {here:.1f} s here ({here / seconds:.1%}), {there:.1f} s there '
            f'({there / seconds:.1%}); {requests} requests'
        )


def read_all(service, follower, name):
    """Run the mirror until it has read all nodes and records."""
    follower.work()
    while not mirror_clouds.get(service, name).passed_at:
        follower.work()


def follow(follower, seconds):
    """Run the mirror for some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(min(follower.work(), 1))


def lags(service, name, seconds, rate):
    """Change nodes of the cloud, and return the lag of each change after its response: [seconds, …]."""
    ironic = openstack.connect(cloud=name).baremetal
    with service.read() as connection:
        uuids = connection.scalars(sa.select(tables.nodes.c.uuid).where(tables.nodes.c.origin == name)).all()
    waiting, known, end, number = {}, [], time.monotonic() + seconds, 0
    while time.monotonic() < end or (waiting and time.monotonic() < end + 60):
        if time.monotonic() < end:
            uuid, text = uuids[number * 37 % len(uuids)], f'change {number}'
            ironic.patch_node(uuid, [{'op': 'add', 'path': '/description', 'value': text}])
            waiting[uuid, text], number = time.monotonic(), number + 1
        columns = (tables.nodes.c.uuid, tables.nodes.c.description)
        with service.read() as connection:
            rows = connection.execute(sa.select(*columns).where(columns[0].in_([uuid for uuid, _ in waiting])))
            for key in map(tuple, rows):
                if key in waiting:
                    known.append(time.monotonic() - waiting.pop(key))
        time.sleep(1 / rate)
    print(f'{number} changes, {len(waiting)} of them never known')
    return known


def main():
    """Run the benchmark."""
    parser = argparse.ArgumentParser()
    parser.add_argument('cloud')
    parser.add_argument('database')
    parser.add_argument('--pid', default='', help='processes of the cloud, separated by commas')
    parser.add_argument('--seconds', type=float, default=120)
    parser.add_argument('--rate', type=float, default=5, help='changes in a second')
    arguments = parser.parse_args()
    pids = [int(pid) for pid in arguments.pid.split(',') if pid]
    service = Service(conf.make(['--database', arguments.database]))
    follower = Follower(service, arguments.cloud)
    with Measurement('all nodes', pids, follower):
        read_all(service, follower, arguments.cloud)
    follow(follower, 30)
    with Measurement('no changes', pids, follower):
        follow(follower, arguments.seconds)
    thread = threading.Thread(target=follower.run)
    thread.start()
    with Measurement('changes', pids, follower):
        known = lags(service, arguments.cloud, arguments.seconds, arguments.rate)
    follower.stop()
    thread.join()
    cuts = statistics.quantiles(known, n=100)
    print(f'lag: median {statistics.median(known):.1f} s, p99 {cuts[98]:.1f} s, most {max(known):.1f} s')


if __name__ == '__main__':
    main()
