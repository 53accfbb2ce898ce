"""The deploy-validate hooks, which check whether a node can be deployed.

Operators can add checks: each installed entry point of ``ironic_traits.deploy.validate`` runs in GET
/v1/nodes/X/validate, and before a deploy and a rebuild.
"""

import abc
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint
from types import MappingProxyType
from typing import Any, NoReturn

import stevedore
from oslo_config import cfg

NAMESPACE = 'ironic_traits.deploy.validate'
#: The interfaces in the results of a validation.
INTERFACES = (
    'boot',
    'deploy',
    'management',
    'network',
    'power',
    'bios',
    'console',
    'firmware',
    'inspect',
    'raid',
    'rescue',
    'storage',
)
#: The interfaces that must be valid for a deploy.
NEEDED = ('boot', 'deploy', 'management', 'network', 'power', 'storage')


class Refused(Exception):
    """The node cannot be deployed. The text says why."""


class Hook(abc.ABC):
    """One check.

    :cvar interface: the interface that it validates, one of INTERFACES. A failure prevents a deploy if it is in NEEDED.
    """

    interface = 'deploy'

    @abc.abstractmethod
    def check(self, node: Mapping[str, Any]) -> None:
        """Raise Refused unless a node passes the check.

        It runs in the request, while the node may be locked. Therefore it must not wait for other services.

        :param node: the node's columns by name, and ``traits``, a sorted list.
        :raises Refused: the node does not pass the check.
        """


def load() -> list[Hook]:
    """Load the installed hooks, sorted by name.

    :raises oslo_config.cfg.Error: a hook cannot be imported, or its interface is unknown.
    """
    manager = stevedore.ExtensionManager(NAMESPACE, invoke_on_load=True, on_load_failure_callback=_broken)
    hooks: dict[str, Any] = {
        extension.name: extension.obj for extension in sorted(manager, key=lambda extension: extension.name)
    }
    for name, hook in hooks.items():
        if hook.interface not in INTERFACES:
            raise cfg.Error(f'{NAMESPACE}: {name} validates "{hook.interface}", which is not an interface')
    return list(hooks.values())


def _broken(manager: stevedore.ExtensionManager[Any], entry_point: EntryPoint, error: BaseException) -> NoReturn:
    raise cfg.Error(f'{NAMESPACE}: {entry_point.name} cannot be loaded: {error}') from error


def reasons(
    hooks: Iterable[Hook], node: Mapping[str, Any], lacking: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str | None]:
    """Run all hooks.

    :param node: argument of the hooks.
    :param lacking: {interface: what the driver says that the node lacks}.
    :returns: {interface: why it is invalid, None if it is valid}, for each of INTERFACES.
    """
    result = {interface: unsupported(node, interface) or lacking.get(interface) for interface in INTERFACES}
    for hook in hooks:
        try:
            hook.check(node)
        except Refused as error:
            result[hook.interface] = f'{result[hook.interface]} {error}' if result.get(hook.interface) else str(error)
    return result


def unsupported(node: Mapping[str, Any], interface: str) -> str | None:
    """Return why a node does not support an interface.

    :param node: argument of the hooks.
    :returns: Ironic's message; None if the node supports the interface.
    """
    if node[f'{interface}_interface'] == f'no-{interface}':
        return f'Driver {node["driver"]} does not support {interface} (disabled or not implemented).'
    return None
