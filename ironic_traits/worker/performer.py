"""Performs a transition of a node: claims it, calls the driver, and stores the outcome."""

import dataclasses
import logging
import threading
import time
from typing import Any

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.deploy import base, step_runs, steps, time_limits, work_log
from ironic_traits.inventory.inspection import outcomes
from ironic_traits.inventory.inspection.outcomes import Outcome
from ironic_traits.inventory.provisioning import node_states, transitions
from ironic_traits.inventory.records import deploy_templates
from ironic_traits.service import Service
from ironic_traits.spans import Span, kind, span

LOG = logging.getLogger(__name__)

#: Threads that use the database at a time. The others wait, or call drivers. More threads would not be faster, because
#: only one of them runs Python code, and SQLite has one writer.
_IN_DATABASE = 4


@dataclasses.dataclass(frozen=True)
class _Call:
    """A call of a driver."""

    driver: base.Driver
    task: base.Task

    def outcome(self) -> Outcome:
        """Call the driver, and return its outcome. All its exceptions become a WorkFailed."""
        task = self.task
        try:
            outcome = step_runs.execute(self.driver, task) if task.step else self.driver.work(task)
            _check(task, outcome)
            return outcome
        except base.WorkFailed as error:
            failure = self._failure(str(error), type(error))
            failure.done = error.done
            return failure
        except Exception as error:
            LOG.exception('Node %s: the driver failed in "%s"', task.node['uuid'], task.action)
            return self.error(error)

    def error(self, error: Exception) -> base.WorkFailed:
        """Return the WorkFailed of a call that ended with an exception."""
        return self._failure(f'The driver failed in "{self.task.action}": {type(error).__name__}: {error}')

    def _failure(self, reason: str, kind: type[base.WorkFailed] = base.WorkFailed) -> base.WorkFailed:
        return kind(step_runs.error(self.task, reason) if self.task.step else reason)


@dataclasses.dataclass(eq=False)
class RunningTransition:
    """One transition that is performed.

    :ivar uuid: of the node.
    :ivar claim: transitions.Lease; None as long as the transition is not claimed.
    :ivar call: the last call of the driver; None before it.
    :ivar call_began: when that call began, by ``time.monotonic``; None if no call is under way.
    :ivar thread: the thread that performs it.
    """

    uuid: str
    claim: transitions.Lease | None = None
    call: _Call | None = None
    call_began: float | None = None
    thread: threading.Thread | None = None


class Performer:
    """Performs transitions in the threads that call it."""

    def __init__(self, service: Service) -> None:
        self._context = Context(service, None, 0, '')
        self._database = threading.BoundedSemaphore(_IN_DATABASE)

    def perform(self, run: RunningTransition) -> None:
        """Perform a transition. Do nothing if another worker has claimed it, or the node was deleted.

        :param run: RunningTransition; its attributes are set on the way.
        """
        with span('transition', {'ironic_traits.node': run.uuid}) as measured:
            self._perform(run, measured)

    def _perform(self, run: RunningTransition, measured: Span) -> None:
        try:
            with self._database:
                run.claim = transitions.claim(self._context.service, run.uuid)
                if run.claim is None:
                    return
                measured.name = f'transition {run.claim.action}'
                outcome = self._next(run.claim)
            if isinstance(outcome, _Call):
                run.call, run.call_began = outcome, time.monotonic()
                outcome = outcome.outcome()
                run.call_began = None
            if isinstance(outcome, base.WorkFailed):
                measured.error = kind(outcome)
            self._settle(run, outcome)
        except failures.NodeNotFound:
            LOG.info('Node %s was deleted while a transition of it was due', run.uuid)

    def end(self, run: RunningTransition, seconds: float) -> None:
        """End a run whose driver does not return. What the driver returns later is ignored.

        :param seconds: how long the call has taken.
        """
        assert run.call
        outcome = run.call.error(TimeoutError(f'it took longer than {seconds} seconds'))
        try:
            self._settle(run, outcome)
        except failures.NodeNotFound:
            LOG.info('Node %s was deleted while its driver was called', run.uuid)

    def _settle(self, run: RunningTransition, outcome: Outcome) -> None:
        assert run.claim
        with self._database:
            settled = outcomes.settle(self._context, run.claim, outcome)
            node = node_states.get(self._context, run.uuid)
        work_log.log(LOG, run.claim.action, outcome, node, settled)

    def _next(self, claim: transitions.Lease) -> _Call | Outcome:
        """Return what is to be done for a claim: a _Call, or an outcome without one."""
        deploy = self._context.conf.deploy
        if claim.action == transitions.REQUEST:
            return base.Done()
        if claim.attempts > deploy.max_attempts:
            return base.WorkFailed(
                f'"{claim.action}" was started {deploy.max_attempts} times, but no worker finished it.'
            )
        node = node_states.get(self._context, claim.node)
        limit = time_limits.seconds(deploy, claim.action, claim.arguments)
        if limit and claim.seconds >= limit:
            return base.WorkFailed(time_limits.error(node, claim.action, claim.arguments, limit))
        if claim.action == 'clean' and 'clean_steps' not in claim.arguments and not steps.is_cleaned(deploy, node):
            return base.Done()
        driver = self._context.service.drivers.get(node['driver'])
        if driver is None:
            return base.WorkFailed(f"The driver '{node['driver']}' is not enabled here.")
        try:
            return self._call(driver, claim, node)
        except base.WorkFailed as error:
            return error

    def _call(self, driver: base.Driver, claim: transitions.Lease, node: dict[str, Any]) -> _Call | base.Done:
        step, arguments = claim.step, claim.arguments
        if not step and steps.KINDS.get(claim.action) == 'deploy':
            arguments = self._with_templates(claim, node)
        if not step and steps.kind(driver, claim.action):
            planned = steps.planned(driver, node, claim.action, arguments)
            if not planned or not transitions.begin(self._context, claim, planned):
                return base.Done()
            step = planned[0]
        return _Call(driver, base.Task(claim.action, claim.phase, arguments, node, step))

    def _with_templates(self, claim: transitions.Lease, node: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a deploy, with the steps of the deploy templates for it."""
        deploy_steps = steps.merged(
            claim.arguments.get('deploy_steps') or [], deploy_templates.steps_of(self._context, node)
        )
        return claim.arguments | ({'deploy_steps': deploy_steps} if deploy_steps else {})


def _check(task: base.Task, outcome: object) -> None:
    if not isinstance(outcome, (base.Done, base.Later, step_runs.StepHeld)):
        raise TypeError(f'it returned {outcome!r}')
    is_blind = isinstance(outcome, base.Done) and not (task.node['power_state'] or outcome.power_state)
    if task.action == 'verify' and is_blind:
        # nova treats a node without a power state as broken.
        raise base.WorkFailed(f"The driver '{task.node['driver']}' did not determine the power state.")
