"""The main loop of a worker process, which performs the transitions that are due, one after another."""

import contextlib
import logging
import signal
import threading

from ironic_traits import failures
from ironic_traits.db import outage
from ironic_traits.deploy import base, step_runs, steps, time_limits, wording
from ironic_traits.inventory import deploy_templates, node_states, outcomes, transitions

LOG = logging.getLogger(__name__)

#: Most transitions that are read in one poll.
BATCH = 20
#: Seconds to wait after an error, such as an outage of the database.
PAUSE = 1
#: Seconds between the first idle poll and the next one.  Each further idle poll doubles it, up to [deploy]
#: poll_interval.
SHORTEST = 0.01


class Worker:
    """A worker, which performs transitions until it is stopped.  Any number of workers may share a database.

    :param service: ironic_traits.service.Service.
    :param wakeups: ironic_traits.wakeup.Receiver, by which requests wake it; None to poll only.
    """

    def __init__(self, service, wakeups=None):
        self.service = service
        self._stopped = threading.Event()
        self._wakeups = wakeups

    def stop(self):
        """Stop ``run`` after the current transition.  Signal handlers may call this."""
        self._stopped.set()
        if self._wakeups:
            self._wakeups.interrupt()

    def run(self):
        """Perform transitions until ``stop`` is called."""
        pause = 0
        while not self._stopped.is_set():
            try:
                idle = min(max(SHORTEST, 2 * pause), self.service.conf.deploy.poll_interval)
                pause = 0 if self.work() else idle
            except Exception as error:
                if not outage.is_one(error):
                    LOG.exception('An error interrupted the processing of transitions, which is tried again')
                pause = PAUSE
            self._wait(pause)

    def _wait(self, seconds):
        if self._wakeups:
            self._wakeups.wait(seconds)
        else:
            self._stopped.wait(seconds)

    def work(self):
        """Perform the transitions that are due now.

        :returns: their number.
        """
        uuids = transitions.due(self.service, BATCH)
        for uuid in uuids:
            if self._stopped.is_set():
                break
            try:
                self._perform(uuid)
            except failures.NodeNotFound:
                LOG.info('Node %s was deleted while a transition of it was due', uuid)
        return len(uuids)

    def _perform(self, uuid):
        claim = transitions.claim(self.service, uuid)
        if claim is None:
            return
        outcome = self._outcome(claim)
        settled = outcomes.settle(self.service, claim, outcome)
        wording.log(LOG, claim.action, outcome, node_states.get(self.service, uuid), settled)

    def _outcome(self, claim):
        deploy = self.service.conf.deploy
        if claim.attempts > deploy.max_attempts:
            return base.WorkFailed(
                f'"{claim.action}" was started {deploy.max_attempts} times, but no worker finished it.'
            )
        node = node_states.get(self.service, claim.node)
        limit = time_limits.seconds(deploy, claim.action, claim.arguments)
        if limit and claim.seconds >= limit:
            return base.WorkFailed(time_limits.error(node, claim.action, claim.arguments, limit))
        if claim.action == 'clean' and 'clean_steps' not in claim.arguments and not _is_cleaned(deploy, node):
            return base.Done()
        driver = self.service.drivers.get(node['driver'])
        if driver is None:
            return base.WorkFailed(f"The driver '{node['driver']}' is not enabled here.")
        try:
            return self._work(driver, claim, node)
        except base.WorkFailed as error:
            return error

    def _work(self, driver, claim, node):
        step, arguments = claim.step, claim.arguments
        if not step and steps.KINDS.get(claim.action) == 'deploy':
            arguments = self._with_templates(claim, node)
        if not step and steps.kind(driver, claim.action):
            planned = steps.planned(driver, node, claim.action, arguments)
            if not planned or not transitions.begin(self.service, claim, planned):
                return base.Done()
            step = planned[0]
        return self._call_driver(driver, base.Task(claim.action, claim.phase, arguments, node, step))

    def _with_templates(self, claim, node):
        """Return the arguments of a deploy, with the steps of the deploy templates for it."""
        deploy_steps = steps.merged(
            claim.arguments.get('deploy_steps') or [], deploy_templates.steps_of(self.service, node)
        )
        return claim.arguments | ({'deploy_steps': deploy_steps} if deploy_steps else {})

    def _call_driver(self, driver, task):
        try:
            with _ended_after(self.service.conf.deploy.lease_seconds):
                outcome = step_runs.execute(driver, task) if task.step else driver.work(task)
            _check(task, outcome)
            return outcome
        except base.WorkFailed as error:
            reason, failure = str(error), type(error)
        except Exception as error:
            LOG.exception('Node %s: the driver failed in "%s"', task.node['uuid'], task.action)
            reason, failure = f'The driver failed in "{task.action}": {type(error).__name__}: {error}', base.WorkFailed
        raise failure(step_runs.error(task, reason) if task.step else reason)


def _check(task, outcome):
    if not isinstance(outcome, (base.Done, base.Later, step_runs.Held)):
        raise TypeError(f'it returned {outcome!r}')
    is_blind = isinstance(outcome, base.Done) and not (task.node['power_state'] or outcome.power_state)
    if task.action == 'verify' and is_blind:
        # nova treats a node without a power state as broken.
        raise base.WorkFailed(f"The driver '{task.node['driver']}' did not determine the power state.")


@contextlib.contextmanager
def _ended_after(seconds):
    """Raise TimeoutError in the block when it takes longer, so that a driver that hangs does not block the worker.

    It works by a signal, and so in the main thread only.  Workers in other threads (of tests) have no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*arguments):
        raise TimeoutError(f'it took longer than {seconds} seconds')

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _is_cleaned(deploy, node):
    return deploy.automated_clean if node['automated_clean'] is None else node['automated_clean']
