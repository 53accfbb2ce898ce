"""The steps of a deploy, rebuild, clean or service: the steps that a node supports, and the order of execution."""

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from oslo_config import cfg

from ironic_traits.deploy import base
from ironic_traits.masks import masked

#: A step in the API: {"interface": …, "step": its name, "args": …, "priority": …}.
StepValues = dict[str, Any]
#: (interface, name) of a step.
Key = tuple[str, str]

#: {action: the kind of its steps}. The kind is part of names: deploy_steps (argument), deploy_step (field).
KINDS = {'deploy': 'deploy', 'rebuild': 'deploy', 'clean': 'clean', 'service': 'service'}
#: The fields of a node while no step runs.
NO_STEP: dict[str, dict] = {f'{kind}_step': {} for kind in sorted(set(KINDS.values()))}
#: Steps that this service executes, not a driver. Every node supports them, with any interface.
FLOW = frozenset({'power_on', 'power_off', 'reboot', 'hold', 'wait'})
#: Interfaces of steps. Steps with the same priority are executed in the order of their interfaces here.
INTERFACES = ('vendor', 'power', 'management', 'firmware', 'deploy', 'bios', 'raid')


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of a driver.

    :ivar interface: the interface that it belongs to: 'bios', 'deploy', …
    :ivar name: its name.
    :ivar arguments: {name of an argument: its description}.
    :ivar required: names of the required arguments.
    :ivar priority: steps with a higher priority are executed first. Steps with priority 0 are executed only if a client
        or a deploy template names them.
    :ivar requires_ramdisk: whether it needs the ramdisk, which the client can disable.
    """

    interface: str
    name: str
    arguments: dict[str, str] = dataclasses.field(default_factory=dict)
    required: tuple[str, ...] = ()
    priority: int = 0
    requires_ramdisk: bool = True


def kind(driver: base.Driver, action: str) -> str | None:
    """Return the kind of the steps of an action; None if the driver performs the action as a whole.

    :param action: one of ``states.ACTIONS``.
    """
    name = KINDS.get(action)
    return name if name in driver.steps else None


def is_cleaned(options: cfg.ConfigOpts.GroupAttr, node: Mapping[str, Any]) -> bool:
    """Whether a node is cleaned before it becomes available.

    :param options: the [deploy] group of ConfigOpts.
    :param node: the node's columns by name.
    """
    return options.automated_clean if node['automated_clean'] is None else node['automated_clean']


def label(step: Mapping[str, Any]) -> str:
    """Return the name of a step with its interface: "bios.factory_reset"."""
    return f'{step["interface"]}.{step["step"]}'


def shown(action: str, step: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the fields of a node while a step runs.

    :param action: a key of KINDS.
    :param step: None for no step.
    :returns: {'deploy_step': the step with its secrets masked}.
    """
    return {f'{KINDS[action]}_step': masked(step) if step else {}}


def merged(requested: Collection[StepValues], of_templates: Iterable[StepValues]) -> list[StepValues]:
    """Return the requested deploy steps, and those of deploy templates that the request does not name."""
    keys = set(map(_key, requested))
    return [*requested, *(step for step in of_templates if _key(step) not in keys)]


def planned(
    driver: base.Driver, node: Mapping[str, Any], action: str, arguments: Mapping[str, Any]
) -> list[StepValues]:
    """Return the steps of an action.

    :param driver: it has steps for the action.
    :param node: the node's columns by name.
    :param action: a key of KINDS.
    :param arguments: arguments of the task. ``deploy_steps`` replace the driver's steps with the same interface and
        name. ``clean_steps`` and ``service_steps`` replace all steps of the driver. With ``disable_ramdisk``, clean and
        service steps cannot use a ramdisk.
    :returns: the steps in their order.
    :raises base.WorkRefused: the node does not support a requested step, or there are no deploy steps.
    """
    requested = arguments.get(f'{KINDS[action]}_steps') or ()
    if KINDS[action] == 'deploy':
        result = _deployment(driver, node, requested)
        if not result:
            raise base.WorkRefused('No deploy steps returned by the driver')
        return result
    problems = errors(driver, node, KINDS[action], requested, arguments.get('disable_ramdisk', False))
    if problems:
        raise base.WorkRefused(f'Cannot {action} node {node["uuid"]}: {problems}')
    return _in_request_order(driver, node, KINDS[action], requested)


