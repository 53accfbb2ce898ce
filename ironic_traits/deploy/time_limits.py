"""How long the work on a node may take altogether, and what is said of work that takes longer."""

from ironic_traits.deploy import states

#: The option of each action; deploy_callback_timeout of all others.
_OPTIONS = {
    'clean': 'clean_callback_timeout',
    'inspect': 'inspect_wait_timeout',
    'rescue': 'rescue_callback_timeout',
    'unrescue': 'rescue_callback_timeout',
}


def seconds(options, action, arguments):
    """Return the time limit of an action in seconds, 0 for none.

    :param options: the [deploy] group of ConfigOpts.
    :param action: one of ``states.ACTIONS``.
    :param arguments: what the client said, a dict.
    """
    if action != 'power':
        return options[_OPTIONS.get(action, 'deploy_callback_timeout')]
    if arguments.get('timeout'):
        return arguments['timeout']
    is_soft = arguments['target'] in (states.SOFT_REBOOT, states.SOFT_POWER_OFF)
    return options.soft_power_off_timeout if is_soft else options.power_state_change_timeout


def error(node, action, arguments, limit):
    """Return the ``last_error`` of work that took longer: Ironic's sentence where it has one.

    :param node: the node's columns by name.
    :param limit: in seconds.
    """
    sentences = {
        'power': f'Failed to set node power state to {arguments.get("target")}.',
        **dict.fromkeys(('deploy', 'rebuild'), f'Timeout reached while waiting for callback for node {node["uuid"]}'),
        'clean': 'Timeout reached while cleaning the node. Please check if the ramdisk responsible for the cleaning is '
        f'running on the node. Failed on step {node["clean_step"]}.',
        'inspect': 'timeout reached while inspecting the node',
        'rescue': 'Timeout reached while waiting for rescue ramdisk callback for node',
    }
    return sentences.get(action, f'"{action}" did not come to an end within {limit} seconds.')
