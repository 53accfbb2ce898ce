"""Execution of one step of an action."""

import contextlib
import dataclasses
from typing import Any

from ironic_traits import failures
from ironic_traits.deploy import base, states
from ironic_traits.deploy.steps import FLOW, label
from ironic_traits.masks import masked

#: {step that this service executes: target of the power action}.
_POWER = {'power_on': states.POWER_ON, 'power_off': states.POWER_OFF, 'reboot': states.REBOOT}


@dataclasses.dataclass(frozen=True)
class StepHeld:
    """The outcome of the step "hold": the work continues after the verb "unhold"."""


def execute(driver: base.Driver, task: base.Task) -> base.Done | base.Later | StepHeld:
    """Execute a step. Ironic's own steps are executed here, all other steps by the driver.

    :param task: it has a step.
    :returns: the result of ``base.Driver.work``, or StepHeld.
    :raises base.WorkFailed: the step has failed.
    """
    assert task.step is not None
    name = task.step['step']
    if name not in FLOW:
        return driver.work(task)
    if name == 'power_off' and task.node['disable_power_off']:
        raise base.WorkFailed(str(failures.PowerOffDisabled(target=states.POWER_OFF)))
    if name in _POWER:
        return driver.work(dataclasses.replace(task, action='power', arguments={'target': _POWER[name]}, step=None))
    if name == 'hold' and not task.phase:
        return StepHeld()
    if name == 'wait' and not task.phase:
        return _wait(task.step['args'].get('seconds', 0))
    return base.Done()


def error(task: base.Task, reason: str) -> str:
    """Return the ``last_error`` of an action whose step has failed, as Ironic's message.

    :param task: it has a step.
    :param reason: why it has failed.
    """
    assert task.step is not None
    if task.action in ('deploy', 'rebuild'):
        return f'Deploy step {label(task.step)} failed: {reason.removesuffix(".")}.'
    return f'Node {task.node["uuid"]} failed step {masked(task.step)}: {reason}'


def _wait(seconds: Any) -> base.Later:
    with contextlib.suppress(TypeError, ValueError):
        return base.Later(max(float(seconds), 0))
    raise base.WorkFailed(f'The argument "seconds" is not a number: {seconds!r}')
