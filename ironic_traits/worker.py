"""What a worker process does: carry transitions that are due, one after another."""

import contextlib
import logging
import signal
import threading

from ironic_traits import failures
from ironic_traits.db import outage
from ironic_traits.deploy import base, steps, time_limits, wording
from ironic_traits.inventory import node_states, transitions

LOG = logging.getLogger(__name__)

#: Transitions looked for at a time.
BATCH = 20
#: Seconds to wait after the database could not be used.
PAUSE = 1
#: Seconds before the second look after work; doubled with each look that finds nothing, up to [deploy] poll_interval.
SHORTEST = 0.01


class Worker:
    """Carries transitions until it is stopped.  Any number of them may work on one database.

    :param service: ironic_traits.service.Service.
    :param wakeups: ironic_traits.wakeup.Receiver, by which requests wake it; None where none can.
    """

    def __init__(self, service, wakeups=None):
        self.service = service
        self._stopped = threading.Event()
        self._wakeups = wakeups

    def stop(self):
        """Let ``run`` return when the transition in hand is settled; may be called by a signal handler."""
        self._stopped.set()
        if self._wakeups:
            self._wakeups.interrupt()

    def run(self):
        """Work until ``stop`` is called."""
        pause = 0
        while not self._stopped.is_set():
            try:
                idle = min(max(SHORTEST, 2 * pause), self.service.conf.deploy.poll_interval)
                pause = 0 if self.work() else idle
            except Exception as error:
                if not outage.is_one(error):
                    LOG.exception('Transitions cannot be carried at the moment')
                pause = PAUSE
            self._wait(pause)

    def _wait(self, seconds):
        if self._wakeups:
            self._wakeups.wait(seconds)
        else:
            self._stopped.wait(seconds)

    def work(self):
        """Carry the transitions that are due now.

        :returns: how many there were.
        """
        found = transitions.due(self.service, BATCH)
        for uuid in found:
            if self._stopped.is_set():
                break
            try:
                self._carry(uuid)
            except failures.NodeNotFound:
                LOG.info('Node %s was deleted while something was to be done with it', uuid)
        return len(found)

    def _carry(self, uuid):
        claim = transitions.claim(self.service, uuid)
        if claim is None:
            return
        outcome = self._outcome(claim)
        settled = transitions.settle(self.service, claim, outcome)
        wording.log(LOG, claim.action, outcome, node_states.get(self.service, uuid), settled)

    def _outcome(self, claim):
        deploy = self.service.conf.deploy
        if claim.attempts > deploy.max_attempts:
            return base.WorkFailed(
                f'"{claim.action}" was begun {deploy.max_attempts} times, and no worker came to an end with it.'
            )
        node = node_states.get(self.service, claim.node)
        limit = time_limits.seconds(deploy, claim.action, claim.arguments)
        if limit and claim.seconds >= limit:
            return base.WorkFailed(time_limits.error(node, claim.action, claim.arguments, limit))
        if claim.action == 'clean' and 'clean_steps' not in claim.arguments and not _is_cleaned(deploy, node):
            return base.Done()
        try:
            return self._drive(base.Task(claim.action, claim.phase, claim.arguments, node))
        except base.WorkFailed as error:
            return error
        except Exception as error:
            LOG.exception('Node %s: the driver failed in "%s"', claim.node, claim.action)
            return base.WorkFailed(f'The driver failed in "{claim.action}": {type(error).__name__}: {error}')

    def _drive(self, task):
        driver = self.service.drivers.get(task.node['driver'])
        if driver is None:
            raise base.WorkFailed(f"The driver '{task.node['driver']}' is not enabled here.")
        if task.action == 'clean' and not task.phase:
            steps.check_clean(driver, task.node, task.arguments.get('clean_steps', ()))
        with _ended_after(self.service.conf.deploy.lease_seconds):
            outcome = driver.work(task)
        if not isinstance(outcome, (base.Done, base.Later)):
            raise TypeError(f'it gave {outcome!r}')
        known = task.node['power_state'] or isinstance(outcome, base.Later) or outcome.power_state
        if task.action == 'verify' and not known:
            # Whoever schedules takes a node without a power state for broken.
            raise base.WorkFailed(f"The driver '{task.node['driver']}' did not find out the power state.")
        return outcome


@contextlib.contextmanager
def _ended_after(seconds):
    """Raise TimeoutError in the main thread when the block takes longer: a driver that hangs holds up nothing else.

    A worker in another thread (a test's) goes without.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*signaled):
        raise TimeoutError(f'it took longer than {seconds} seconds')

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _is_cleaned(deploy, node):
    return deploy.automated_clean if node['automated_clean'] is None else node['automated_clean']
