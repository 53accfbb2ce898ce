"""The steps that clients may name when they clean or deploy a node, as far as its driver declares them."""

import dataclasses

from ironic_traits.deploy import base

#: Steps of the flow itself, which every node takes, whatever interface they name.
_FLOW = frozenset({'power_on', 'power_off', 'reboot', 'hold', 'wait'})


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of a driver.

    :ivar interface: what it belongs to: 'bios', 'deploy', …
    :ivar name: its name.
    :ivar arguments: {name: description} of what it takes.
    :ivar required: names of the arguments that it cannot do without.
    """

    interface: str
    name: str
    arguments: dict[str, str] = dataclasses.field(default_factory=dict)
    required: tuple[str, ...] = ()


def check_clean(driver, node, requested):
    """Refuse clean steps that a node does not have.

    :param driver: ironic_traits.deploy.base.Driver.
    :param node: its columns by name.
    :param requested: [{'interface': …, 'step': …, 'args': …}, …].
    :raises base.WorkRefused: it does not have all of them; the sentence is Ironic's.
    """
    if driver.clean_steps is None:
        return
    # An interface that the node goes without has no steps.
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
    """Say why a node cannot be deployed with steps that a client names.

    Steps that no driver declares are none of the errors: in Ironic the deploy ramdisk may know them.

    :param driver: ironic_traits.deploy.base.Driver; None for one that is not enabled here.
    :param requested: [{'interface': …, 'step': …, 'args': …, 'priority': …}, …].
    :returns: Ironic's sentence; None when nothing is wrong.
    """
    errors = [
        f'deploy step {each["step"]} on interface {each["interface"]} is a core step and cannot be overridden by user '
        'steps. It may be disabled by setting the priority to 0'
        for each in requested
        if driver and (each['interface'], each['step']) in driver.core_deploy_steps and int(each['priority']) > 0
    ]
    # Ironic leaves no space here.
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
