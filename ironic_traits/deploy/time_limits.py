"""Time limits of actions on nodes, and the errors of actions that exceed them."""

from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from ironic_traits.deploy import states

#: {action: option with its limit}. All other actions use deploy_callback_timeout.
_OPTIONS = {
    'clean': 'clean_callback_timeout',
    'inspect': 'inspect_wait_timeout',
    'rescue': 'rescue_callback_timeout',
    'service': 'service_callback_timeout',
    'unrescue': 'rescue_callback_timeout',
}


def seconds(options: cfg.ConfigOpts.GroupAttr, action: str, arguments: Mapping[str, Any]) -> float:
    """Return the time limit of an action in seconds; 0 for no limit.

    :param options: the [deploy] group of ConfigOpts.
    :param action: one of ``states.ACTIONS``.
    :param arguments: the client's arguments of the action.
    """
    if action != 'power':
        return options[_OPTIONS.get(action, 'deploy_callback_timeout')]
    if arguments.get('timeout'):
        return arguments['timeout']
    is_soft = arguments['target'] in (states.SOFT_REBOOT, states.SOFT_POWER_OFF)
    return options.soft_power_off_timeout if is_soft else options.power_state_change_timeout


def error(node: Mapping[str, Any], action: str, arguments: Mapping[str, Any], limit: float) -> str:
    """Return the ``last_error`` of an action that exceeds its limit, as Ironic's message if Ironic has one.

    :param node: the node's columns by name.
    :param action: one of ``states.ACTIONS``.
    :param arguments: the client's arguments of the action.
    :param limit: the limit in seconds.
    """
    sentences = {
        'power': f'Failed to set node power state to {arguments.get("target")}.',
        **dict.fromkeys(('deploy', 'rebuild'), f'Timeout reached while waiting for callback for node {node["uuid"]}'),
        'clean': 'Timeout reached while cleaning the node. Please check if the ramdisk responsible for the cleaning is '
        f'running on the node. Failed on step {node["clean_step"]}.',
        'service': 'Timeout reached while servicing the node. Please check if the ramdisk responsible for the '
        f'servicing is running on the node. Failed on step {node["service_step"]}.',
        'inspect': 'timeout reached while inspecting the node',
        'rescue': 'Timeout reached while waiting for rescue ramdisk callback for node',
    }
    return sentences.get(action, f'"{action}" did not finish within {limit} seconds.')