def _in_request_order(
    driver: base.Driver, node: Mapping[str, Any], kind: str, requested: Iterable[Mapping[str, Any]]
) -> list[StepValues]:
    """Return the requested clean or service steps in the order of the request, or else those of the driver."""
    available = _available(driver, node, kind)
    if not requested:
        return _in_order([_step(key, {}, step.priority) for key, step in available.items()])
    priorities = {key: step.priority for key, step in available.items()}
    return [_step(_key(each), each.get('args'), priorities.get(_key(each), 0)) for each in requested]


def _deployment(
    driver: base.Driver, node: Mapping[str, Any], requested: Iterable[Mapping[str, Any]]
) -> list[StepValues]:
    """Return the requested deploy steps and those of the driver, the highest priority first."""
    chosen: dict[tuple[str, str], dict] = {}
    for each in requested:
        chosen.setdefault(_key(each), _step(_key(each), each.get('args'), int(each['priority'])))
    available = _available(driver, node, 'deploy')
    own = [_step(key, {}, step.priority) for key, step in available.items() if key not in chosen]
    return _in_order([*own, *chosen.values()])


def errors(
    driver: base.Driver | None,
    node: Mapping[str, Any],
    kind: str,
    requested: Collection[Mapping[str, Any]],
    disable_ramdisk: bool = False,
) -> str:
    """Return why a node does not support requested steps.

    Deploy steps that the driver does not declare are accepted if it runs a deploy ramdisk, which may have them.

    :param driver: None for a driver that is not enabled.
    :param node: the node's columns by name.
    :param kind: one of the values of KINDS.
    :param disable_ramdisk: whether steps that need a ramdisk are errors.
    :returns: Ironic's sentences, joined; '' if there is no error.
    """
    available = _available(driver, node, kind) if driver else {}
    result: list[str] = []
    for each in requested:
        step = available.get(_key(each))
        if each['step'] in FLOW:
            continue
        if step is not None:
            result += _argument_errors(kind, each, step)
            if disable_ramdisk and step.requires_ramdisk:
                result.append(f'{kind} step {masked(each)} requires booting a ramdisk')
        elif driver and kind in driver.steps and (kind != 'deploy' or not driver.runs_ramdisk):
            result.append(f'node does not support this {kind} step: {masked(each)}')
        if kind == 'deploy' and driver and _key(each) in driver.core_deploy_steps and int(each['priority']) > 0:
            result.append(
                f'deploy step {each["step"]} on interface {each["interface"]} is a core step and cannot be overridden '
                'by user steps. It may be disabled by setting the priority to 0'
            )
    return '; '.join(result + (_duplicates(requested) if kind == 'deploy' else []))


def _available(driver: base.Driver, node: Mapping[str, Any], kind: str) -> dict[Key, Step]:
    """Return the steps of a driver for a node: {(interface, name): Step}. A disabled interface (no-bios) has none."""
    return {
        (step.interface, step.name): step
        for step in driver.steps.get(kind, ())
        if node.get(f'{step.interface}_interface') != f'no-{step.interface}'
    }


def _key(step: Mapping[str, Any]) -> Key:
    return step['interface'], step['step']


def _step(key: Key, arguments: dict[str, Any] | None, priority: int) -> StepValues:
    return {'interface': key[0], 'step': key[1], 'args': arguments or {}, 'priority': priority}


def _in_order(steps: Iterable[StepValues]) -> list[StepValues]:
    enabled = [step for step in steps if step['priority'] > 0]
    return sorted(enabled, key=lambda step: (-step['priority'], INTERFACES.index(step['interface'])))


def _argument_errors(kind: str, requested: Mapping[str, Any], step: Step) -> Iterator[str]:
    arguments = requested.get('args') or {}
    unexpected = [name for name in arguments if name not in step.arguments]
    if unexpected:
        yield f'{kind} step {masked(requested)} has these unexpected arguments: {", ".join(unexpected)}'
    missing = [f'{name} ({step.arguments[name]})' for name in step.required if name not in arguments]
    is_disabled = kind == 'deploy' and not int(requested['priority'])
    if missing and not is_disabled:
        yield f'{kind} step {masked(requested)} is missing these required arguments: {", ".join(missing)}'


def _duplicates(requested: Iterable[Mapping[str, Any]]) -> list[str]:
    labels = [name for name, count in Counter(map(label, requested)).items() if count > 1]
    if not labels:
        return []
    return [
        "deploy steps from all deploy templates matching this node's instance traits cannot have the same interface "
        f'and step. Duplicate deploy steps for {", ".join(labels)}'
    ]
