"""Validation of the clean and deploy steps in requests, against those that the driver declares."""

import dataclasses

from ironic_traits.deploy import base

#: Steps that Ironic itself executes, not a driver.  Every node accepts them, with any interface.
_FLOW = frozenset({'power_on', 'power_off', 'reboot', 'hold', 'wait'})


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of a driver.

    :ivar interface: the interface that it belongs to: 'bios', 'deploy', …
    :ivar name: its name.
    :ivar arguments: {name of an argument: its description}.
    :ivar required: names of the required arguments.
    """

    interface: str
    name: str
    arguments: dict[str, str] = dataclasses.field(default_factory=dict)
    required: tuple[str, ...] = ()


def check_clean(driver, node, requested):
    """Raise WorkRefused unless a node supports the requested clean steps.

    :param driver: ironic_traits.deploy.base.Driver.
    :param node: the node's columns by name.
    :param requested: [{'interface': …, 'step': …, 'args': …}, …].
    :raises base.WorkRefused: a step is not supported, or its arguments are wrong; the message is Ironic's.
    """
    if driver.clean_steps is None:
        return
    # A disabled interface (no-bios) has no steps.
    usable = {
        (step.interface, step.name): step
        for step in driver.clean_steps
        if node[f'{step.interface}_interface'] != f'no-{step.interface}'
    }
    errors = [
        error
        for each in requested
        if each['step'] not in _FLOW
        for error in _clean_errors(each, usable.get((each['interface'], each['step'])))
    ]
    if errors:
        raise base.WorkRefused(f'Cannot clean node {node["uuid"]}: {"; ".join(errors)}')


def deploy_error(driver, requested):
    """Return why a node cannot be deployed with the requested steps.

    Steps that the driver does not declare are accepted: in Ironic, the deploy ramdisk may have them.

    :param driver: ironic_traits.deploy.base.Driver; None for a driver that is not enabled.
    :param requested: [{'interface': …, 'step': …, 'args': …, 'priority': …}, …].
    :returns: Ironic's message; None if there is no error.
    """
    errors = [
        f'deploy step {each["step"]} on interface {each["interface"]} is a core step and cannot be overridden by user '
        'steps. It may be disabled by setting the priority to 0'
        for each in requested
        if driver and (each['interface'], each['step']) in driver.core_deploy_steps and int(each['priority']) > 0
    ]
    # Ironic's message has no space after the first sentence.
    return f'Validation of deploy steps from "deploy steps" argument failed.{"; ".join(errors)}' if errors else None


def _clean_errors(requested, step):
    if step is None:
        yield f'node does not support this clean step: {requested}'
        return
    arguments = requested.get('args') or {}
    unexpected = [name for name in arguments if name not in step.arguments]
    if unexpected:
        yield f'clean step {requested} has these unexpected arguments: {", ".join(unexpected)}'
    missing = [f'{name} ({step.arguments[name]})' for name in step.required if name not in arguments]
    if missing:
        yield f'clean step {requested} is missing these required arguments: {", ".join(missing)}'
