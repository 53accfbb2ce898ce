"""Log lines about the work on nodes."""

import logging
from collections.abc import Mapping
from typing import Any

from ironic_traits.deploy import base, step_runs, steps


def log(
    logger: logging.Logger,
    action: str,
    outcome: base.Done | base.Later | step_runs.StepHeld | base.WorkFailed,
    node: Mapping[str, Any],
    settled: bool,
) -> None:
    """Log the outcome of an action.

    :param action: one of ``states.ACTIONS``.
    :param outcome: what the driver returned, or the WorkFailed that it raised.
    :param node: the node's current columns by name.
    :param settled: whether the outcome was stored. If not, the lease had ended: another worker may have the action now.
    """
    name = node_name(node)
    failure = outcome if isinstance(outcome, base.WorkFailed) else None
    if action == 'inspect' and not failure:
        # The driver has succeeded, but the data of the inspection cannot be used.
        failure = node['last_error']
    if not settled:
        logger.warning('Node %s: %s took longer than its lease; its outcome is not stored', name, action)
    elif failure:
        logger.warning('Node %s: %s failed, now %s: %s', name, action, node['provision_state'], failure)
    elif isinstance(outcome, base.Later):
        logger.info(
            'Node %s: %s continues in %g seconds, now %s', name, action, outcome.seconds, node['provision_state']
        )
    elif isinstance(outcome, step_runs.StepHeld):
        logger.info('Node %s: %s is held, now %s', name, action, node['provision_state'])
    elif step := node.get(f'{steps.KINDS.get(action)}_step'):
        logger.info('Node %s: %s continues with the step %s', name, action, steps.label(step))
    elif action == 'power':
        logger.info('Node %s: power finished, now %s', name, node['power_state'])
    else:
        logger.info('Node %s: %s finished, now %s', name, action, node['provision_state'])


def node_name(node: Mapping[str, Any]) -> str:
    """Return the label of a node in log lines: its name (if it has one) and its uuid."""
    return f'{node["name"]} ({node["uuid"]})' if node['name'] else node['uuid']
