"""Faults, in an order that follows from a seed."""

import collections
import contextlib
import random
import time

from tests.chaos.clients import PATIENCE


class Faults:
    """A schedule of faults of a System.

    :ivar counts: {kind: number of faults}.
    :ivar left_out: {kind: why it does not happen here}.
    :ivar problems: faults that had no effect, as sentences.
    """

    def __init__(self, system, seed, kinds=None):
        self._system, self._cluster = system, system.cluster
        self._choices = random.Random(f'faults-{seed}')
        self.counts, self.left_out, self.problems = collections.Counter(), {}, []
        #: The last faults, after which the first node does not come back: {kind: function}.
        self._last = {}
        self._kinds = {
            'api killed': self._kill_api,
            'worker killed': self._kill_worker,
            'database killed': self._kill_database,
            'database frozen': self._freeze,
            'database cut off': self._cut,
        }
        if system.no_disk:
            self.left_out['disk full'] = system.no_disk
        else:
            self._last['disk full'] = self._fill_disk
        if self._cluster.name == 'galera':
            self._kinds['node isolated'] = self._isolate
            self._kinds['node desynced'] = self._desync
        else:
            self._kinds['standby killed'] = self._kill_standby
            self._last['standby promoted'] = self._fail_over
        if system.no_clock:
            self.left_out['clock set'] = system.no_clock
        else:
            self._kinds['clock set'] = self._set_clock
        if kinds:
            self._last = {}
            self._kinds = {kind: self._kinds[kind] for kind in kinds if kind in self._kinds}

    def run(self, seconds):
        """Cause faults for some time. Each kind comes before any kind comes again. At the end, everything works.

        Each kind happens at least once, even if that takes longer: a cluster may need 15 seconds after a fault.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            order = list(self._kinds)
            self._choices.shuffle(order)
            for kind in order:
                if time.monotonic() >= end and self.counts[kind]:
                    continue
                time.sleep(self._choices.uniform(0.5, 2))
                self._kinds[kind]()
                self.counts[kind] += 1
        for kind, fail in self._last.items():
            fail()
            self.counts[kind] += 1
        if self._last:
            time.sleep(10)

    def _pause(self):
        time.sleep(self._choices.uniform(2, 5))

    def _number(self):
        """Return the number of a database node. It is mostly the first one, which is in use."""
        if self._cluster.name != 'galera' or self._choices.random() < 0.7:
            return 0
        return self._choices.randrange(1, len(self._cluster.nodes))

    def _kill_api(self):
        number = self._choices.randrange(len(self._system.apis))
        self._system.kill_api(number)
        time.sleep(self._choices.uniform(0, 1))
        self._system.start_api(number)

    def _kill_worker(self):
        number = self._choices.randrange(len(self._system.workers))
        self._system.kill_worker(number)
        time.sleep(self._choices.uniform(0, 1))
        self._system.start_worker(number)

    def _kill_database(self):
        node = self._cluster.nodes[self._number()]
        node.kill()
        self._pause()
        node.start()
        self._settle()

    def _freeze(self):
        node = self._cluster.nodes[self._number()]
        node.freeze()
        self._pause()
        node.thaw()
        self._settle()

    def _cut(self):
        proxy = self._system.proxies[self._number()]
        proxy.cut()
        self._pause()
        proxy.join_again()

    def _isolate(self):
        node = self._cluster.nodes[self._number()]
        node.isolate(True)
        self._pause()
        node.isolate(False)
        self._settle()

    def _desync(self):
        node = self._cluster.nodes[self._number()]
        node.desync(True)
        self._pause()
        node.desync(False)
        self._settle()

    def _set_clock(self):
        """Set the clock forward or back, by less than the checker waits for deploys: it moves the ends of leases."""
        node = self._cluster.nodes[0]
        node.set_clock(self._choices.choice([-30, 30]))
        self._pause()
        node.set_clock(0)
        time.sleep(1)

    def _fail_over(self):
        """Promote the standby. The old primary does not come back."""
        primary = self._cluster.nodes[0]
        primary.freeze()
        primary.kill()
        self._cluster.promote()

    def _kill_standby(self):
        """Kill the standby and start it again. Without it, no write is acknowledged."""
        standby = self._cluster.nodes[1]
        standby.kill()
        self._pause()
        standby.start()

    def _fill_disk(self):
        """Fill the disk of the first node. It does not come back, because Galera may then need a full transfer."""
        self._system.fill_disk()
        self._pause()
        if not self._cluster.nodes[0].refuses_writes():
            self.problems.append('disk full: the node still stores data')
        if self._cluster.name == 'galera':
            self._cluster.nodes[0].kill()

    def _settle(self):
        """Wait until all nodes are in the cluster again. A second fault before that may end a cluster of three."""
        with contextlib.suppress(AttributeError):
            self._cluster.settle()


#: Seconds that a request may take: [database] request_timeout, and the time to notice a fault and to reconnect.
LONGEST = PATIENCE - 5
