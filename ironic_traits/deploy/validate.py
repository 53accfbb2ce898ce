"""The deploy-validate hook: whether a node, as it is, can be deployed.

What checks stand behind it is up to the operator: every installed entry point of ``ironic_traits.deploy.validate``
takes part, in GET /v1/nodes/X/validate as well as before a deploy and a rebuild.
"""

import abc
from typing import Any

import stevedore
from oslo_config import cfg

NAMESPACE = 'ironic_traits.deploy.validate'
#: The interfaces that are answered for.
INTERFACES = (
    'boot',
    'deploy',
    'management',
    'network',
    'power',
    'bios',
    'console',
    'inspect',
    'raid',
    'rescue',
    'storage',
)
#: The ones that a deploy needs.
NEEDED = ('boot', 'deploy', 'management', 'network', 'power', 'storage')


class Refused(Exception):
    """The node cannot be deployed; the text says why."""


class Hook(abc.ABC):
    """One check.

    :cvar interface: the interface of the node's driver that it speaks for: one of INTERFACES.  A deploy asks those of
        NEEDED.
    """

    interface = 'deploy'

    @abc.abstractmethod
    def check(self, node):
        """Do nothing when a node is well.

        Called while the node is locked, in the request: no waiting for other services in here.

        :param node: the node's columns by name, and ``traits``, a sorted list.
        :raises Refused: it is not.
        """


def load():
    """Load the hooks that are installed, in the order of their names.

    :returns: [Hook, …].
    :raises oslo_config.cfg.Error: one cannot be imported, or speaks for no interface.
    """
    manager = stevedore.ExtensionManager(NAMESPACE, invoke_on_load=True, on_load_failure_callback=_broken)
    hooks: dict[str, Any] = {
        extension.name: extension.obj for extension in sorted(manager, key=lambda extension: extension.name)
    }
    for name, hook in hooks.items():
        if hook.interface not in INTERFACES:
            raise cfg.Error(f'{NAMESPACE}: {name} speaks for "{hook.interface}", which is no interface')
    return list(hooks.values())


def _broken(manager, entry_point, error):
    raise cfg.Error(f'{NAMESPACE}: {entry_point.name} cannot be loaded: {error}') from error


def reasons(hooks, node):
    """Ask every hook.

    :param hooks: [Hook, …].
    :param node: as hooks take it.
    :returns: {interface: why it is not well, None when it is}, for each of INTERFACES.
    """
    found = {interface: unsupported(node, interface) for interface in INTERFACES}
    for hook in hooks:
        try:
            hook.check(node)
        except Refused as error:
            found[hook.interface] = f'{found[hook.interface]} {error}' if found.get(hook.interface) else str(error)
    return found


def unsupported(node, interface):
    """Say why a node cannot do what an interface is for.

    :param node: as hooks take it.
    :returns: a sentence; None when it can.
    """
    if node[f'{interface}_interface'] == f'no-{interface}':
        return f'Driver {node["driver"]} does not support {interface} (disabled or not implemented).'
    return None
