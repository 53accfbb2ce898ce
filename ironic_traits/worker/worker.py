"""The main loop of a worker process, which performs the transitions that are due, many at a time.

Each transition has a thread of its own, because a driver may wait for a machine. The main thread polls for work,
begins the threads, and ends transitions whose driver does not return within its lease.
"""

import contextlib
import logging
import math
import queue
import threading
import time

from ironic_traits.db.failover import outage
from ironic_traits.inventory.provisioning import transitions
from ironic_traits.service import Service
from ironic_traits.worker.performer import Performer, RunningTransition
from ironic_traits.worker.wakeup import Receiver

LOG = logging.getLogger(__name__)

#: Seconds to wait after an error, such as an outage of the database.
PAUSE = 1
#: Seconds between the first idle poll and the next one. Each further idle poll doubles it, up to [deploy]
#: poll_interval.
SHORTEST = 0.01


class Worker:
    """A worker, which performs transitions until it is stopped. Any number of workers may share a database.

    :param wakeups: by which requests wake it; None to poll only.
    """

    def __init__(self, service: Service, wakeups: Receiver | None = None) -> None:
        self._service = service
        self._options = service.conf.deploy
        self._performer = Performer(service)
        self._wakeups = wakeups
        self._stopped = threading.Event()
        #: An item for each transition that has ended, and for a stop. Unlike an Event, signal handlers may use it.
        self._changes: queue.SimpleQueue[None] = queue.SimpleQueue()
        #: The transitions that are performed now. All threads change it.
        self._runs: set[RunningTransition] = set()
        #: Transitions whose driver has not returned in time.
        self._lost: list[RunningTransition] = []

    def stop(self) -> None:
        """Stop ``run`` after the transitions that it performs now. Signal handlers may call this."""
        self._stopped.set()
        self._wake()

    def run(self) -> None:
        """Perform transitions until ``stop`` is called."""
        pause = 0
        while not self._stopped.is_set():
            try:
                idle = min(max(SHORTEST, 2 * pause), self._options.poll_interval)
                pause = 0 if self._begin_due() else idle
            except Exception as error:
                outage.log(LOG, error, 'An error interrupted the search for transitions, which is tried again')
                pause = PAUSE
            if self._wait(pause):
                pause = 0
            self._end_overdue()
        while self._runs:
            self._wait(self._options.poll_interval)
            self._end_overdue()

    def _begin_due(self) -> int:
        """Begin transitions that are due now, as long as there are free threads. Return how many."""
        busy = {run.uuid for run in list(self._runs)}
        free = self._options.threads - len(busy)
        if free <= 0:
            return 0
        due = transitions.due(self._service, free + len(busy))
        begun = [RunningTransition(uuid) for uuid in due if uuid not in busy][:free]
        for run in begun:
            self._runs.add(run)
            run.thread = threading.Thread(target=self._perform, args=(run,), daemon=True)
            try:
                run.thread.start()
            except RuntimeError:
                # The system has no thread left. Nothing would ever end this run.
                self._runs.discard(run)
                raise
        return len(begun)

    def _perform(self, run: RunningTransition) -> None:
        """Perform a transition, in its thread."""
        try:
            self._performer.perform(run)
        except Exception as error:
            outage.log(LOG, error, 'Node %s: an error interrupted its transition, which is tried again', run.uuid)
            time.sleep(PAUSE)
        finally:
            self._runs.discard(run)
            self._wake()

    def _end_overdue(self) -> None:
        """End the transitions whose driver does not return. Their threads are left alone: nothing can end a thread."""
        for run in list(self._runs):
            if self._seconds_left(run) > 0:
                continue
            self._lost = [each for each in self._lost if each.thread and each.thread.is_alive()] + [run]
            self._runs.discard(run)
            try:
                self._performer.end(run, self._options.lease_seconds)
            except Exception as error:
                outage.log(LOG, error, 'Node %s: the end of its transition cannot be stored', run.uuid)
        if len(self._lost) > self._options.threads:
            LOG.error('%d calls of drivers have not returned. The worker stops, to be started again', len(self._lost))
            self._lost = []
            self.stop()

    def _seconds_left(self, run: RunningTransition) -> float:
        """Return how many seconds the driver's call may still take; infinity if none is under way."""
        began = run.call_began
        return math.inf if began is None else began + self._options.lease_seconds - time.monotonic()

    def _wake(self) -> None:
        self._changes.put(None)
        if self._wakeups:
            self._wakeups.interrupt()

    def _wait(self, seconds: float) -> bool:
        """Wait for a time, or until something changes or a lease ends. Return whether something has changed."""
        seconds = max(0, min([seconds, *map(self._seconds_left, list(self._runs))]))
        has_changed = False
        with contextlib.suppress(queue.Empty):
            if self._wakeups:
                self._wakeups.wait(seconds if self._changes.empty() else 0)
            else:
                self._changes.get(timeout=seconds)
                has_changed = True
            while True:
                self._changes.get_nowait()
                has_changed = True
        return has_changed
