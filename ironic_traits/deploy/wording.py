"""What came of the work on a node, in words."""

from ironic_traits.deploy import base


def log(logger, action, outcome, node, settled):
    """Log what came of an action.

    :param logger: logging.Logger.
    :param action: one of ``states.ACTIONS``.
    :param outcome: ironic_traits.deploy.base.Done or Later, or the WorkFailed that the driver raised.
    :param node: the node's columns by name, as they are now.
    :param settled: whether the outcome was written; otherwise another worker has the action.
    """
    name = node_name(node)
    if not settled:
        logger.warning('Node %s: %s took longer than its lease; another worker has it now', name, action)
    elif isinstance(outcome, base.WorkFailed):
        logger.warning('Node %s: %s failed, now %s: %s', name, action, node['provision_state'], outcome)
    elif isinstance(outcome, base.Later):
        logger.info('Node %s: %s goes on in %g seconds, now %s', name, action, outcome.seconds, node['provision_state'])
    elif action == 'power':
        logger.info('Node %s: power finished, now %s', name, node['power_state'])
    else:
        logger.info('Node %s: %s finished, now %s', name, action, node['provision_state'])


def node_name(node):
    """Return what a node is called in the log: its name, if it has one, and its uuid."""
    return f'{node["name"]} ({node["uuid"]})' if node['name'] else node['uuid']
